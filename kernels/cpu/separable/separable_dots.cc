// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/separable/separable_dots.h"

#include <algorithm>
#include <utility>

#include "kernels/core/base/round.h"

// The target with VNNI takes compile time, which nothing else makes up for.
#define HWY_WANT_AVX3_DL
#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/separable/separable_dots.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/rows/source_rows-inl.h"
#include "kernels/cpu/rows/walk_rows-inl.h"
#include "kernels/cpu/separable/pair_codes-inl.h"
#include "kernels/cpu/separable/pair_columns-inl.h"
#include "kernels/cpu/separable/paired_pixels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Rows of an area, each loaded once to a ring of lines for each part.
class PairedRows {
 public:
  using Stored = std::uint8_t;
  static constexpr int kRows = kRowsAtOnce;

  PairedRows(const RowTask& task, int group, const Area& area, const Workspace& workspace,
             const PairTaps& taps)
      : task_(task.groups[group]),
        area_(area),
        workspace_(workspace),
        taps_(taps),
        window_(taps.window(kRows)),
        columns_(area.width + taps.width() - 1),
        top_(area.y - taps.anchor_y()),
        source_(task_, area.x - taps.anchor_x(), columns_, {kColumnStep, kColumnStep}),
        ahead_(task, group, area) {
    for (int r = 0; r < kRows; ++r)
      sums_.line[r] = workspace.intermediate.at<std::int16_t>(task_.count * kRows + r);
  }

  void filter(int y, int rows, const std::uint8_t* (*codes)[kMaxComponents]) {
    const bool direct = task_.lies_alone();
    const int needed = taps_.height() + rows - 1;
    load(y + needed);
    ahead_.next_block(top_ + loaded_, kRows, area_.y + y + rows);
    for (int k = 0; k < task_.count; ++k) {
      const GroupPart& part = task_.parts[k];
      if (part.filtered) sum_part(k, y, needed);
      for (int r = 0; r < rows; ++r) {
        std::uint8_t* const out = direct ? part.task.dst_row(area_.y + y + r) + area_.x
                                         : workspace_.intermediate.at<std::uint8_t>(k * kRows + r);
        codes[r][k] = part.filtered ? out : line(k, y + r + taps_.anchor_y()) + taps_.anchor_x();
        if (part.filtered)
          finish_row(part.task, sums_.line[r], taps_, part.digits.start, area_.width, out);
      }
    }
  }

 private:
  std::uint8_t* line(int part, int index) const {
    return workspace_.source.at<std::uint8_t>(part * window_ + index % window_);
  }

  /// Loads the rows before row `end` of the area and its halo.
  void load(int end) {
    for (; loaded_ < end; ++loaded_) {
      std::uint8_t* to[kMaxComponents];
      for (int k = 0; k < task_.count; ++k)
        to[k] = line(k, loaded_);
      source_.load(top_ + loaded_, to);
    }
  }

  /// The column sums of part `k` for rows from `y` on, which need `needed` lines.
  void sum_part(int k, int y, int needed) {
    const auto lines = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    source_.for_each_run(columns_, [&](int begin, int end, bool in_picture) HWY_ATTR {
      for (int i = 0; i < window_; ++i) {
        // Below the last row a sum may read any line: nobody wants what comes of it.
        const int row = y + std::min(i, needed - 1);
        lines[i] = line(k, row);
        if (in_picture) lines[i] = source_.in_picture(top_ + row, lines[i]);
      }
      sum_columns(
          lines, taps_, begin, end,
          [&](int x) HWY_ATTR { ahead_.fetch<FetchTo::kSecondCache>(k, columns_, x, kColumnStep); },
          sums_);
    });
  }

  const GroupTask& task_;
  const Area area_;
  const Workspace& workspace_;
  const PairTaps& taps_;
  int window_;
  int columns_;
  int top_;  ///< Picture row of the first line.
  SourceRows source_;
  RowsAhead ahead_;
  SumLines sums_;
  int loaded_ = 0;  ///< Lines.
};

void filter_pairs(const RowTask& task, const PairTaps& taps, const Area& area,
                  const Workspace* workspaces) {
#if CONVOLVE_PAIRED_PIXELS
  if (filter_paired_pixels(task, area, workspaces, taps)) return;
#endif
  walk_rows<PairedRows>(task, area, workspaces, taps);
}

int rows_at_once() {
  return kRowsAtOnce;
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(filter_pairs);
HWY_EXPORT(rows_at_once);

Result<SeparableDots> SeparableDots::make(const FrameFormat& format, const Mask& mask,
                                          const SeparableIntegers& weights, int workers) {
  const GroupExtent extent = largest_group(format);
  SeparableDots made;
  made.taps_ = PairTaps(mask, weights);
  made.rows_ = HWY_DYNAMIC_DISPATCH(rows_at_once)();
  const int halo = mask.width - 1, window = made.taps_.window(made.rows_);
  made.strip_width_ = choose_strip_width(extent.width, halo, extent.parts * window, 1);
  WorkspaceShape shape;
  shape.cell_bytes = sizeof(std::int16_t);
  shape.strip_width = std::min(made.strip_width_, round_up(extent.width, kStripStep)) + halo;
  shape.source_width = shape.strip_width;
  shape.source_lines = extent.parts * window;
  // The codes of each part and the sums of one; or the sums of pixels, a line for each part, and
  // behind them lines of which the last step of the row pass may read more sums than there are; or
  // in the workspaces of both groups two lines of sums of macropixels for each row, as luma has
  // twice the halo, and a line of codes.
  shape.intermediate_lines = (extent.parts + 1) * made.rows_;
  shape.table_lines = window;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers, extent.groups);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  return made;
}

void SeparableDots::filter(const RowTask& task, const Area& area, int worker) const {
  HWY_DYNAMIC_DISPATCH(filter_pairs)(task, taps_, area, workspaces_.of(worker));
}

}  // namespace convolve
#endif
