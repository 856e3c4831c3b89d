// SPDX-License-Identifier: LGPL-2.1-or-later
// The row pass of separable-dots: codes of a row from its column sums, as products of pairs of 16
// bits.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_PAIR_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_PAIR_CODES_INL_H_
#undef CONVOLVE_PAIR_CODES_INL_H_
#else
#define CONVOLVE_PAIR_CODES_INL_H_
#endif

#include <hwy/highway.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/component_task.h"
#include "kernels/cpu/dots/pair_product-inl.h"
#include "kernels/cpu/lanes_from-inl.h"
#include "kernels/cpu/rows/byte_codes-inl.h"
#include "kernels/cpu/separable/pair_columns-inl.h"
#include "kernels/cpu/separable/pair_taps.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE void finish_row(const ComponentTask& task, const std::int16_t* sums,
                           const PairTaps& taps, std::int32_t start, int count, std::uint8_t* out) {
  with_codes(task.epilogue, task.reciprocals, Sums::kRounded, [=](const auto& code_of) {
    for (int x = 0; x < count; ++x) {
      auto sum = static_cast<std::uint32_t>(start);
      for (int j = 0; j < taps.width(); ++j)
        sum += static_cast<std::uint32_t>(tap(taps.even_columns(), j) * sums[x + j]);
      const auto word = hn::Set(Words(), static_cast<std::int32_t>(sum));
      out[x] = static_cast<std::uint8_t>(hn::GetLane(code_of(word)));
    }
  });
}

#else

/// Vectors of column sums that a step of the row pass reads: enough for its loads to take no longer
/// than its products, and for these not to wait for each other.
constexpr int kRowVectors = 4;

/// Outputs that two vectors of sums make, along pixels of kPixel bytes: whole pairs of pixels.
template <int kPixel>
inline constexpr int kRowStep = 2 * kColumnStep / (2 * kPixel) * (2 * kPixel);

/// Totals of the even and of the odd pixels of each vector of sums.
using RowTotals = hn::Vec<Words>[kRowVectors][2];

