// SPDX-License-Identifier: LGPL-2.1-or-later
// Codes of windows of 32 bits, and what such a window is kept as so that they are made of it
// quickly.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_BOX_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_BOX_CODES_INL_H_
#undef CONVOLVE_BOX_CODES_INL_H_
#else
#define CONVOLVE_BOX_CODES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

#include "kernels/core/weights/box.h"
#include "kernels/cpu/rows/byte_codes-inl.h"
#include "kernels/cpu/rows/pack_words-inl.h"
#include "kernels/cpu/rows/row_task.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

/// The number that is kept for a window of a part if its codes add up to 0: windows are
/// differences from black.
HWY_INLINE std::int32_t empty_window(const GroupPart& part, int taps) {
  return -part.task.black * taps;
}

/// Calls `use` with a function from a vector of windows to codes.
template <class Use>
HWY_INLINE void with_window_codes(const GroupPart& part, const Use& use) {
  with_codes(part.task.epilogue, part.task.reciprocals, Sums::kExact, use);
}

#else

/// Windows of a step along a row: those of four columns that follow each other are a lane's.
struct StepWindows {
  hn::Vec<Words> first, second, third, last;
};

/// The ways to keep a window and to make its code.
enum class WindowCodes {
  kFloat,    ///< The bits of a float: FloatDivider.
  kWhole,    ///< A sum of codes: WholeDivider.
  kEpilogue  ///< A sum of differences from black: the part's epilogue.
};

/// The way of a part: the first one that serves, but that whole numbers are divided only where a
/// float does not hold what is divided, or a quotient of floats needs its remainder.
HWY_INLINE WindowCodes window_codes(const GroupPart& part) {
  const ComponentTask& task = part.task;
  if (kFused && part.float_division.serves && !part.float_division.pivoted)
    return WindowCodes::kFloat;
  const bool quick_in_float =
      task.epilogue.in_float &&
      rounding_of(task.epilogue.narrow, task.reciprocals.narrow) != Rounding::kRemainder;
  return part.division.direct && !part.division.ties && !quick_in_float ? WindowCodes::kWhole
                                                                        : WindowCodes::kEpilogue;
}

/// The number that is kept for a window of a part if its codes add up to 0.
HWY_INLINE std::int32_t empty_window(const GroupPart& part, int taps) {
  switch (window_codes(part)) {
    case WindowCodes::kFloat:
      return part.float_division.empty;
    case WindowCodes::kWhole:
      return 0;
    case WindowCodes::kEpilogue:
      break;
  }
  return -part.task.black * taps;
}

/// Codes of windows that are the bits of floats, by one instruction each: see FloatBoxDivision.
class FloatDivider {
 public:
  explicit FloatDivider(const FloatBoxDivision& division)
      : reciprocal_(hn::Set(Floats(), division.reciprocal)),
        offset_(hn::Set(Floats(), division.offset)),
        divisor_(hn::Set(Floats(), division.divisor)) {}

  /// The codes of a step in the order of columns; of windows with pivots, what is to be added to a
  /// pivot less kRaise, modulo 256.
  HWY_INLINE hn::Vec<Bytes> operator()(const StepWindows& windows) const {
    const auto last_offset = hn::Add(offset_, hn::Set(Floats(), float{kLastRaise}));
    return in_order(quotients(windows.first, offset_), quotients(windows.second, offset_),
                    quotients(windows.third, offset_), quotients(windows.last, last_offset));
  }

  /// Makes the codes of windows their pivots. `pivots` are those that they had.
  HWY_INLINE hn::Vec<Bytes> change_pivots(hn::Vec<Bytes> pivots, StepWindows* windows) const {
    const auto first = change_pivot(&windows->first), second = change_pivot(&windows->second);
    const auto third = change_pivot(&windows->third), last = change_pivot(&windows->last);
    const auto raise = hn::Set(Bytes(), std::uint8_t{FloatBoxDivision::kRaise});
    const auto last_raised =
        hn::BitCast(Floats(), hn::Add(hn::BitCast(Words(), last), hn::Set(Words(), kLastRaise)));
    return hn::Add(pivots, hn::Sub(in_order(first, second, third, last_raised), raise));
  }

 private:
  using Floats = hn::Repartition<float, Words>;

