// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/box/box_bytes.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/core/base/round.h"
#include "kernels/core/weights/box.h"
#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/box/box_bytes.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/box/box_lines-inl.h"
#include "kernels/cpu/box/box_narrow-inl.h"
#include "kernels/cpu/box/box_windows-inl.h"
#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/rows/source_rows-inl.h"
#include "kernels/cpu/rows/walk_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Rows that are added to the sums of columns together.
constexpr int kAddedRows = 2 * kBoxRows;

/// Adds the codes of `count` rows, kAddedRows at most, to the sums of columns `begin` .. `end` - 1;
/// all are read in whole vectors.
HWY_INLINE void add_rows(const std::uint8_t* const* rows, int count, int begin, int end,
                         std::int32_t* columns) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = begin; i < end; ++i)
    for (int r = 0; r < count; ++r)
      columns[i] += rows[r][i];
#else
  const Words d;
  const hn::Rebind<std::uint8_t, WidePairs> d_codes;
  const hn::Half<WidePairs> d_half;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = begin; i < end; i += 2 * lanes) {
    auto sums = hn::PromoteTo(WidePairs(), hn::LoadU(d_codes, rows[0] + i));
    for (int r = 1; r < count; ++r)
      sums = hn::Add(sums, hn::PromoteTo(WidePairs(), hn::LoadU(d_codes, rows[r] + i)));
    std::int32_t* const at = columns + i;
    const auto lower = hn::PromoteTo(d, hn::LowerHalf(d_half, sums));
    const auto upper = hn::PromoteTo(d, hn::UpperHalf(d_half, sums));
    hn::Store(hn::Add(hn::Load(d, at), lower), d, at);
    hn::Store(hn::Add(hn::Load(d, at + lanes), upper), d, at + lanes);
  }
#endif
}

/// Masks of so many rows lose rows that the second cache may have no longer.
constexpr int kTall = 200;

/// Rows of an area.
template <class Windows>
class BoxRows {
 public:
  using Stored = std::uint8_t;
  using Sum = typename Windows::Sum;
  static constexpr int kRows = kBoxRows;

  BoxRows(const RowTask& task, int group, const Area& area, const Workspace& workspace,
          const BoxMask& mask)
      : task_(task.groups[group]),
        area_(area),
        lines_(workspace, area.width + mask.width),
        mask_(mask),
        cells_(area.width + mask.width),
        top_(area.y - mask.anchor_y),
        source_(task_, area.x - mask.anchor_x - 1, cells_, {kWindowStep, 2 * kWindowStep}),
        runs_(source_.runs_of_two(area.width, mask.width)),
        ahead_(task, group, area) {}

  void filter(int y, int rows, const std::uint8_t* (*codes)[kMaxComponents]) {
    if (y == 0 && !start()) return;
    const int lost = top_ + y - 1, gained = lost + mask_.height;
    for (int r = 0; r < rows; ++r) {
      source_.load(gained + r, lines_.gained[r]);
      source_.load(lost + r, lines_.lost[r]);
    }
    ahead_.next_block(gained + kBoxRows, kBoxRows, area_.y + y + kBoxRows);
    if (mask_.height >= kTall) ahead_.add_sources(lost + kBoxRows, kBoxRows);
    for (int k = 0; k < task_.count; ++k) {
      for (int r = 0; r < rows; ++r)
        codes[r][k] = out_row(k, y, r);
      if (task_.parts[k].filtered) finish_rows(k, y, rows);
    }
    for (int r = 0; r < rows; ++r)
      copy_others(task_, area_, y + r, lines_.gained[r], codes[r]);
  }

 private:
  /// Makes windows of the rows below the mask where it begins, a row above the area. False if the
  /// frame is no longer wanted.
  bool start() {
    for (int k = 0; k < task_.count; ++k)
      std::fill_n(lines_.columns[k], cells_, 0);
    const int first = top_ - 1, end = first + mask_.height, inside = std::clamp(0, first, end);
    // Rows of the picture are fetched ahead, and then lie in the cache for those that mirror them.
    if (!add_to_columns(inside, end) || !add_to_columns(first, inside)) return false;
    for (int k = 0; k < task_.count; ++k) {
      if (!task_.parts[k].filtered) continue;
      const std::int32_t* const columns = lines_.columns[k];
      std::int32_t sum = std::accumulate(columns, columns + mask_.width, 0);
      for (int i = 0; i < round_up(area_.width, kWindowStep); ++i) {
        if (i < area_.width) sum += columns[i + mask_.width] - columns[i];
        Windows::put(task_.parts[k], mask_.width * mask_.height, sum, i, window_line(k));
      }
    }
    return true;
  }

