// SPDX-License-Identifier: LGPL-2.1-or-later
// The part of a CUDA job that weights colour by alpha: its masks in device memory, and its
// launches.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/core/plan/prepared_plan.h"
#include "kernels/cuda/alpha/alpha_weighted.h"
#include "kernels/cuda/runtime/device_core.h"
#include "kernels/cuda/runtime/handles.h"
#include "kernels/cuda/runtime/planes.h"

namespace convolve {

/// Made, used and destroyed in the context of its stream.
class WeightedPass {
 public:
  /// Enqueues the uploads on the stream of `core` and makes the kernels load. Errors: kOutOfMemory,
  /// kStopped, kDeviceLost, or of CUDA.
  static Result<WeightedPass> make(const FrameFormat& format, const PreparedPlan& planned,
                                   DeviceCore& core);

  int alpha_plane() const { return alpha_location_.plane; }

  /// Enqueues the filter of one weighted group. `colour`: filled in but for its epilogues; `alpha`:
  /// its plane in device memory. The format may differ from that of make() only in the size of a
  /// field.
  Status launch(const ComponentGroup& group, const GroupArguments& colour, const PlaneMemory& alpha,
                double scale, double bias, cudaStream_t stream) const;

 private:
  static Status upload(const std::vector<std::byte>& weights, DeviceMemory& memory,
                       DeviceCore& core);
  Status reserve_intermediate(cudaStream_t stream);
  Status load_kernels() const;

  FrameFormat format_;
  std::shared_ptr<const PreparedWeights> weights_;
  WeightedSums sums_;
  AlphaLocation alpha_location_;
  DeviceMemory device_weights_, device_exact_, intermediate_;
  WeightedArguments arguments_;  ///< What all launches share.
};

}  // namespace convolve
