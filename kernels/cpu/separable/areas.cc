// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/separable/areas.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "kernels/core/base/round.h"
#include "kernels/cpu/highway_targets.h"
#include "kernels/cpu/run_typed.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/separable/areas.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/finish_line-inl.h"
#include "kernels/cpu/load_line-inl.h"
#include "kernels/cpu/rows/byte_lines-inl.h"
#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/rows/walk_rows-inl.h"
#include "kernels/cpu/separable/passes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// Fills a line of each part that is filtered with `count` cells of picture row `y` from column `x`
/// on; either may lie outside of the picture. `samples` are scratch lines. kTurns: see load_line().
template <int kTurns, class Real, class Stored>
HWY_INLINE void load_cells(const GroupTask& task, int y, int x, int count, Real* const* lines,
                           Stored* const* samples) {
  const ComponentTask& first = task.parts[0].task;
  const int row = border_index(first.border, y, first.height);
  const bool parted = row != kNoSignal && task.whole_pixels();
  const int inside = std::min(std::max(-x, 0), count);
  const int after = std::min(std::max(first.width - x, inside), count);
  if (parted)
    part_pixels(task.count, first.src_row(row) + std::ptrdiff_t{x + inside} * first.step,
                after - inside, samples);
  for (int k = 0; k < task.count; ++k) {
    const ComponentTask& part = task.parts[k].task;
    if (!task.parts[k].filtered) continue;
    if (parted)
      convert_line<kTurns, Real, Stored>(part, row, x, count, inside, after,
                                         reinterpret_cast<const std::uint8_t*>(samples[k]),
                                         lines[k]);
    else
      load_line<kTurns>(part, y, x, count, lines[k], samples[k]);
  }
}

/// Rows of an area. Row sums are made once of each row of the source and kept in a ring of lines
/// for each part. kTurns components take turns in a line: two of them are GroupTask::in_turn(), the
/// one part of its task, and their line takes the room of two. They need no lines of samples.
template <class Real, class StoredSample, int kTurns>
class AreaRows {
 public:
  using Stored = StoredSample;
  static constexpr int kRows = kBlockRows;

  AreaRows(const RowTask& task, int group, const Area& area, const Workspace& workspace,
           const FactorTaps& taps)
      : task_(task.groups[group]),
        area_(area),
        workspace_(workspace),
        taps_(taps),
        ring_(taps.column.height() + kBlockRows - 1),
        top_(area.y - taps.column.anchor_y()),
        ahead_(task, group, area) {}

  void filter(int y, int rows, const Stored* (*samples)[kMaxComponents]) {
    const int needed = y + taps_.column.height() + rows - 1;
    ahead_.next_block(top_ + needed, rows, area_.y + y + rows);
    // Whatever the lines hold that are not loaded then, nobody wants what becomes of them.
    for (; loaded_ < needed && !first().stopped(); ++loaded_)
      sum_parts(loaded_, loaded_ - needed + rows, rows);
    copy_unfiltered(y, rows);
    for (int k = 0; k < task_.count; ++k) {
      std::uint8_t* out[kBlockRows];
      for (int r = 0; r < rows; ++r) {
        out[r] = task_.lies_alone() ? first().dst_row(area_.y + y + r) + area_.x * first().step
                                    : out_line(k, r);
        samples[r][k] = reinterpret_cast<const Stored*>(out[r]);
      }
      if (task_.parts[k].filtered) finish_part(k, y, rows, out);
    }
  }

 private:
  const ComponentTask& first() const { return task_.parts[0].task; }

  /// Lines of the workspace for a row of part `part`: its cells, its samples side by side, and what
  /// becomes of them in row `r` of a block.
  Real* cells(int part) const { return workspace_.source.at<Real>(part); }
  Stored* samples(int part) const { return workspace_.source.at<Stored>(task_.count + part); }
  std::uint8_t* out_line(int part, int r) const {
    return workspace_.source.at<std::uint8_t>((2 + r) * task_.count + part);
  }

  Real* sums(int part, int line) const {
    return workspace_.intermediate.at<Real>(kTurns * (part * ring_ + line % ring_));
  }

