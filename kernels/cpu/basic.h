// SPDX-License-Identifier: LGPL-2.1-or-later
// One output at a time, all taps, a border test at each: PMPP figure 7.6 as a loop.
#pragma once

#include "kernels/cpu/component_task.h"
#include "kernels/cpu/mask_taps.h"

namespace convolve {

/// Filters `area` of `task`. Accumulators kFloat32, kFloat64 and kWide.
void filter_basic(const ComponentTask& task, const MaskTaps& taps, const Area& area);

}  // namespace convolve
