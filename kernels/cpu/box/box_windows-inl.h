// SPDX-License-Identifier: LGPL-2.1-or-later
// The windows of a row made of those of the row above, many columns at a time, for boxes of any
// size. A row that the mask gains and one that it loses change each window by what the first has
// below the mask less what the second had there; from one column to the next that change differs by
// four cells only, and the scan of these differences is all that is to be done along a row. They
// fit 16 bits, so that a vector has twice as many as of windows of 32 bits.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_BOX_WINDOWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_BOX_WINDOWS_INL_H_
#undef CONVOLVE_BOX_WINDOWS_INL_H_
#else
#define CONVOLVE_BOX_WINDOWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/box/box_lines-inl.h"
#include "kernels/cpu/box/scan-inl.h"
#include "kernels/cpu/bytes/byte_codes-inl.h"
#include "kernels/cpu/bytes/pack_words-inl.h"
#include "kernels/cpu/dots/pair_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Columns between two prefetches: few enough to spread them over a row, and four cache lines, so
/// that the loop over columns is seldom left.
inline constexpr int kPrefetched = 256;

/// A row of windows of `width` columns, and the rows of cells that the mask gains and loses there.
/// Cell i is the first one of window i - 1, so that window i lacks it and has cell i + width.
template <class Sum>
struct WindowRow {
  const std::uint8_t* gained;
  const std::uint8_t* lost;
  int width;
  Sum* windows;
  std::uint8_t* out;  ///< Codes of the windows.
};

#if HWY_TARGET == HWY_SCALAR

/// Windows that are changed at a time.
inline constexpr int kWindowStep = 1;

/// Vectors that a step of windows fills.
template <class Sum>
inline constexpr int kStepVectors = 1;

#else

inline constexpr int kWindowStep = static_cast<int>(hn::MaxLanes(Bytes()));

template <class Sum>
inline constexpr int kStepVectors = static_cast<int>(sizeof(Sum));

#endif

/// Where a line of windows has window `i`: neighbours lie in the same lane of the vectors of a
/// step, so that they are made of neighbouring cells without moving lanes.
template <class Sum>
constexpr int window_place(int i) {
  constexpr int kVectors = kStepVectors<Sum>;
  const int in_step = i % kWindowStep;
  return i - in_step + in_step % kVectors * (kWindowStep / kVectors) + in_step / kVectors;
}

/// By what the window before window 0 changes.
template <class Sum>
HWY_INLINE std::int32_t first_change(const WindowRow<Sum>& row) {
  std::int32_t change = 0;
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < row.width; ++i)
    change += row.gained[i] - row.lost[i];
#else
  const hn::Repartition<std::uint64_t, Bytes> d;
  const hn::RebindToSigned<decltype(d)> d_signed;
  auto gained = hn::Zero(d), lost = hn::Zero(d);
  for (int i = 0; i < row.width; i += kWindowStep) {
    const auto below =
        hn::FirstN(Bytes(), static_cast<std::size_t>(std::min(kWindowStep, row.width - i)));
    const auto sums = [&](const std::uint8_t* cells) HWY_ATTR {
      return hn::SumsOf8(hn::IfThenElseZero(below, hn::LoadU(Bytes(), cells + i)));
    };
    gained = hn::Add(gained, sums(row.gained));
    lost = hn::Add(lost, sums(row.lost));
  }
  change = static_cast<std::int32_t>(
      hn::GetLane(hn::SumOfLanes(d_signed, hn::BitCast(d_signed, hn::Sub(gained, lost)))));
#endif
  return change;
}

#if HWY_TARGET != HWY_SCALAR

/// By what more the windows of a step change than those to their left.
struct Differences {
  hn::Vec<WidePairs> odd;      ///< Windows 1, 3, 5...: -510 .. 510.
  hn::Vec<WidePairs> of_both;  ///< With those of windows 0, 2, 4... added: -1020 .. 1020.
};