  /// Row sums of line `line` of the area and its halo. It is line `share` of the `rows` lines that
  /// are loaded for a block of so many rows, and fetches its share of the next ones. The first
  /// block loads more lines than that: the share of those that come before is below 0.
  HWY_INLINE void sum_parts(int line, int share, int rows) {
    const int width = area_.width;
    Real* to[kMaxComponents];
    Stored* scratch[kMaxComponents];
    for (int k = 0; k < task_.count; ++k) {
      to[k] = cells(k);
      scratch[k] = samples(k);
    }
    load_cells<kTurns>(task_, top_ + line, area_.x - kTurns * taps_.row.anchor_x(),
                       width + kTurns * (taps_.row.width() - 1), to, scratch);
    for (int k = 0; k < task_.count; ++k) {
      const int done = (share * ahead_.walks() + ahead_.walks_before(k)) * width;
      const auto fetch = [&](int x, int count) HWY_ATTR {
        if (share < 0) return;
        const int begin = (done + x) / rows;
        ahead_.fetch(0, width, begin, (done + x + count) / rows - begin);
      };
      if (task_.parts[k].filtered) sum_row<kTurns>(to[k], taps_.row, width, sums(k, line), fetch);
    }
  }

  /// Copies the bytes of all parts to their lines, if one is not filtered: finish_part() overwrites
  /// those of the others. Samples of two bytes that are not filtered stay in the source.
  HWY_INLINE void copy_unfiltered(int y, int rows) const {
    if (sizeof(Stored) != 1 || task_.all_filtered()) return;
    for (int r = 0; r < rows; ++r) {
      std::uint8_t* to[kMaxComponents];
      for (int k = 0; k < task_.count; ++k)
        to[k] = out_line(k, r);
      load_parts(task_, area_.y + y + r, area_.x, area_.width, to);
    }
  }

  /// The column sums of part `k` from row `y` on become samples in `out`.
  HWY_INLINE void finish_part(int k, int y, int rows, std::uint8_t* const* out) const {
    sum_block<Real>(
        taps_.column, area_.width, workspace_, [&](int i) { return sums(k, y + i); },
        [&](int x, int count) HWY_ATTR {
          for (int r = 0; r < rows; ++r)
            finish_samples<Real, Stored>(task_.parts[k].task, workspace_.sums.at<Real>(r), count,
                                         out[r] + x * static_cast<int>(sizeof(Stored)));
        });
  }

  const GroupTask& task_;
  const Area area_;
  const Workspace& workspace_;
  const FactorTaps& taps_;
  int ring_;
  int top_;  ///< Picture row of the first line.
  RowsAhead ahead_;
  int loaded_ = 0;  ///< Lines.
};

template <class Real, class Stored>
struct AreaFilter {
  static void run(const ComponentTask&, const RowTask& task, const FactorTaps& taps,
                  const Area& area, const Workspace* workspaces) {
    // To part pixels of words and to put them together takes a tenth of their instructions at
    // gaussian:3.
    if constexpr (sizeof(Real) == sizeof(float) && sizeof(Stored) == 2) {
      const GroupTask& pixels = task.groups[0];
      if (task.count == 1 && pixels.pixels_of_two() && taps.row.folded()) {
        RowTask line;
        line.groups[line.count++] = pixels.in_turn();
        const Area cells = {2 * area.x, area.y, 2 * area.width, area.height};
        return walk_rows<AreaRows<Real, Stored, 2>>(line, cells, workspaces, taps);
      }
    }
    walk_rows<AreaRows<Real, Stored, 1>>(task, area, workspaces, taps);
  }
};

void filter_area(const RowTask& task, const FactorTaps& taps, const Area& area,
                 const Workspace* workspaces) {
  run_typed<AreaFilter>(taps.row.accumulator(), task.groups[0].parts[0].task, task, taps, area,
                        workspaces);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(filter_area);

Result<SeparableAreas> SeparableAreas::make(const FrameFormat& format, FactorTaps taps,
                                            int workers) {
  const GroupExtent extent = largest_group(format);
  const int ring = taps.column.height() + kBlockRows - 1;
  SeparableAreas made;
  WorkspaceShape shape;
  shape.cell_bytes = weight_bytes(taps.row.accumulator());
  made.strip_width_ = choose_strip_width(extent.width, 0, extent.parts * ring, shape.cell_bytes);
  shape.strip_width = std::min(made.strip_width_, round_up(extent.width, kStripStep));
  shape.source_width = shape.strip_width + taps.row.width() - 1;
  shape.source_lines = extent.parts * (2 + kBlockRows);
  shape.intermediate_lines = extent.parts * ring;
  shape.table_lines = ring;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers, extent.groups);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  made.taps_ = std::move(taps);
  return made;
}

void SeparableAreas::filter(const RowTask& task, const Area& area, int worker) const {
  HWY_DYNAMIC_DISPATCH(filter_area)(task, taps_, area, workspaces_.of(worker));
}

}  // namespace convolve
#endif
