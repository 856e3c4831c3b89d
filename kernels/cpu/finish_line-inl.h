// SPDX-License-Identifier: LGPL-2.1-or-later
// From a line of sums to samples in memory: the epilogue of core/base/epilogue.h in vectors.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_FINISH_LINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_FINISH_LINE_INL_H_
#undef CONVOLVE_FINISH_LINE_INL_H_
#else
#define CONVOLVE_FINISH_LINE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/component_task.h"
#include "kernels/cpu/rows/pack_words-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// 1.5 x 2^23 and 1.5 x 2^52, whose lowest 32 bits are 0: what is added to them is rounded to a
/// whole number in the low bits.
template <class Real>
inline constexpr Real kRounding = sizeof(Real) == sizeof(float) ? Real(12582912)
                                                                : Real(6755399441055744);

/// The bits of the first one.
inline constexpr std::int32_t kRoundingBits = 0x4B400000;

/// Doubles rounded to whole numbers of 32 bits.
template <class D, hwy::EnableIf<hwy::IsSame<hn::TFromD<D>, double>()>* = nullptr>
HWY_INLINE hn::Vec<hn::Rebind<std::int32_t, D>> nearest_words(D, hn::Vec<D> value) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return hn::Vec<hn::Rebind<std::int32_t, D>>{_mm512_cvtpd_epi32(value.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return hn::Vec<hn::Rebind<std::int32_t, D>>{_mm256_cvtpd_epi32(value.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET < HWY_EMU128
  return hn::Vec<hn::Rebind<std::int32_t, D>>{_mm_cvtpd_epi32(value.raw)};
#else
  return hn::DemoteTo(hn::Rebind<std::int32_t, D>(), hn::Round(value));
#endif
}

/// Floats rounded to whole numbers: |value| < 2^22.
template <class D, hwy::EnableIf<hwy::IsSame<hn::TFromD<D>, float>()>* = nullptr>
HWY_INLINE hn::Vec<hn::Rebind<std::int32_t, D>> nearest_words(D, hn::Vec<D> value) {
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  return hn::Vec<hn::Rebind<std::int32_t, D>>{_mm512_cvtps_epi32(value.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
  return hn::Vec<hn::Rebind<std::int32_t, D>>{_mm256_cvtps_epi32(value.raw)};
#elif HWY_ARCH_X86 && HWY_TARGET < HWY_EMU128
  return hn::Vec<hn::Rebind<std::int32_t, D>>{_mm_cvtps_epi32(value.raw)};
#else
  const hn::Rebind<std::int32_t, D> d_words;
  const auto rounded = hn::Add(value, hn::Set(D(), kRounding<float>));
  return hn::Sub(hn::BitCast(d_words, rounded), hn::Set(d_words, kRoundingBits));
#endif
}

/// How sums become codes.
enum class Rounding {
  kLinear,     ///< By one multiply-add,
  kQuotient,   ///< by two terms of the divisor's reciprocal (quotient.h),
  kRemainder,  ///< or by the quotient and its remainder.
};

/// Products of a multiply-add are not rounded.
inline constexpr bool kFused = HWY_NATIVE_FMA != 0;

template <class Real>
HWY_INLINE Rounding rounding_of(const EpilogueOf<Real>& e, const Reciprocal<Real>& reciprocal) {
  return !e.divide                     ? Rounding::kLinear
         : kFused && reciprocal.serves ? Rounding::kQuotient
                                       : Rounding::kRemainder;
}

/// t / D, as near as quotient.h says.
template <class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> quotient_vector(D d, hn::Vec<D> t, const Reciprocal<Real>& reciprocal) {
  return hn::MulAdd(t, hn::Set(d, reciprocal.high), hn::Mul(t, hn::Set(d, reciprocal.low)));
}

/// The value that is rounded to the code, where no remainder decides.
template <Rounding kWay, class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> value_vector(D d, hn::Vec<D> s, const EpilogueOf<Real>& e,
                                   const Reciprocal<Real>& reciprocal) {
  static_assert(kWay != Rounding::kRemainder);
  if constexpr (kWay == Rounding::kLinear)
    return hn::MulAdd(hn::Set(d, e.scale), s, hn::Set(d, e.base));
  return quotient_vector(d, hn::MulAdd(hn::Set(d, e.numerator), s, hn::Set(d, e.offset)),
                         reciprocal);
}

/// finish() of core/base/epilogue.h, still in Real: integers 0 .. high.
template <Rounding kWay, class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> finish_vector(D d, hn::Vec<D> s, const EpilogueOf<Real>& e,
                                    const Reciprocal<Real>& reciprocal, Real high) {
  const auto zero = hn::Zero(d);
  const auto max = hn::Set(d, high);
  if constexpr (kWay != Rounding::kRemainder) {
    return hn::Round(hn::Clamp(value_vector<kWay>(d, s, e, reciprocal), zero, max));
  } else {
    const auto one = hn::Set(d, Real(1));
    const auto divisor = hn::Set(d, e.divisor);
    const auto t = hn::MulAdd(hn::Set(d, e.numerator), s, hn::Set(d, e.offset));
    auto q = hn::Mul(t, hn::Set(d, e.reciprocal));
    q = hn::Round(hn::Clamp(q, hn::Set(d, Real(-1)), hn::Set(d, high + 1)));
    // The quotient may be the wrong neighbour near a tie: the exact remainder decides.
    const auto remainder = hn::NegMulAdd(q, divisor, t);
    const auto twice = hn::Add(remainder, remainder);
    const auto distance = hn::Abs(twice);
    const auto half = hn::Mul(q, hn::Set(d, Real(0.5)));
    const auto odd = hn::Ne(hn::Floor(half), half);
    const auto wrong = hn::Or(hn::Gt(distance, divisor), hn::And(hn::Eq(distance, divisor), odd));
    q = hn::Add(q, hn::IfThenElseZero(wrong, hn::CopySign(one, twice)));
    return hn::Clamp(q, zero, max);
  }
}

/// Codes of the sums `s`, 0 .. high, as whole numbers of 32 bits. Where no remainder decides, the
/// conversion itself rounds, which saves an instruction.
template <Rounding kWay, class D, class Real = hn::TFromD<D>>
HWY_INLINE hn::Vec<hn::Rebind<std::int32_t, D>> finish_words(D d, hn::Vec<D> s,
                                                             const EpilogueOf<Real>& e,
                                                             const Reciprocal<Real>& reciprocal,
                                                             Real high) {
  const hn::Rebind<std::int32_t, D> d_words;
  if constexpr (kWay != Rounding::kRemainder) {
    return nearest_words(
        d, hn::Clamp(value_vector<kWay>(d, s, e, reciprocal), hn::Zero(d), hn::Set(d, high)));
  } else if constexpr (sizeof(Real) != sizeof(float)) {
    return hn::DemoteTo(d_words, finish_vector<kWay>(d, s, e, reciprocal, high));
  } else {
    return hn::ConvertTo(d_words, finish_vector<kWay>(d, s, e, reciprocal, high));
  }
}

/// Writes `count` samples side by side to `out`, at any address.
template <Rounding kWay, class Real, class Sum, class Stored>
HWY_INLINE void store_samples(const ComponentTask& task, const EpilogueOf<Real> epilogue,
                              const Reciprocal<Real> reciprocal, const Sum* sums, int count,
                              std::uint8_t* out) {
  const hn::ScalableTag<Real> d;
  const hn::Rebind<Sum, decltype(d)> d_sum;
  const hn::Rebind<Stored, decltype(d)> d_stored;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const SampleLayout layout = task.layout;
  const Real high = static_cast<Real>(task.epilogue.max_code);

  int i = 0;
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(Real) == sizeof(float)) {
    const auto words_at = [=](int at) HWY_ATTR {
      return finish_words<kWay>(d, hn::LoadU(d, sums + at), epilogue, reciprocal, high);
    };
    if constexpr (sizeof(Stored) == 1) {
      for (; i + 4 * lanes <= count; i += 4 * lanes) {
        hn::Vec<Words> words[4];
        HWY_UNROLL(4)
        for (int k = 0; k < 4; ++k)
          words[k] = hn::ShiftLeftSame(words_at(i + k * lanes), layout.shift);
        hn::StoreU(pack_words_in_order(words), Bytes(), out + i);
      }
    } else {
      for (; i + 2 * lanes <= count; i += 2 * lanes)
        store_wide_pairs(pack_wide_in_order(words_at(i), words_at(i + lanes)), layout, 2 * lanes,
                         out + 2 * i);
    }
  }
#endif
  for (; i < count; i += lanes) {
    hn::Vec<decltype(d)> sum;
    if constexpr (sizeof(Sum) == sizeof(Real))
      sum = hn::LoadU(d, sums + i);
    else
      sum = hn::PromoteTo(d, hn::LoadU(d_sum, sums + i));
    const auto code = finish_words<kWay>(d, sum, epilogue, reciprocal, high);
    auto stored = hn::DemoteTo(d_stored, hn::ShiftLeftSame(code, layout.shift));
    if constexpr (sizeof(Stored) == 2)
      if (layout.swap) stored = hn::Or(hn::ShiftLeft<8>(stored), hn::ShiftRight<8>(stored));

    std::uint8_t* to = out + i * static_cast<int>(sizeof(Stored));
    if (i + lanes <= count) {
      hn::StoreU(stored, d_stored, reinterpret_cast<Stored*>(to));
    } else {
      Stored last[hn::MaxLanes(d)];
      hn::StoreU(stored, d_stored, last);
      std::memcpy(to, last, static_cast<std::size_t>(count - i) * sizeof(Stored));
    }
  }
}

template <class Real, class Sum, class Stored>
HWY_INLINE void store_samples(const ComponentTask& task, const EpilogueOf<Real>& e,
                              const Reciprocal<Real>& reciprocal, const Sum* sums, int count,
                              std::uint8_t* out) {
  switch (rounding_of(e, reciprocal)) {
    case Rounding::kLinear:
      return store_samples<Rounding::kLinear, Real, Sum, Stored>(task, e, reciprocal, sums, count,
                                                                 out);
    case Rounding::kQuotient:
      return store_samples<Rounding::kQuotient, Real, Sum, Stored>(task, e, reciprocal, sums, count,
                                                                   out);
    case Rounding::kRemainder:
      return store_samples<Rounding::kRemainder, Real, Sum, Stored>(task, e, reciprocal, sums,
                                                                    count, out);
  }
}

/// Sums of `Sum` become samples side by side; which epilogue is exact enough for them, and how it
/// divides, is the plan's choice.
template <class Sum, class Stored>
HWY_INLINE void finish_samples(const ComponentTask& task, const Sum* sums, int count,
                               std::uint8_t* out) {
  const Epilogue& e = task.epilogue;
  const Reciprocals& reciprocals = task.reciprocals;
  if constexpr (sizeof(Sum) == sizeof(float)) {
    if (e.in_float)
      return store_samples<float, Sum, Stored>(task, e.narrow, reciprocals.narrow, sums, count,
                                               out);
  }
  store_samples<double, Sum, Stored>(task, e.wide, reciprocals.wide, sums, count, out);
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// Writes samples to their places in pixels that are words, as many as fill vectors; returns how
/// many. Where stores under a mask are no instruction this cannot be: others may write the bytes
/// between at the same time.
template <class Word, class Stored>
HWY_INLINE int scatter_to_words(const Stored* samples, int count, int channel,
                                std::uint8_t* pixels) {
  const hn::ScalableTag<Word> d;
  const hn::Rebind<Stored, decltype(d)> d_samples;
  const hn::Repartition<Stored, decltype(d)> d_stored;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const int bits = 8 * static_cast<int>(sizeof(Stored)) * channel;
  const auto ours =
      hn::Set(d, static_cast<Word>(static_cast<Word>(static_cast<Stored>(~0U)) << bits));
  const auto mask = hn::MaskFromVec(hn::BitCast(d_stored, ours));
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto sample = hn::LoadU(d_samples, samples + i);
    hn::Vec<decltype(d)> word;
    if constexpr (sizeof(Word) == 4 * sizeof(std::uint16_t))
      word = hn::PromoteTo(d, hn::PromoteTo(hn::Rebind<std::uint32_t, decltype(d)>(), sample));
    else
      word = hn::PromoteTo(d, sample);
    hn::BlendedStore(hn::BitCast(d_stored, hn::ShiftLeftSame(word, bits)), mask, d_stored,
                     reinterpret_cast<Stored*>(pixels) + i * (sizeof(Word) / sizeof(Stored)));
  }
  return i;
}

template <class Stored>
HWY_INLINE int scatter_vectors(const ComponentTask& task, const Stored* samples, int count,
                               std::uint8_t* out) {
  std::uint8_t* const pixels = out - task.channel * static_cast<int>(sizeof(Stored));
  using Twice = std::conditional_t<sizeof(Stored) == 1, std::uint16_t, std::uint32_t>;
  using FourTimes = std::conditional_t<sizeof(Stored) == 1, std::uint32_t, std::uint64_t>;
  return task.channels == 2   ? scatter_to_words<Twice>(samples, count, task.channel, pixels)
         : task.channels == 4 ? scatter_to_words<FourTimes>(samples, count, task.channel, pixels)
                              : 0;
}

#else

template <class Stored>
HWY_INLINE int scatter_vectors(const ComponentTask&, const Stored*, int, std::uint8_t*) {
  return 0;
}

#endif

/// Writes `count` samples, which lie side by side, to picture row `y` from column `x` on. Only the
/// component's own bytes are written.
template <class Stored>
HWY_INLINE void scatter_samples(const ComponentTask& task, int y, int x, int count,
                                const Stored* samples) {
  std::uint8_t* const out = task.dst_row(y) + static_cast<std::ptrdiff_t>(x) * task.step;
  for (int i = scatter_vectors(task, samples, count, out); i < count; ++i)
    write_sample(out + static_cast<std::ptrdiff_t>(i) * task.step, samples[i]);
}

/// Writes `count` outputs to picture row `y` from column `x` on. `samples` is scratch for `count`
/// samples. Only the component's own bytes are written.
template <class Sum, class Stored>
void finish_line(const ComponentTask& task, int y, int x, int count, const Sum* sums,
                 Stored* samples) {
  if (task.step == static_cast<int>(sizeof(Stored))) {
    finish_samples<Sum, Stored>(task, sums, count, task.dst_row(y) + x * task.step);
    return;
  }
  finish_samples<Sum, Stored>(task, sums, count, reinterpret_cast<std::uint8_t*>(samples));
  scatter_samples(task, y, x, count, samples);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
