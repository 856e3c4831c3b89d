// SPDX-License-Identifier: LGPL-2.1-or-later
// How much device memory lies between the launches of a job: row sums, coefficients of splines, or
// what box adds up for all bands before any of them begins.
#pragma once

#include <cstddef>

#include "kernels/core/base/view.h"
#include "kernels/core/plan/prepared_plan.h"
#include "kernels/core/shape/box_tile.h"
#include "kernels/cuda/device/variant.h"

namespace convolve {

struct IntermediateSize {
  std::size_t bytes = 0;  ///< 0 if nothing lies between launches.
  std::size_t pitch = 0;  ///< Bytes from row to row or component to component.
};

/// Enough for each component group, as they take turns. `arguments`: with what the encoded mask
/// says of itself; `box_tiles`: of kernel box, by the index of component_groups().
IntermediateSize intermediate_size(const FrameFormat& format, const PreparedPlan& planned,
                                   const LaunchArguments& arguments,
                                   const BoxTile (&box_tiles)[kMaxGroups]);

}  // namespace convolve