  /// A code is the lowest byte of a float's bits, of which the highest one is 0x4B. In the last
  /// byte of a lane, where that of the first code meets the last code, both add up to 256 and that
  /// code.
  static constexpr int kLastRaise = 256 - 0x4B;

  /// Windows divided as FloatBoxDivision says: floats whose lowest bytes are quotients.
  HWY_INLINE hn::Vec<Floats> quotients(hn::Vec<Words> windows, hn::Vec<Floats> offset) const {
    return hn::MulAdd(hn::BitCast(Floats(), windows), reciprocal_, offset);
  }

  static HWY_INLINE hn::Vec<Bytes> in_order(hn::Vec<Floats> first, hn::Vec<Floats> second,
                                            hn::Vec<Floats> third, hn::Vec<Floats> last) {
    const auto bits = [](hn::Vec<Floats> v) HWY_ATTR { return hn::BitCast(Words(), v); };
    const auto two = hn::Or(bits(first), hn::ShiftLeft<8>(bits(second)));
    const auto others = hn::Or(hn::ShiftLeft<16>(bits(third)), hn::ShiftLeft<24>(bits(last)));
    return hn::BitCast(Bytes(), hn::Add(two, others));
  }

  /// Subtracts the multiple of the divisor nearest to what windows are. Returns quotients().
  HWY_INLINE hn::Vec<Floats> change_pivot(hn::Vec<Words>* windows) const {
    const auto quotient = quotients(*windows, offset_);
    const auto pivot = hn::Sub(quotient, hn::Set(Floats(), 8388608.0F + FloatBoxDivision::kRaise));
    // Whole numbers below 2^24: nothing is rounded.
    *windows =
        hn::BitCast(Words(), hn::NegMulAdd(pivot, divisor_, hn::BitCast(Floats(), *windows)));
    return quotient;
  }

  hn::Vec<Floats> reciprocal_, offset_, divisor_;
};

/// Codes of windows as box_code() makes them, of divisions that are direct and have no ties.
class WholeDivider {
 public:
  explicit WholeDivider(const BoxDivision& division)
      : offset_(hn::Set(Words(), static_cast<std::int32_t>(division.offset))),
        reciprocal_(hn::Set(Unsigned(), division.reciprocal)),
        shift_(division.shift) {}

  HWY_INLINE hn::Vec<Words> operator()(hn::Vec<Words> windows) const {
    const hn::RepartitionToWide<Unsigned> d_wide;
    const auto numerators = hn::BitCast(Unsigned(), hn::Add(windows, offset_));
    const auto odd_numerators =
        hn::BitCast(Unsigned(), hn::ShiftRight<32>(hn::BitCast(d_wide, numerators)));
    const auto even = hn::ShiftRight<32>(hn::MulEven(numerators, reciprocal_));
    const auto odd = hn::MulEven(odd_numerators, reciprocal_);
    const auto upper = hn::OddEven(hn::BitCast(Unsigned(), odd), hn::BitCast(Unsigned(), even));
    return hn::BitCast(Words(), hn::ShiftRightSame(upper, shift_));
  }

 private:
  using Unsigned = hn::RebindToUnsigned<Words>;

  hn::Vec<Words> offset_;
  hn::Vec<Unsigned> reciprocal_;
  int shift_;
};

/// Calls `use` with a function from the windows of a step to codes in the order of columns.
template <class Use>
HWY_INLINE void with_window_codes(const GroupPart& part, const Use& use) {
  const auto with = [&use](const auto codes_of) HWY_ATTR {
    use([codes_of](const StepWindows& windows) HWY_ATTR {
      HWY_ALIGN static constexpr std::uint8_t kTransposed[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                                 2, 6, 10, 14, 3, 7, 11, 15};
      const hn::Vec<Words> codes[4] = {codes_of(windows.first), codes_of(windows.second),
                                       codes_of(windows.third), codes_of(windows.last)};
      return hn::TableLookupBytes(pack_words(codes), hn::LoadDup128(Bytes(), kTransposed));
    });
  };
  switch (window_codes(part)) {
    case WindowCodes::kFloat:
      return use(FloatDivider(part.float_division));
    case WindowCodes::kWhole:
      return with(WholeDivider(part.division));
    case WindowCodes::kEpilogue:
      return with_codes(part.task.epilogue, part.task.reciprocals, Sums::kExact, with);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
