// SPDX-License-Identifier: LGPL-2.1-or-later
// The windows of a row made of those of the row above, many columns and four rows at a time, for
// boxes of any size. A row that the mask gains and one that it loses change each window by what the
// first has below the mask less what the second had there; from one column to the next that change
// differs by four cells only, and the scan of these differences is all that is to be done along a
// row. They fit 16 bits, so that a vector has twice as many as of windows of 32 bits.
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
#include <numeric>

#include "kernels/cpu/box/box_codes-inl.h"
#include "kernels/cpu/box/box_lines-inl.h"
#include "kernels/cpu/box/scan-inl.h"
#include "kernels/cpu/dots/pair_product-inl.h"
#include "kernels/cpu/rows/pack_words-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Columns between two prefetches: a cache line of each row. More of them at once would wait for
/// memory.
inline constexpr int kPrefetched = 64;

/// What a row of windows is made of those of the row above: for each window the cell before it and
/// its last one in the row that the mask gains, and in the row that it loses.
struct WindowRow {
  const std::uint8_t* gained_before;
  const std::uint8_t* gained_last;
  const std::uint8_t* lost_before;
  const std::uint8_t* lost_last;
  std::uint8_t* out;  ///< Where the codes of the windows go to.
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

/// The sum of cells `begin` .. `end` - 1, which are read in whole vectors.
HWY_INLINE std::int32_t sum_of_cells(const std::uint8_t* cells, int begin, int end) {
#if HWY_TARGET == HWY_SCALAR
  return std::accumulate(cells + begin, cells + end, 0);
#else
  const hn::Repartition<std::uint64_t, Bytes> d;
  auto sums = hn::Zero(d);
  int i = begin;
  for (; i + kWindowStep <= end; i += kWindowStep)
    sums = hn::Add(sums, hn::SumsOf8(hn::LoadU(Bytes(), cells + i)));
  if (i < end) {
    const auto summed = hn::FirstN(Bytes(), static_cast<std::size_t>(end - i));
    sums = hn::Add(sums, hn::SumsOf8(hn::IfThenElseZero(summed, hn::LoadU(Bytes(), cells + i))));
  }
  const hn::RebindToSigned<decltype(d)> d_signed;
  return static_cast<std::int32_t>(
      hn::GetLane(hn::SumOfLanes(d_signed, hn::BitCast(d_signed, sums))));
#endif
}

#if HWY_TARGET != HWY_SCALAR

/// By what more the windows of a step change than those to their left.
struct Differences {
  hn::Vec<WidePairs> odd;      ///< Windows 1, 3, 5...: -510 .. 510.
  hn::Vec<WidePairs> of_both;  ///< With those of windows 0, 2, 4... added: -1020 .. 1020.
};

HWY_INLINE Differences differences_of(const WindowRow& row, int i) {
  const auto pairs = [](const std::uint8_t* cells)
                         HWY_ATTR { return hn::BitCast(WidePairs(), hn::LoadU(Bytes(), cells)); };
  const auto gained = pairs(row.gained_last + i), not_gained = pairs(row.gained_before + i);
  const auto lost = pairs(row.lost_last + i), not_lost = pairs(row.lost_before + i);
  const auto upper = [](auto v) HWY_ATTR { return hn::ShiftRight<8>(v); };
  const auto odd =
      hn::Sub(hn::Add(upper(gained), upper(not_lost)), hn::Add(upper(not_gained), upper(lost)));
  // Modulo 2^16 this is the even one and 256 times the odd one.
  const auto mixed = hn::Sub(hn::Add(gained, not_lost), hn::Add(not_gained, lost));
  return {odd, hn::Add(odd, hn::Sub(mixed, hn::ShiftLeft<8>(odd)))};
}

/// By what the windows of a step, of 32 bits, change.
struct StepChange {
  hn::Vec<Words> last;  ///< The last one of each lane,
  hn::Vec<Pairs> both;  ///< and by what more than others: see Differences.
  hn::Vec<Pairs> odd;
};

/// `before` is the change of the window before, in all lanes, and becomes that of the last one.
HWY_INLINE StepChange change_of(const WindowRow& row, int i, std::int32_t* before) {
  const Differences differences = differences_of(row, i);
  const auto both = hn::BitCast(Pairs(), differences.of_both);
  const auto scan = scan_of(
      Words(), add_pair_products(hn::Zero(Words()), both, hn::Set(Pairs(), std::int16_t{1})));
  const auto change = hn::Load(Words(), before);
  hn::Store(hn::Add(change, scan.total), Words(), before);
  return {hn::Add(change, scan.sums), both, hn::BitCast(Pairs(), differences.odd)};
}

HWY_INLINE void add_change(const StepChange& change, StepWindows* windows) {
  // Products that subtract one of the two numbers of a lane.
  const auto less_lower = set_pairs(0xFFFF), less_upper = set_pairs(-0x10000);
  const auto second = add_pair_products(change.last, change.both, less_upper);
  windows->first = hn::Add(windows->first, add_pair_products(second, change.odd, less_lower));
  windows->second = hn::Add(windows->second, second);
  windows->third = hn::Add(windows->third, add_pair_products(change.last, change.odd, less_upper));
  windows->last = hn::Add(windows->last, change.last);
}

/// Changes windows of 32 bits: see WideWindows::finish(). `start(i, step)` is called for the
/// windows of the step from `i` on, which it may change, and returns what makes codes of them.
template <class Start, class Fetch>
HWY_INLINE void change_windows(const WindowRow (&rows)[kBoxRows], std::int32_t* windows, int begin,
                               int end, std::int32_t (&changes)[kBoxRows], const Start& start,
                               const Fetch& fetch) {
  const Words d;
  HWY_ALIGN std::int32_t before[kBoxRows][hn::MaxLanes(Words())];
  for (int r = 0; r < kBoxRows; ++r)
    hn::Store(hn::Set(d, changes[r]), d, before[r]);
  for (int x = begin; x < end; x += kPrefetched) {
    fetch(x);
    const int fetched_end = std::min(end, x + kPrefetched);
    for (int i = x; i < fetched_end; i += kWindowStep) {
      std::int32_t* const at = windows + i;
      StepWindows step = {hn::Load(d, at), hn::Load(d, at + kWindowStep / 4),
                          hn::Load(d, at + kWindowStep / 2), hn::Load(d, at + kWindowStep / 4 * 3)};
      const auto codes_of = start(i, &step);
      // A change is some twenty instructions one after the other. Made together, those of four rows
      // give the processor four times as much to do at once.
      StepChange made[kBoxRows];
      HWY_UNROLL(kBoxRows)
      for (int r = 0; r < kBoxRows; ++r)
        made[r] = change_of(rows[r], i, before[r]);
      HWY_UNROLL(kBoxRows)
      for (int r = 0; r < kBoxRows; ++r) {
        add_change(made[r], &step);
        store_codes(Bytes(), codes_of(step), end - i, rows[r].out + i);
      }
      hn::Store(step.first, d, at);
      hn::Store(step.second, d, at + kWindowStep / 4);
      hn::Store(step.third, d, at + kWindowStep / 2);
      hn::Store(step.last, d, at + kWindowStep / 4 * 3);
    }
  }
  for (int r = 0; r < kBoxRows; ++r)
    changes[r] = before[r][0];
}

#endif

/// The windows of an area's columns, and their pivots if they have such.
template <class Sum>
struct WindowLine {
  Sum* windows;
  std::uint8_t* pivots;
};

/// Windows of 32 bits: see empty_window().
struct WideWindows {
  using Sum = std::int32_t;

