// SPDX-License-Identifier: LGPL-2.1-or-later
// Small boxes over bytes: the windows of a row in registers, and sums of them down the columns,
// from which the codes are made at once. Nothing is read at another place than it was written to
// just before, which would stall, and the rows are walked along once.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_BOX_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_BOX_NARROW_INL_H_
#undef CONVOLVE_BOX_NARROW_INL_H_
#else
#define CONVOLVE_BOX_NARROW_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/box/box_bytes.h"
#include "kernels/cpu/box/box_lines-inl.h"
#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/rows/source_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// Four cells are summed by one instruction, of what is loaded at once.
inline constexpr bool kSumsFour = true;

/// The windows of four cells that begin at each of 32.
HWY_INLINE hn::Vec<NarrowTag> windows_of_four(const std::uint8_t* cells) {
  // The eight windows of a block of 16 bytes begin at its first eight, those of half a block at
  // four of its bytes, which the instruction takes from words 0 and 1, or 1 and 2.
  const __m512i blocks =
      _mm512_permutexvar_epi64(_mm512_set_epi64(4, 3, 3, 2, 2, 1, 1, 0), _mm512_loadu_si512(cells));
  constexpr int kWords = 0 + (1 << 2) + (1 << 4) + (2 << 6);
  return hn::Vec<NarrowTag>{_mm512_dbsad_epu8(_mm512_setzero_si512(), blocks, kWords)};
}

#else

inline constexpr bool kSumsFour = false;

#endif

/// Cells that row_windows() reads.
template <int kWidth>
inline constexpr int kReadCells = kSumsFour&& kWidth == 5 ? 64 : kColumnStep + kWidth - 1;

/// The windows of kWidth cells of a row, as many as a vector holds.
template <int kWidth>
HWY_INLINE hn::Vec<NarrowTag> row_windows(const std::uint8_t* cells) {
  const NarrowTag d;
  const hn::Rebind<std::uint8_t, decltype(d)> d_codes;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  if constexpr (kWidth == 5)
    return hn::Add(windows_of_four(cells), hn::PromoteTo(d, hn::LoadU(d_codes, cells + 4)));
#endif
  auto window = hn::PromoteTo(d, hn::LoadU(d_codes, cells));
  HWY_UNROLL(8)
  for (int j = 1; j < kWidth; ++j)
    window = hn::Add(window, hn::PromoteTo(d, hn::LoadU(d_codes, cells + j)));
  return window;
}

/// The sums of windows of a part: of the row that is added, of the one that the mask then leaves,
/// and of all that lie below it.
struct NarrowSums {
  std::uint16_t* added;
  const std::uint16_t* left;
  std::uint16_t* all;
};

/// Adds a row to the sums of columns `begin` .. `end` - 1.
template <int kWidth>
HWY_INLINE void add_windows(const std::uint8_t* cells, int begin, int end, const NarrowSums& sums) {
  const NarrowTag d;
  for (int i = begin; i < end; i += kColumnStep) {
    const auto window = row_windows<kWidth>(cells + i);
    hn::Store(window, d, sums.added + i);
    hn::Store(hn::Add(hn::Load(d, sums.all + i), window), d, sums.all + i);
  }
}

/// The same for the last row below the mask: makes codes, and subtracts the row that is left.
template <int kWidth>
HWY_INLINE void finish_windows(const std::uint8_t* cells, int begin, int end,
                               const NarrowSums& sums, const Divider& divider, std::uint8_t* out) {
  const NarrowTag d;
  divider.divide(
      end - begin,
      [=](int i) HWY_ATTR {
        i += begin;
        const auto window = row_windows<kWidth>(cells + i);
        const auto all = hn::Add(hn::Load(d, sums.all + i), window);
        // Where the mask has one row, that is the same.
        hn::Store(window, d, sums.added + i);
        hn::Store(hn::Sub(all, hn::Load(d, sums.left + i)), d, sums.all + i);
        return all;
      },
      out + begin);
}

