// SPDX-License-Identifier: LGPL-2.1-or-later
// Components that are not filtered.
#pragma once

#include "kernels/cpu/component_task.h"

namespace convolve {

/// Copies `area` of `task` bit for bit, and nothing between its samples.
void copy_area(const ComponentTask& task, const Area& area);

}  // namespace convolve