  /// Lets a window be a sum of codes below a mask of `taps` taps.
  static void put(const GroupPart& part, int taps, std::int32_t sum, int i,
                  const WindowLine<Sum>& line) {
    line.windows[window_place<Sum>(i)] = sum + empty_window(part, taps);
  }

  /// Changes windows `begin` .. `end` - 1 by one row after the other, and makes their codes after
  /// each. `changes` are those of the window before, and then of the last one. Calls `fetch(i)`
  /// where windows from `i` on are next, if there are vectors.
  template <class Fetch>
  static HWY_INLINE void finish(const GroupPart& part, const WindowRow (&rows)[kBoxRows],
                                const WindowLine<Sum>& line, int begin, int end,
                                std::int32_t (&changes)[kBoxRows],
                                [[maybe_unused]] const Fetch& fetch) {
    with_window_codes(part, [&](const auto codes_of) HWY_ATTR {
#if HWY_TARGET == HWY_SCALAR
      for (int r = 0; r < kBoxRows; ++r)
        for (int i = begin; i < end; ++i) {
          const WindowRow& row = rows[r];
          changes[r] += row.gained_last[i] - row.gained_before[i];
          changes[r] -= row.lost_last[i] - row.lost_before[i];
          line.windows[i] += changes[r];
          row.out[i] =
              static_cast<std::uint8_t>(hn::GetLane(codes_of(hn::Set(Words(), line.windows[i]))));
        }
#else
      const auto start = [codes_of](int, StepWindows*) HWY_ATTR { return codes_of; };
      change_windows(rows, line.windows, begin, end, changes, start, fetch);
#endif
    });
  }
};

#if HWY_TARGET != HWY_SCALAR

/// Windows of 32 bits that are floats with a pivot, the code of the last row of the block before.
struct PivotedWindows {
  using Sum = std::int32_t;