template <class Sum>
HWY_INLINE Differences differences_of(const WindowRow<Sum>& row, int i) {
  const auto pairs = [](const std::uint8_t* cells)
                         HWY_ATTR { return hn::BitCast(WidePairs(), hn::LoadU(Bytes(), cells)); };
  const auto gained = pairs(row.gained + i + row.width), not_gained = pairs(row.gained + i);
  const auto lost = pairs(row.lost + i + row.width), not_lost = pairs(row.lost + i);
  const auto upper = [](auto v) HWY_ATTR { return hn::ShiftRight<8>(v); };
  const auto odd =
      hn::Sub(hn::Add(upper(gained), upper(not_lost)), hn::Add(upper(not_gained), upper(lost)));
  // Modulo 2^16 this is the even one and 256 times the odd one.
  const auto mixed = hn::Sub(hn::Add(gained, not_lost), hn::Add(not_gained, lost));
  return {odd, hn::Add(odd, hn::Sub(mixed, hn::ShiftLeft<8>(odd)))};
}

/// Codes of a step, clamped to bytes, in the order of the columns.
HWY_INLINE hn::Vec<Bytes> pack_step(const hn::Vec<Words> (&codes)[4]) {
  HWY_ALIGN static constexpr std::uint8_t kTransposed[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                             2, 6, 10, 14, 3, 7, 11, 15};
  return hn::TableLookupBytes(pack_words(codes), hn::LoadDup128(Bytes(), kTransposed));
}

#endif

/// True if the codes of windows of 32 bits are made by a division of whole numbers: where floats do
/// not hold what their quotients meet, or need remainders for them.
HWY_INLINE bool divides_whole([[maybe_unused]] const BytePart& part) {
#if HWY_TARGET == HWY_SCALAR
  return false;
#else
  const ComponentTask& task = part.task;
  const bool quick_in_float =
      task.epilogue.in_float &&
      rounding_of(task.epilogue.narrow, task.reciprocals.narrow) != Rounding::kRemainder;
  return part.division.direct && !part.division.ties && !quick_in_float;
#endif
}

#if HWY_TARGET != HWY_SCALAR

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

#endif

/// Calls `use` with a function from a vector of windows of 32 bits to codes.
template <class Use>
HWY_INLINE void with_window_codes(const BytePart& part, const Use& use) {
#if HWY_TARGET != HWY_SCALAR
  if (divides_whole(part)) return use(WholeDivider(part.division));
#endif
  with_codes(part.task.epilogue, part.task.reciprocals, Sums::kExact, use);
}

/// Windows of 32 bits: of differences from black, or of codes where divides_whole().
struct WideWindows {
  using Sum = std::int32_t;

  static int black(const BytePart& part) { return divides_whole(part) ? 0 : part.task.black; }

  /// Changes windows `begin` .. `end` - 1, of which the one before is changed by `change`, and
  /// makes their codes. Returns the change of the last one. Calls `fetch(i)` where windows from `i`
  /// on are next, if there are vectors.
  template <class Fetch>
  static HWY_INLINE std::int32_t finish(const BytePart& part, const WindowRow<Sum> row, int begin,
                                        int end, std::int32_t change,
                                        [[maybe_unused]] const Fetch& fetch) {
    with_window_codes(part, [&](const auto codes_of) HWY_ATTR {
#if HWY_TARGET == HWY_SCALAR
      for (int i = begin; i < end; ++i) {
        change += row.gained[i + row.width] - row.gained[i] - row.lost[i + row.width] + row.lost[i];
        row.windows[i] += change;
        row.out[i] =
            static_cast<std::uint8_t>(hn::GetLane(codes_of(hn::Set(Words(), row.windows[i]))));
      }
#else
      auto changes = hn::Set(Words(), change);
      for (int x = begin; x < end; x += kPrefetched) {
        fetch(x);
        const int fetched_end = std::min(end, x + kPrefetched);
        for (int i = x; i < fetched_end; i += kWindowStep) {
          const Step windows = change_step(row, i, &changes);
          const hn::Vec<Words> codes[4] = {codes_of(windows.first), codes_of(windows.second),
                                           codes_of(windows.third), codes_of(windows.last)};
          store_codes(Bytes(), pack_step(codes), end - i, row.out + i);
        }
      }
      change = hn::GetLane(changes);
#endif
    });
    return change;
  }

#if HWY_TARGET != HWY_SCALAR
 private:
  /// The windows of a step: those of four columns that follow each other are a lane's.
  struct Step {
    hn::Vec<Words> first, second, third, last;
  };

