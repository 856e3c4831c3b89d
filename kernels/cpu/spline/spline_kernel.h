// SPDX-License-Identifier: LGPL-2.1-or-later
// What the stages of separable_spline.cc work on, and into which units they are split.
#pragma once

#include <algorithm>

#include "kernels/core/weights/spline_mask.h"
#include "kernels/cpu/component_task.h"
#include "kernels/cpu/spline/separable_spline.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// The mask, planes of coefficients and scratch memory of a job, and the component that is
/// filtered. The stages are compiled once for each instruction set, as functions outside of the
/// job's class; this is how they reach its members.
struct SplineKernel {
  const SplineTaps &column, &row, &cross;
  int mask_width, mask_height, anchor_x, anchor_y;
  Lines analysis, cross_rows, cross_boxes;
  const ComponentTask& task;
  const Workspace& workspace;

  SplineKernel(const SeparableSpline& job, const ComponentTask& of, int worker)
      : column(job.column_),
        row(job.row_),
        cross(job.cross_),
        mask_width(job.mask_width_),
        mask_height(job.mask_height_),
        anchor_x(job.anchor_x_),
        anchor_y(job.anchor_y_),
        analysis(job.analysis_),
        cross_rows(job.cross_rows_),
        cross_boxes(job.cross_boxes_),
        task(of),
        workspace(job.workspaces_[worker]) {}
};

/// Rows of the picture in a unit of the cross term's analysis, lines of coefficients in a unit that
/// filters lines, and knots in a unit that sums boxes.
inline constexpr int kCrossRows = 64, kUnitLines = 4, kUnitKnots = 64;

/// Columns in a unit: whole vectors and whole intervals between knots.
inline constexpr int kSplineStrip = kStripStep;
static_assert(kSplineStrip % kMostSpacing == 0);

/// The cells, ghost cells included, from which a line of `width` pixels is filtered.
struct LineSpan {
  int from, end;
};
inline LineSpan line_span(const SplineTaps& row, int anchor, int mask_width, int width) {
  return {std::min(-anchor, row.first_pixel()),
          std::max(width - anchor + mask_width - 1, row.first_pixel() + row.analysis_span(width))};
}

/// Columns of the unit that begins at column `x`.
inline int strip_columns(const ComponentTask& task, int x) {
  return std::min(kSplineStrip, task.width - x);
}
}  // namespace convolve