/// Rows that are fetched before they are read or written.
inline constexpr int kRowsAhead = 4;

/// Columns between two prefetches. With fewer the short loop over columns is left too often, and to
/// fetch a whole row at once would wait for memory.
inline constexpr int kNarrowPrefetched = 1024;

/// Rows of an area, for kernel box of a mask kWidth wide.
template <int kWidth>
class NarrowBoxRows {
 public:
  using Stored = std::uint8_t;
  static constexpr int kRows = 1;

  NarrowBoxRows(const RowTask& task, int group, const Area& area, const Workspace& workspace,
                const BoxMask& mask)
      : task_(task.groups[group]),
        area_(area),
        workspace_(workspace),
        lines_(workspace, area.width + kWidth),
        height_(mask.height),
        top_(area.y - mask.anchor_y),
        source_(task_, area.x - mask.anchor_x, area.width + kWidth - 1,
                {kColumnStep, kReadCells<kWidth>}),
        ahead_(task, group, area) {}

  void filter(int y, int, const std::uint8_t* (*codes)[kMaxComponents]) {
    if (y == 0) start();
    const int n = y + height_ - 1;
    source_.load(top_ + n, lines_.gained[0]);
    ahead_.next_block(top_ + n + kRowsAhead, 1, area_.y + y + kRowsAhead);
    for (int k = 0; k < task_.count; ++k) {
      const GroupPart& part = task_.parts[k];
      std::uint8_t* const out =
          task_.lies_alone() ? part.task.dst_row(area_.y + y) + area_.x : lines_.codes[0][k];
      codes[0][k] = out;
      const Divider divider(part.narrow_division);
      const NarrowSums sums = sums_of(n, k);
      for_each_run(n, k, [=](const std::uint8_t* cells, int begin, int end) HWY_ATTR {
        finish_windows<kWidth>(cells, begin, end, sums, divider, out);
      });
    }
    copy_others(task_, area_, y, lines_.gained[0], codes[0]);
  }

 private:
  /// Adds up the rows before the last one below the mask.
  void start() {
    for (int k = 0; k < task_.count; ++k)
      std::fill_n(lines_.windows[k], round_up(area_.width, kColumnStep), std::uint16_t{0});
    for (int n = 0; n < height_ - 1; ++n) {
      source_.load(top_ + n, lines_.gained[0]);
      ahead_.next_block(top_ + n + kRowsAhead, 1, area_.y + area_.height);
      for (int k = 0; k < task_.count; ++k)
        for_each_run(n, k, [&](const std::uint8_t* cells, int begin, int end) HWY_ATTR {
          add_windows<kWidth>(cells, begin, end, sums_of(n, k));
        });
    }
  }

  /// Calls `use(cells, begin, end)` for the columns of row `n` of part `k`, if it is filtered.
  template <class Use>
  HWY_INLINE void for_each_run(int n, int k, const Use& use) const {
    if (!task_.parts[k].filtered) return;
    source_.for_each_run(area_.width, [&](int begin, int end, bool in_picture) HWY_ATTR {
      const std::uint8_t* const line = lines_.gained[0][k];
      const std::uint8_t* const cells = in_picture ? source_.in_picture(top_ + n, line) : line;
      for (int x = begin; x < end; x += kNarrowPrefetched) {
        const int fetched = std::min(kNarrowPrefetched, end - x);
        ahead_.fetch<FetchTo::kSecondCache>(k, area_.width, x, fetched);
        use(cells, x, x + fetched);
      }
    });
  }

  NarrowSums sums_of(int n, int k) const {
    const auto of_row = [&](int row) {
      return workspace_.intermediate.at<std::uint16_t>(k * height_ + row % height_);
    };
    return {of_row(n), of_row(n + 1), lines_.windows[k]};
  }

  const GroupTask& task_;
  const Area area_;
  const Workspace& workspace_;
  BoxLines<std::uint16_t> lines_;
  int height_;
  int top_;  ///< Picture row of the first row that is added.
  SourceRows source_;
  RowsAhead ahead_;
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
