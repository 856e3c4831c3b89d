// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks whose weights are all equal, by running sums: the time does not depend on the mask's size.
#pragma once

#include "kernels/core/mask/mask.h"
#include "kernels/cpu/component_task.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Where the mask lies; its weight is part of the task's epilogue (make_box_epilogue()).
struct BoxMask {
  int width = 1;
  int height = 1;
  int anchor_x = 0;
  int anchor_y = 0;
};

inline BoxMask box_mask(const Mask& mask) {
  return {mask.width, mask.height, mask.anchor_x, mask.anchor_y};
}

/// Lines of int32 that filter_box() needs among its workspace's source lines, each of area.width +
/// mask.width cells.
inline constexpr int kBoxLines = 3;

/// Filters `area`. Sums are kept modulo 2^32: those of the codes below the mask must be less than
/// that (box_sums_fit()). The workspace needs kBoxLines source lines and a line of double sums.
void filter_box(const ComponentTask& task, const BoxMask& mask, const Area& area,
                const Workspace& workspace);

}  // namespace convolve
