// SPDX-License-Identifier: LGPL-2.1-or-later
// What the stages of separable_spline.cc work on, and into which units they are split.
#pragma once

#include <algorithm>

#include "kernels/core/weights/spline_mask.h"
#include "kernels/cpu/rows/row_task.h"
#include "kernels/cpu/spline/separable_spline.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// The mask, planes of coefficients and scratch memory of a job, and the components that are
/// filtered. The stages are compiled once for each instruction set, as functions outside of the
/// job's class; this is how they reach its members.
struct SplineKernel {
  const SplineTaps &column, &row, &cross;
  const GroupTask& task;
  const Workspace* workspaces;  ///< One for each part.
  const SplinePlanes* planes;   ///< Of each part that is filtered.
  int filtered = 0;             ///< How many parts are;
  int part[kMaxComponents];     ///< their indices.

  SplineKernel(const SeparableSpline& job, const GroupTask& of, int worker)
      : column(job.column_),
        row(job.row_),
        cross(job.cross_),
        task(of),
        workspaces(job.workspaces_.of(worker)),
        planes(job.planes_) {
    for (int k = 0; k < task.count; ++k)
      if (task.parts[k].filtered) part[filtered++] = k;
  }

  int width() const { return task.parts[0].task.width; }
  int height() const { return task.parts[0].task.height; }
  Border border() const { return task.parts[0].task.border; }
  bool stopped() const { return task.parts[0].task.stopped(); }
  const ComponentTask& component(int of_filtered) const {
    return task.parts[part[of_filtered]].task;
  }
  const Workspace& workspace(int of_filtered) const { return workspaces[part[of_filtered]]; }
};

/// Rows of the picture in a unit of the end taps.
inline constexpr int kEndRows = 64;
static_assert(kEndRows % kBlockRows == 0);

/// Columns in a unit of the synthesis: whole vectors of codes and whole intervals between knots.
inline constexpr int kSplineStrip = kStripStep;
static_assert(kSplineStrip % kMostSpacing == 0 && kSplineStrip % 64 == 0);

/// The cells, ghost cells included, from which a line of `width` pixels is filtered.
struct LineSpan {
  int from, end;
};
inline LineSpan line_span(const SplineTaps& row, int width) {
  const int first = row.first_pixel();
  return {std::min(first, row.end_pixel(0)),
          std::max(first + row.analysis_span(width), width + row.end_pixel(1) + row.end_length())};
}

/// Columns of the unit that begins at column `x`, of `width`.
inline int strip_columns(int width, int x) {
  return std::min(kSplineStrip, width - x);
}
}  // namespace convolve
