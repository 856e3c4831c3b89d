// SPDX-License-Identifier: LGPL-2.1-or-later
// The form and tile with which the CUDA kernel box serves each component group of a frame, for the
// planner and for the job that runs it. Pure.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/plan/plan.h"
#include "kernels/core/shape/box_tile.h"

namespace convolve {

/// The size of one launch, on `group` of `format`.
BoxWork box_work(const FrameFormat& format, const ComponentGroup& group, const Mask& mask,
                 const DeviceCapabilities& device);

/// The tile of `group` in a plan of `form`, one of box's; nothing if no tile's sums fit shared
/// memory.
std::optional<BoxTile> choose_box_form(const FrameFormat& format, const ComponentGroup& group,
                                       const Mask& mask, Form form,
                                       const DeviceCapabilities& device);

/// Memory for the checkpoints that bands begin with: a row of sums for each interval.
struct BandMemory {
  std::size_t pitch = 0;  ///< Bytes from row to row.
  std::size_t rows = 0;   ///< 0 if none are needed.
};

/// Enough for each group, as they take turns; `tiles`, by the index of component_groups().
BandMemory band_memory(const FrameFormat& format, const Mask& mask, bool weighting,
                       const BoxTile (&tiles)[kMaxGroups]);

}  // namespace convolve
