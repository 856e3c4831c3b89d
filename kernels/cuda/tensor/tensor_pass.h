// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs kernel `tensor` for a CUDA job: holds the fragments of the mask in device memory, and
// prepares and enqueues launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/core/plan/prepared_plan.h"
#include "kernels/cuda/runtime/device_core.h"
#include "kernels/cuda/runtime/handles.h"
#include "kernels/cuda/runtime/planes.h"
#include "kernels/cuda/tensor/tensor.h"

namespace convolve {

/// Made, used and destroyed in the context of its stream.
class TensorPass {
 public:
  /// Enqueues the upload on the stream of `core` and makes the kernels load. Errors: kOutOfMemory,
  /// kStopped, kDeviceLost, or of CUDA.
  static Result<TensorPass> make(const FrameFormat& format, const PreparedPlan& planned,
                                 DeviceCore& core);

  /// Enqueues the filter of all planes with a filtered component. `format` may be a field of the
  /// planned one; planes lie in device memory.
  /// Errors: kInvalidArgument if the planes do not lie as the form asks.
  Status launch(const FrameFormat& format, const FramePlanes& in, const FramePlanes& out,
                double scale, double bias, Border border, cudaStream_t stream);

 private:
  TensorPass(const FrameFormat& format, const PreparedPlan& planned);
  bool split() const { return split_ != nullptr; }
  bool in_octets() const;
  bool in_columns() const;
  bool in_packed() const;
  void prepare_planes(const DeviceCapabilities& device);
  std::vector<std::uint32_t> fragments_of(int plane) const;
  std::vector<std::uint32_t> make_fragments();
  Status load();
  void update_epilogues(double scale, double bias);
  WideQuantiser choose_wide_quantiser() const;
  Quantiser update_plane(int p, double scale, double bias, Quantiser most);
  TensorArguments arguments_for(const FrameFormat& format, const FramePlanes& in,
                                const FramePlanes& out) const;
  int assign_grid(TensorArguments& arguments, bool aligned16) const;

  FrameFormat format_;
  std::shared_ptr<const PreparedWeights> prepared_;
  const Mask& mask_;             ///< Of prepared_.
  const SplitDigits* split_;     ///< Of prepared_, if sums are split.
  const DigitWeights& weights_;  ///< Of prepared_, split or not.
  bool rational_;
  Form form_;
  DeviceMemory device_fragments_;
  std::size_t first_fragment_[kMaxPlanes] = {};
  int resident_blocks_ = 1;  ///< Of the form's kernel, on the device.
  BytePhases phases_[kMaxPlanes];
  TensorArguments arguments_;  ///< Planes as in the format, but for where they lie and their size.
  bool have_epilogues_ = false;
  double scale_ = 1, bias_ = 0;  ///< That the epilogues were made for.
};

}  // namespace convolve