  /// Adds picture rows `begin` .. `end` - 1 to the sums of columns. False if the frame is no longer
  /// wanted.
  bool add_to_columns(int begin, int end) {
    for (int y = begin; y < end; y += kAddedRows) {
      if (task_.parts[0].task.stopped()) return false;
      const int count = std::min(kAddedRows, end - y);
      ahead_.next_block(y + count, std::min(kAddedRows, end - y - count), area_.y + area_.height);
      add_block_to_columns(y, count);
    }
    return true;
  }

  /// Adds `count` picture rows from `y` on.
  void add_block_to_columns(int y, int count) {
    const auto lines = [this](int r) {
      return r < kBoxRows ? lines_.gained[r] : lines_.lost[r - kBoxRows];
    };
    for (int r = 0; r < count; ++r)
      source_.load(y + r, lines(r));
    for (int k = 0; k < task_.count; ++k) {
      if (!task_.parts[k].filtered) continue;
      source_.for_each_run(cells_, [&](int begin, int end, bool in_picture) HWY_ATTR {
        const std::uint8_t* rows[kAddedRows];
        for (int r = 0; r < count; ++r) {
          rows[r] = lines(r)[k];
          if (in_picture) rows[r] = source_.in_picture(y + r, rows[r]);
        }
        for (int x = begin; x < end; x += kPrefetched) {
          const int fetched = std::min(kPrefetched, end - x);
          // The area's columns stand for the cells that are read, most of which are there.
          if (x < area_.width)
            ahead_.fetch<FetchTo::kSecondCache>(k, area_.width, x,
                                                std::min(fetched, area_.width - x));
          add_rows(rows, count, x, x + fetched, lines_.columns[k]);
        }
      });
    }
  }

  /// Cell 0 of a row: of the line that it is copied to, or where it would be in the picture.
  struct RowCells {
    const std::uint8_t* line;
    const std::uint8_t* in_picture;

    const std::uint8_t* at(bool picture) const { return picture ? in_picture : line; }
  };

  /// The cells of picture row `y`.
  RowCells cells_of(int y, const std::uint8_t* line) const {
    return {line, source_.in_picture(y, line)};
  }

  /// Changes the windows of part `k` to those of row `y` and the next ones, and makes their codes.
  void finish_rows(int k, int y, int count) {
    const int lost = top_ + y - 1, gained = lost + mask_.height;
    RowCells lost_cells[kBoxRows], gained_cells[kBoxRows];
    WindowRow rows[kBoxRows];
    std::int32_t changes[kBoxRows];
    for (int r = 0; r < count; ++r) {
      lost_cells[r] = cells_of(lost + r, lines_.lost[r][k]);
      gained_cells[r] = cells_of(gained + r, lines_.gained[r][k]);
      changes[r] = first_sum(gained_cells[r]) - first_sum(lost_cells[r]);
      rows[r].out = out_row(k, y, r);
    }
    // In place of rows behind the area one is gained and lost, which changes nothing.
    for (int r = count; r < kBoxRows; ++r) {
      lost_cells[r] = gained_cells[r] = lost_cells[0];
      changes[r] = 0;
      rows[r].out = lines_.codes[r][k];
    }
    for (int n = 0; n < runs_.count; ++n) {
      const StepRun& run = runs_.runs[n];
      for (int r = 0; r < kBoxRows; ++r) {
        rows[r].gained_before = gained_cells[r].at(run.first_in_picture);
        rows[r].gained_last = gained_cells[r].at(run.last_in_picture) + mask_.width;
        rows[r].lost_before = lost_cells[r].at(run.first_in_picture);
        rows[r].lost_last = lost_cells[r].at(run.last_in_picture) + mask_.width;
      }
      Windows::finish(task_.parts[k], rows, window_line(k), run.begin, run.end, changes,
                      [&](int i) {
                        ahead_.fetch<FetchTo::kSecondCache>(k, area_.width, i,
                                                            std::min(kPrefetched, run.end - i));
                      });
    }
  }

