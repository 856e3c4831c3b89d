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
#include <cstring>

#include "kernels/cpu/box_bytes.h"
#include "kernels/cpu/bytes/byte_lines-inl.h"
#include "kernels/cpu/bytes/rows_ahead.h"
#include "kernels/cpu/bytes/source_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Sums of a column, and windows of them: of 16 bits where the codes below the mask fit, as twice
/// as many are added at once, or else of 32.
template <class Sum>
using SumTag = hn::ScalableTag<Sum>;

/// Columns that are summed at a time, as many as a vector holds. It is known when compiling, as no
/// target with vectors of unknown size is compiled (highway_targets.h).
template <class Sum>
constexpr int kColumnStep = static_cast<int>(hn::MaxLanes(SumTag<Sum>()));

/// The lines of a worker.
template <class Sum>
struct BoxLines {
  std::uint8_t* line[kMaxComponents];   ///< Codes of a row, ghost cells included,
  std::uint8_t* above[kMaxComponents];  ///< of the one that the mask has left,
  std::uint8_t* codes[kMaxComponents];  ///< and those that a row becomes.
  Sum* sums[kMaxComponents];            ///< Of the columns below the mask.
  Sum* windows;                         ///< kBoxWindows of them.

  explicit BoxLines(const Workspace& workspace) {
    for (int k = 0; k < kMaxComponents; ++k) {
      line[k] = workspace.source.at<std::uint8_t>(k);
      above[k] = workspace.source.at<std::uint8_t>(kMaxComponents + k);
      sums[k] = workspace.source.at<Sum>(2 * kMaxComponents + k);
      codes[k] = workspace.sums.at<std::uint8_t>(k);
    }
    windows = workspace.source.at<Sum>(3 * kMaxComponents);
  }
};

/// Rows that are fetched before they are read or written.
constexpr int kRowsAhead = 4;

/// The codes of parts that are not filtered are those of the source. `lines` is scratch.
HWY_INLINE void copy_others(const ByteTask& task, const Area& area, int y,
                            std::uint8_t* const* lines, const std::uint8_t** codes) {
  const BytePart* const end = task.parts + task.count;
  if (std::all_of(task.parts, end, [](const BytePart& part) { return part.filtered; })) return;
  load_parts(task, area.y + y, area.x, area.width, lines);
  for (int k = 0; k < task.count; ++k)
    if (!task.parts[k].filtered) codes[k] = lines[k];
}

#if HWY_TARGET != HWY_SCALAR

/// Codes of windows by a division of 16 bits.
class Divider {
 public:
  explicit Divider(const NarrowBoxDivision& division)
      : offset_(hn::Set(Tag(), division.offset)),
        reciprocal_(hn::Set(Tag(), division.reciprocal)),
        shift_(division.shift) {}

  /// Codes of the `count` windows that `window_at` makes, a vector at a time, to `out`.
  template <class WindowAt>
  HWY_INLINE void divide(int count, const WindowAt& window_at, std::uint8_t* out) const {
    const Tag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    int i = 0;
    for (; i + lanes <= count; i += lanes)
      hn::StoreU(codes_of(window_at(i)), Codes(), out + i);
    if (i < count) {
      HWY_ALIGN std::uint8_t last[hn::MaxLanes(Tag())];
      hn::Store(codes_of(window_at(i)), Codes(), last);
      std::memcpy(out + i, last, static_cast<std::size_t>(count - i));
    }
  }

 private:
  using Tag = SumTag<std::uint16_t>;
  using Codes = hn::Rebind<std::uint8_t, Tag>;

  HWY_INLINE hn::Vec<Codes> codes_of(hn::Vec<Tag> window) const {
    const auto product = hn::MulHigh(hn::Add(window, offset_), reciprocal_);
    const auto quotient = hn::ShiftRightSame(product, shift_);
    return hn::DemoteTo(Codes(), hn::BitCast(hn::RebindToSigned<Tag>(), quotient));
  }

  hn::Vec<Tag> offset_, reciprocal_;
  int shift_;
};