  static void put(const GroupPart& part, int, std::int32_t sum, int i,
                  const WindowLine<Sum>& line) {
    const auto pivot = static_cast<std::int32_t>(
        box_quotient(static_cast<std::uint32_t>(sum) + part.division.offset, part.division));
    line.pivots[i] = static_cast<std::uint8_t>(pivot);
    line.windows[window_place<Sum>(i)] =
        part.float_division.empty +
        (sum - pivot * static_cast<std::int32_t>(part.division.divisor));
  }

  /// Changes windows and makes codes: see WideWindows::finish().
  template <class Fetch>
  static HWY_INLINE void finish(const GroupPart& part, const WindowRow (&rows)[kBoxRows],
                                const WindowLine<Sum>& line, int begin, int end,
                                std::int32_t (&changes)[kBoxRows], const Fetch& fetch) {
    const FloatDivider divider(part.float_division);
    const auto start = [divider, line](int i, StepWindows* windows) HWY_ATTR {
      const auto pivots = divider.change_pivots(hn::Load(Bytes(), line.pivots + i), windows);
      hn::Store(pivots, Bytes(), line.pivots + i);
      const auto less_raise =
          hn::Sub(pivots, hn::Set(Bytes(), std::uint8_t{FloatBoxDivision::kRaise}));
      return [divider, less_raise](const StepWindows& of)
                 HWY_ATTR { return hn::Add(divider(of), less_raise); };
    };
    change_windows(rows, line.windows, begin, end, changes, start, fetch);
  }
};

/// True if the windows of all parts have pivots.
HWY_INLINE bool have_pivots(const RowTask& task) {
  return kFused && all_filtered_parts(task, [](const GroupPart& part) {
           return part.float_division.serves && part.float_division.pivoted;
         });
}

/// Windows of 16 bits, whose codes are made by a Divider.
struct NarrowWindows {
  using Sum = std::uint16_t;

  static void put(const GroupPart&, int, std::int32_t sum, int i, const WindowLine<Sum>& line) {
    line.windows[window_place<Sum>(i)] = static_cast<Sum>(sum);
  }

  /// Changes windows and makes codes: see WideWindows::finish(). Changes are modulo 2^16.
  template <class Fetch>
  static HWY_INLINE void finish(const GroupPart& part, const WindowRow (&rows)[kBoxRows],
                                const WindowLine<Sum>& line, int begin, int end,
                                std::int32_t (&changes)[kBoxRows], const Fetch& fetch) {
    const WidePairs d;
    const Divider divider(part.narrow_division);
    HWY_ALIGN Sum before[kBoxRows][hn::MaxLanes(WidePairs())];
    for (int r = 0; r < kBoxRows; ++r)
      hn::Store(hn::Set(d, static_cast<Sum>(changes[r])), d, before[r]);
    for (int x = begin; x < end; x += kPrefetched) {
      fetch(x);
      const int fetched_end = std::min(end, x + kPrefetched);
      for (int i = x; i < fetched_end; i += kWindowStep) {
        Sum* const at = line.windows + i;
        auto even = hn::Load(d, at), odd = hn::Load(d, at + kWindowStep / 2);
        NarrowChange made[kBoxRows];
        HWY_UNROLL(kBoxRows)
        for (int r = 0; r < kBoxRows; ++r)
          made[r] = narrow_change_of(rows[r], i, before[r]);
        HWY_UNROLL(kBoxRows)
        for (int r = 0; r < kBoxRows; ++r) {
          even = hn::Add(even, made[r].even);
          odd = hn::Add(odd, made[r].odd);
          const auto codes =
              hn::Or(divider.quotients(even), hn::ShiftLeft<8>(divider.quotients(odd)));
          store_codes(Bytes(), hn::BitCast(Bytes(), codes), end - i, rows[r].out + i);
        }
        hn::Store(even, d, at);
        hn::Store(odd, d, at + kWindowStep / 2);
      }
    }
    for (int r = 0; r < kBoxRows; ++r)
      changes[r] = before[r][0];
  }

 private:
  /// By what the windows of a step change.
  struct NarrowChange {
    hn::Vec<WidePairs> even, odd;
  };

  /// `before` is the change of the window before, in all lanes, and becomes that of the last one.
  static HWY_INLINE NarrowChange narrow_change_of(const WindowRow& row, int i, Sum* before) {
    const WidePairs d;
    const Differences differences = differences_of(row, i);
    const auto scan = scan_of(d, differences.of_both);
    const auto change = hn::Load(d, before);
    hn::Store(hn::Add(change, scan.total), d, before);
    const auto odd = hn::Add(change, scan.sums);
    return {hn::Sub(odd, differences.odd), odd};
  }
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