/// Adds the products of a pair of columns to the totals of a vector of sums.
HWY_INLINE void add_pair(hn::Vec<Pairs> sums, hn::Vec<Pairs> even, hn::Vec<Pairs> odd,
                         hn::Vec<Words> (&totals)[2]) {
  totals[0] = add_pair_products(totals[0], even, sums);
  totals[1] = add_pair_products(totals[1], odd, sums);
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// What a step of the row pass loads: its vectors of sums, and the vector behind them. Where two
/// vectors end within a pair of pixels the next two begin before they end, and each two have a
/// vector of their own behind them.
template <int kPixel>
struct RowSums {
  static constexpr bool kCut = kRowStep<kPixel> < 2 * kColumnStep;
  hn::Vec<Pairs> at[kCut ? kRowVectors + 2 : kRowVectors + 1];

  /// The index of the step's vector `v`; the one behind it follows.
  static constexpr int index(int v) { return kCut ? v + v / 2 : v; }

  /// The sum with which at[i] begins.
  static constexpr int offset(int i) {
    return kCut ? i / 3 * kRowStep<kPixel> + i % 3 * kColumnStep : i * kColumnStep;
  }
};

/// Adds pairs kPair .. kPairs - 1 of some weights, of which the first begins at the first of
/// `sums`, and each of the others kPixel pairs later: shifted in registers, as nearly all loads of
/// them would lie in two lines of the cache.
template <int kPixel, int kPairs, int kPair = 0>
HWY_INLINE void add_shifted_pairs(const PairWeights& weights, const RowSums<kPixel>& sums,
                                  RowTotals& totals) {
  const auto even = set_pairs(weights.even[kPair]), odd = set_pairs(weights.odd[kPair]);
  HWY_UNROLL(4)
  for (int v = 0; v < kRowVectors; ++v) {
    const int at = RowSums<kPixel>::index(v);
    add_pair(lanes_from<kPair * kPixel>(Pairs(), sums.at[at], sums.at[at + 1]), even, odd,
             totals[v]);
  }
  if constexpr (kPair + 1 < kPairs)
    add_shifted_pairs<kPixel, kPairs, kPair + 1>(weights, sums, totals);
}

/// Adds kPairs pairs of weights, of which the first begins at `sums`.
template <int kPixel, int kPairs>
HWY_INLINE void add_few_pairs(const PairWeights& weights, const std::int16_t* sums,
                              RowTotals& totals) {
  const Pairs d;
  RowSums<kPixel> row;
  constexpr int kLast = RowSums<kPixel>::index(kRowVectors - 1) + 1;
  HWY_UNROLL(6)
  for (int i = 0; i < kLast; ++i)
    row.at[i] = hn::LoadU(d, sums + RowSums<kPixel>::offset(i));
  // One pair needs no next vector, which could lie behind the line.
  row.at[kLast] = kPairs > 1 ? hn::LoadU(d, sums + RowSums<kPixel>::offset(kLast)) : hn::Zero(d);
  add_shifted_pairs<kPixel, kPairs>(weights, row, totals);
}

#else

/// Adds kPairs pairs of weights, of which the first begins at `sums`.
template <int kPixel, int kPairs>
HWY_INLINE void add_few_pairs(const PairWeights& weights, const std::int16_t* sums,
                              RowTotals& totals) {
  static_assert(kPixel == 1);
  const Pairs d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // Hides that the next pairs lie a step further on: the compiler would keep in memory what it has
  // loaded, as some of it is wanted again then.
  asm("" : "+r"(sums));
  HWY_UNROLL(4)
  for (int j = 0; j < kPairs; ++j) {
    const auto even = set_pairs(weights.even[j]), odd = set_pairs(weights.odd[j]);
    HWY_UNROLL(4)
    for (int v = 0; v < kRowVectors; ++v)
      add_pair(load_pairs(sums + 2 * j + v * lanes), even, odd, totals[v]);
  }
}

#endif

/// Adds all pairs of the weights, four in a step as far as there are so many.
template <int kPixel>
HWY_INLINE void add_pairs(PairWeights weights, int pairs, const std::int16_t* sums,
                          RowTotals& totals) {
  for (; pairs >= 4; pairs -= 4, sums += 8 * kPixel) {
    add_few_pairs<kPixel, 4>(weights, sums, totals);
    weights.advance(4);
  }
  if (pairs == 3) return add_few_pairs<kPixel, 3>(weights, sums, totals);
  if (pairs == 2) return add_few_pairs<kPixel, 2>(weights, sums, totals);
  if (pairs == 1) return add_few_pairs<kPixel, 1>(weights, sums, totals);
}

#if CONVOLVE_PAIRED_PIXELS

/// The packed bytes from which pack_pixels() takes codes: of each block of 16 four are of codes[0],
/// the next ones of codes[1], and so on.
template <int kPixel>
constexpr std::array<std::uint8_t, 64> order_of_bytes() {
  std::array<std::uint8_t, 64> order = {};
  for (int i = 0; i < 64; ++i) {
    const int odd = i / kPixel % 2, pair = i / (2 * kPixel) * kPixel + i % kPixel;
    order[static_cast<std::size_t>(i)] =
        static_cast<std::uint8_t>(pair % 16 / 4 * 16 + pair / 16 * 8 + odd * 4 + pair % 4);
  }
  return order;
}

#endif

/// The codes of even and odd pixels in two vectors of sums, in the order of their bytes:
/// pack_even_and_odd() for pixels of kPixel bytes.
template <int kPixel>
HWY_INLINE hn::Vec<Bytes> pack_pixels(const hn::Vec<Words> (&codes)[4]) {
  if constexpr (kPixel == 1) {
    return pack_even_and_odd(codes);
  } else {
#if CONVOLVE_PAIRED_PIXELS
    static constexpr auto kOrder = order_of_bytes<kPixel>();
    hn::Vec<Bytes> order = hn::LoadU(Bytes(), kOrder.data()), packed = pack_words(codes);
    // Highway's options for this target do not let the compiler use AVX-512 VBMI, although every
    // processor of the target has it. So the instruction is written out.
    asm("vpermb %1, %2, %0" : "=v"(packed.raw) : "v"(packed.raw), "v"(order.raw));
    return packed;
#endif
  }
}

/// Codes of `count` outputs of a row from its column sums. Even and odd outputs have vectors of
/// their own and read the same pairs of sums, with weights a tap apart. Outputs are the bytes of
/// pixels of kPixel components, whose sums lie as in PixelSums.
template <int kPixel = 1>
HWY_INLINE void finish_row(const ComponentTask& task, const std::int16_t* sums,
                           const PairTaps& taps, std::int32_t start, int count, std::uint8_t* out) {
  const int pairs = taps.column_pairs();
  const PairWeights weights{taps.even_columns(), taps.odd_columns()};
  with_codes(task.epilogue, task.reciprocals, Sums::kRounded, [=](const auto& codes_of) HWY_ATTR {
    constexpr int kStep = kRowStep<kPixel>;
    const auto first = hn::Set(Words(), start);
    for (int x = 0; x < count; x += kRowVectors / 2 * kStep) {
      RowTotals totals = {{first, first}, {first, first}, {first, first}, {first, first}};
      add_pairs<kPixel>(weights, pairs, sums + x, totals);
      HWY_UNROLL(2)
      for (int v = 0; v < kRowVectors; v += 2) {
        const hn::Vec<Words> codes[4] = {codes_of(totals[v][0]), codes_of(totals[v][1]),
                                         codes_of(totals[v + 1][0]), codes_of(totals[v + 1][1])};
        const int at = x + v / 2 * kStep;
        // Of pixels of three bytes only 60 of the 64 codes are right. The next store begins behind
        // these 60 and overwrites the other four.
        if (at < count) store_codes(Bytes(), pack_pixels<kPixel>(codes), count - at, out + at);
      }
    }
  });
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