  /// Changes the windows of the step from `i` on. `change` is that of the window before, in
  /// all lanes, and becomes that of the last one.
  static HWY_INLINE Step change_step(const WindowRow<Sum>& row, int i, hn::Vec<Words>* change) {
    const Differences differences = differences_of(row, i);
    const auto both = hn::BitCast(Pairs(), differences.of_both);
    const auto odd = hn::BitCast(Pairs(), differences.odd);
    const auto scan = scan_of(
        Words(), add_pair_products(hn::Zero(Words()), both, hn::Set(Pairs(), std::int16_t{1})));
    // Products that subtract one of the two numbers of a lane.
    const auto less_lower = set_pairs(0xFFFF), less_upper = set_pairs(-0x10000);
    const auto last = hn::Add(*change, scan.sums);
    const auto second = add_pair_products(last, both, less_upper);
    *change = hn::Add(*change, scan.total);
    Sum* const at = row.windows + i;
    return {changed<0>(at, add_pair_products(second, odd, less_lower)), changed<1>(at, second),
            changed<2>(at, add_pair_products(last, odd, less_upper)), changed<3>(at, last)};
  }

  template <int kVector>
  static HWY_INLINE hn::Vec<Words> changed(Sum* windows, hn::Vec<Words> change) {
    Sum* const at = windows + kVector * (kWindowStep / 4);
    const auto window = hn::Add(hn::Load(Words(), at), change);
    hn::Store(window, Words(), at);
    return window;
  }
#endif
};

#if HWY_TARGET != HWY_SCALAR

/// Windows of 16 bits, whose codes are made by a Divider.
struct NarrowWindows {
  using Sum = std::uint16_t;

  static int black(const BytePart&) { return 0; }

  /// Changes windows `begin` .. `end` - 1, of which the one before is changed by `change`, and
  /// divides them. Returns the change of the last one. Both changes are modulo 2^16.
  template <class Fetch>
  static HWY_INLINE std::int32_t finish(const BytePart& part, const WindowRow<Sum> row, int begin,
                                        int end, std::int32_t change, const Fetch& fetch) {
    const WidePairs d;
    const Divider divider(part.narrow_division);
    auto changes = hn::Set(d, static_cast<Sum>(change));
    for (int x = begin; x < end; x += kPrefetched) {
      fetch(x);
      const int fetched_end = std::min(end, x + kPrefetched);
      for (int i = x; i < fetched_end; i += kWindowStep) {
        const Differences differences = differences_of(row, i);
        const auto scan = scan_of(d, differences.of_both);
        const auto odd_change = hn::Add(changes, scan.sums);
        const auto even_change = hn::Sub(odd_change, differences.odd);
        changes = hn::Add(changes, scan.total);
        Sum* const at = row.windows + i;
        const auto even = hn::Add(hn::Load(d, at), even_change);
        const auto odd = hn::Add(hn::Load(d, at + kWindowStep / 2), odd_change);
        hn::Store(even, d, at);
        hn::Store(odd, d, at + kWindowStep / 2);
        const auto codes =
            hn::Or(divider.quotients(even), hn::ShiftLeft<8>(divider.quotients(odd)));
        store_codes(Bytes(), hn::BitCast(Bytes(), codes), end - i, row.out + i);
      }
    }
    return hn::GetLane(changes);
  }
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