/// True if the codes of all parts are made by a Divider.
HWY_INLINE bool divides_narrowly(const RowTask& task) {
  return std::all_of(task.groups, task.groups + task.count, [](const ByteTask& group) {
    return std::all_of(group.parts, group.parts + group.count,
                       [](const BytePart& part) { return !part.filtered || part.division.serves; });
  });
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// Four cells are summed by one instruction, of what is loaded at once.
inline constexpr bool kSumsFour = true;

/// The windows of four cells that begin at each of 32.
HWY_INLINE hn::Vec<SumTag<std::uint16_t>> windows_of_four(const std::uint8_t* cells) {
  // The eight windows of a block of 16 bytes begin at its first eight, those of half a block at
  // four of its bytes, which the instruction takes from words 0 and 1, or 1 and 2.
  const __m512i blocks =
      _mm512_permutexvar_epi64(_mm512_set_epi64(4, 3, 3, 2, 2, 1, 1, 0), _mm512_loadu_si512(cells));
  constexpr int kWords = 0 + (1 << 2) + (1 << 4) + (2 << 6);
  return hn::Vec<SumTag<std::uint16_t>>{_mm512_dbsad_epu8(_mm512_setzero_si512(), blocks, kWords)};
}

#else

inline constexpr bool kSumsFour = false;

#endif

/// Cells that row_windows() reads.
template <int kWidth>
inline constexpr int kReadCells =
    kSumsFour&& kWidth == 5 ? 64 : kColumnStep<std::uint16_t> + kWidth - 1;

/// The windows of kWidth cells of a row, as many as a vector holds.
template <int kWidth>
HWY_INLINE hn::Vec<SumTag<std::uint16_t>> row_windows(const std::uint8_t* cells) {
  const SumTag<std::uint16_t> d;
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
  const SumTag<std::uint16_t> d;
  for (int i = begin; i < end; i += kColumnStep<std::uint16_t>) {
    const auto window = row_windows<kWidth>(cells + i);
    hn::Store(window, d, sums.added + i);
    hn::Store(hn::Add(hn::Load(d, sums.all + i), window), d, sums.all + i);
  }
}

/// The same for the last row below the mask: makes codes, and subtracts the row that is left.
template <int kWidth>
HWY_INLINE void finish_windows(const std::uint8_t* cells, int begin, int end,
                               const NarrowSums& sums, const Divider& divider, std::uint8_t* out) {
  const SumTag<std::uint16_t> d;
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
        lines_(workspace),
        height_(mask.height),
        top_(area.y - mask.anchor_y),
        source_(task_, area.x - mask.anchor_x, area.width + kWidth - 1,
                {kColumnStep<std::uint16_t>, kReadCells<kWidth>}),
        ahead_(task, group, area) {}

  void filter(int y, int, const std::uint8_t* (*codes)[kMaxComponents]) {
    if (y == 0) start();
    const int n = y + height_ - 1;
    source_.load(top_ + n, lines_.line);
    ahead_.next_block(top_ + n + kRowsAhead, 1, area_.y + y + kRowsAhead);
    for (int k = 0; k < task_.count; ++k) {
      const BytePart& part = task_.parts[k];
      std::uint8_t* const out =
          task_.lies_alone() ? part.task.dst_row(area_.y + y) + area_.x : lines_.codes[k];
      codes[0][k] = out;
      const Divider divider(part.division);
      for_each_run(n, k, [&](const std::uint8_t* cells, int begin, int end) HWY_ATTR {
        finish_windows<kWidth>(cells, begin, end, sums_of(n, k), divider, out);
      });
    }
    copy_others(task_, area_, y, lines_.line, codes[0]);
  }

 private:
  /// Adds up the rows before the last one below the mask.
  void start() {
    for (int k = 0; k < task_.count; ++k)
      std::fill_n(lines_.sums[k], round_up(area_.width, kColumnStep<std::uint16_t>),
                  std::uint16_t{0});
    for (int n = 0; n < height_ - 1; ++n) {
      source_.load(top_ + n, lines_.line);
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
      const std::uint8_t* const line = lines_.line[k];
      ahead_.fetch(k, area_.width, begin, end - begin);
      use(in_picture ? source_.in_picture(top_ + n, line) : line, begin, end);
    });
  }

  NarrowSums sums_of(int n, int k) const {
    const auto of_row = [&](int row) {
      return workspace_.intermediate.at<std::uint16_t>(k * height_ + row % height_);
    };
    return {of_row(n), of_row(n + 1), lines_.sums[k]};
  }

  const ByteTask& task_;
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
