// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks with one tap: a line is the moved line of another row, its codes mapped one by one.
#pragma once

#include "kernels/core/weights/shift.h"
#include "kernels/cpu/component_task.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Filters `area`. Uses of `workspace`: one source line, one line of samples.
void filter_shift(const ComponentTask& task, const Shift& shift, const Area& area,
                  const Workspace& workspace);

}  // namespace convolve
