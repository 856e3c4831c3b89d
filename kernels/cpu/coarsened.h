// SPDX-License-Identifier: LGPL-2.1-or-later
// The vectorised kernel: several outputs in registers (ECE408, lecture 9), for any mask.
#pragma once

#include "kernels/cpu/component_task.h"
#include "kernels/cpu/mask_taps.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Filters `area` of `task`. Accumulators kFloat32 and kFloat64. The workspace needs
/// taps.height() + kBlockRows - 1 source lines of area.width + taps.width() - 1 cells, and as many
/// places in its table.
void filter_coarsened(const ComponentTask& task, const MaskTaps& taps, const Area& area,
                      const Workspace& workspace);

}  // namespace convolve
