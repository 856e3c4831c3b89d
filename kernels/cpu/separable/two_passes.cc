// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/separable/two_passes.h"

#include <algorithm>

#include "kernels/core/base/round.h"
#include "kernels/cpu/highway_targets.h"
#include "kernels/cpu/run_typed.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/separable/two_passes.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/finish_line-inl.h"
#include "kernels/cpu/load_line-inl.h"
#include "kernels/cpu/separable/passes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

template <class Real, class Stored>
struct RowPass {
  static void run(const ComponentTask& task, const MaskTaps& row, const Area& area,
                  const Workspace& workspace, const Lines& plane) {
    Real* const line = workspace.source.at<Real>(0);
    for (int y = area.y; y < area.y + area.height && !task.stopped(); ++y) {
      load_line(task, y, area.x - row.anchor_x(), area.width + row.width() - 1, line,
                workspace.samples.at<Stored>(0));
      sum_row(line, row, area.width, plane.at<Real>(y) + area.x, [](int, int) {});
    }
  }
};

/// Columns of a block of rows that are done between two looks for a stop: with thousands of taps,
/// each in a line of its own far off in memory, a whole block takes a tenth of a second.
constexpr int kTapsBetweenLooks = 1 << 20;
inline int piece_width(const MaskTaps& column) {
  return round_up(std::max(1, kTapsBetweenLooks / column.height()), kStripStep);
}

template <class Real, class Stored>
struct ColumnPass {
  static void run(const ComponentTask& task, const MaskTaps& column, const Area& area,
                  const Workspace& workspace, const Lines& plane) {
    const int step = piece_width(column), end = area.x + area.width;
    for (int y = area.y; y < area.y + area.height; y += kBlockRows) {
      const int rows = std::min(kBlockRows, area.y + area.height - y);
      for (int x = area.x; x < end; x += step) {
        if (task.stopped()) return;
        const auto line = [&](int i) -> const Real* {
          const int index = border_index(task.border, y + i - column.anchor_y(), task.height);
          return index == kNoSignal ? workspace.zeros.at<Real>(0) : plane.at<Real>(index) + x;
        };
        sum_block<Real>(column, std::min(step, end - x), workspace, line,
                        [&](int from, int count) HWY_ATTR {
                          for (int r = 0; r < rows; ++r)
                            finish_line(task, y + r, x + from, count, workspace.sums.at<Real>(r),
                                        workspace.samples.at<Stored>(0));
                        });
      }
    }
  }
};

void rows(const ComponentTask& task, const MaskTaps& row, const Area& area,
          const Workspace& workspace, const Lines& plane) {
  run_typed<RowPass>(row.accumulator(), task, row, area, workspace, plane);
}

void columns(const ComponentTask& task, const MaskTaps& column, const Area& area,
             const Workspace& workspace, const Lines& plane) {
  run_typed<ColumnPass>(column.accumulator(), task, column, area, workspace, plane);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(rows);
HWY_EXPORT(columns);

void filter_separable_rows(const ComponentTask& task, const MaskTaps& row, const Area& area,
                           const Workspace& workspace, const Lines& plane) {
  HWY_DYNAMIC_DISPATCH(rows)(task, row, area, workspace, plane);
}

void filter_separable_columns(const ComponentTask& task, const MaskTaps& column, const Area& area,
                              const Workspace& workspace, const Lines& plane) {
  HWY_DYNAMIC_DISPATCH(columns)(task, column, area, workspace, plane);
}

}  // namespace convolve
#endif