  /// Where row `r` of a block that begins at row `y` becomes codes.
  std::uint8_t* out_row(int k, int y, int r) const {
    return task_.lies_alone() ? task_.parts[k].task.dst_row(area_.y + y + r) + area_.x
                              : lines_.codes[r][k];
  }

  WindowLine<Sum> window_line(int k) const { return {lines_.windows[k], lines_.pivots[k]}; }

  /// The sum of the cells below the mask in the window before window 0.
  std::int32_t first_sum(const RowCells& cells) const {
    std::int32_t sum = 0;
    source_.for_each_run(mask_.width, [&](int begin, int end, bool in_picture) HWY_ATTR {
      sum += sum_of_cells(cells.at(in_picture), begin, end);
    });
    return sum;
  }

  const GroupTask& task_;
  const Area area_;
  BoxLines<Sum> lines_;
  const BoxMask& mask_;
  int cells_;  ///< Of a row: those below all windows, and one before them.
  int top_;    ///< Picture row of the first row that is added.
  SourceRows source_;
  StepRuns runs_;
  RowsAhead ahead_;
};

void box_bytes(const RowTask& task, const BoxMask& mask, const Area& area,
               const Workspace* workspaces) {
#if HWY_TARGET != HWY_SCALAR
  if (divides_narrowly(task)) {
    if (!is_narrow_box(mask.width, mask.height))
      return walk_rows<BoxRows<NarrowWindows>>(task, area, workspaces, mask);
    return mask.width == 3 ? walk_rows<NarrowBoxRows<3>>(task, area, workspaces, mask)
                           : walk_rows<NarrowBoxRows<5>>(task, area, workspaces, mask);
  }
  if (have_pivots(task)) return walk_rows<BoxRows<PivotedWindows>>(task, area, workspaces, mask);
#endif
  walk_rows<BoxRows<WideWindows>>(task, area, workspaces, mask);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(box_bytes);

namespace {

// The rows that are read next and those that are lost next, or those of the first windows.
static_assert(2 * kBoxRows <= RowsAhead::kMostRows);

/// Lines of a worker: see BoxLines.
constexpr int kLines = 6 * kMaxComponents;

}  // namespace

bool BoxBytes::serves(const FrameFormat& format, const Mask& mask) {
  constexpr std::int64_t kMostTaps = INT32_MAX / 255;
  return mask.taps() <= kMostTaps && all_filtered(format, [](const Component& c) {
           return c.max_code() == 255 && c.shift == 0;
         });
}

Result<BoxBytes> BoxBytes::make(const FrameFormat& format, const BoxMask& mask, int workers) {
  const GroupExtent extent = largest_group(format);
  const int widest = extent.width, parts = extent.parts;
  BoxBytes made;
  made.mask_ = mask;
  const int ring = is_narrow_box(mask.width, mask.height) ? parts * mask.height : 0;
  made.strip_width_ =
      choose_strip_width(widest, mask.width, 2 * parts + ring / 2, sizeof(std::int32_t));
  WorkspaceShape shape;
  shape.intermediate_lines = ring;
  shape.cell_bytes = sizeof(std::int32_t);
  shape.strip_width = std::min(made.strip_width_, round_up(widest, kStripStep));
  // A line of words has room for as many lines of codes as there are bytes in a word.
  static_assert(kBoxRows <= sizeof(std::int32_t));
  shape.source_width = code_line_bytes(shape.strip_width + mask.width);
  shape.source_lines = kLines;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers, extent.groups);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  return made;
}

void BoxBytes::filter(const RowTask& task, const Area& area, int worker) const {
  HWY_DYNAMIC_DISPATCH(box_bytes)(task, mask_, area, workspaces_.of(worker));
}

}  // namespace convolve
#endif
