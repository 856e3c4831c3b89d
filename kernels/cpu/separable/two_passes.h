// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of rank 1 as a row pass over the whole picture and a column pass after it, for tall masks:
// areas (areas.h) would make most of their row sums several times over.
#pragma once

#include "kernels/cpu/component_task.h"
#include "kernels/cpu/mask_taps.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// The row pass: row sums of `area` to the same place of `plane`, one line a picture row. `row` is
/// a mask of height 1, kFloat32 or kFloat64. The workspace needs one source line of area.width +
/// row.width() - 1 cells.
void filter_separable_rows(const ComponentTask& task, const MaskTaps& row, const Area& area,
                           const Workspace& workspace, const Lines& plane);

/// The column pass over a plane that filter_separable_rows() has filled for the whole picture.
/// `column` is a mask of width 1. The workspace's table needs column.height() + kBlockRows - 1
/// places.
void filter_separable_columns(const ComponentTask& task, const MaskTaps& column, const Area& area,
                              const Workspace& workspace, const Lines& plane);

}  // namespace convolve
