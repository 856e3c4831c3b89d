// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of rank 1 as a row pass and a column pass: width + height taps instead of their product.
#pragma once

#include "kernels/cpu/component_task.h"
#include "kernels/cpu/mask_taps.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Both passes over `area`, with a ring of row sums between them. `row` is a mask of height 1,
/// `column` one of width 1, both kFloat32 or both kFloat64. The workspace needs one source line of
/// area.width + row.width() - 1 cells, column.height() + kBlockRows - 1 intermediate lines, and as
/// many places in its table.
void filter_separable_fused(const ComponentTask& task, const MaskTaps& row, const MaskTaps& column,
                            const Area& area, const Workspace& workspace);

/// The row pass alone: row sums of `area` to the same place of `plane`, one line a picture row.
/// For tall masks, whose fused areas would make most row sums several times over.
void filter_separable_rows(const ComponentTask& task, const MaskTaps& row, const Area& area,
                           const Workspace& workspace, const Lines& plane);

/// The column pass over a plane that filter_separable_rows() has filled for the whole picture.
void filter_separable_columns(const ComponentTask& task, const MaskTaps& column, const Area& area,
                              const Workspace& workspace, const Lines& plane);

}  // namespace convolve
