// SPDX-License-Identifier: LGPL-2.1-or-later
// A CUDA job that runs the kernel `tensor`: the mask's fragments in device memory, and the launch.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/core/plan/plan.h"
#include "kernels/core/shape/tensor_mapping.h"
#include "kernels/core/weights/digits.h"
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
  static Result<TensorPass> make(const FrameFormat& format, const Mask& mask, const Plan& plan,
                                 DeviceCore& core);

  /// Enqueues the filter of all planes with a filtered component. `format` may be a field of the
  /// planned one; planes lie in device memory.
  Status launch(const FrameFormat& format, const std::array<PlaneMemory, kMaxPlanes>& in,
                const std::array<PlaneMemory, kMaxPlanes>& out, double scale, double bias,
                Border border, cudaStream_t stream);

 private:
  /// Fragments for columns (tensor.cu), pairs or quads (tensor_pairs.cu), tiles (tensor_tile.cu),
  /// groups (tensor_groups.cu) or octets (tensor_octets.cu).
  enum Operands { kColumns, kPairs, kTiles, kGroups, kOctets, kOperands };

  Status prepare_mapping(const DeviceCapabilities& device);
  void append_fragments(Operands operands);
  void update_epilogues(double scale, double bias);
  WideCodes choose_wide_codes() const;
  Codes update_plane(int p, double scale, double bias, Codes most);

  FrameFormat format_;
  Mask mask_;
  bool rational_ = false;
  bool split_ = false;  ///< Plan::split()
  DigitWeights weights_;
  std::vector<std::uint32_t> fragments_;  ///< Of all planes; planes of one layout share theirs.
                                          ///< Empty once they are on the device.
  DeviceMemory device_fragments_;
  std::size_t first_fragment_[kOperands][kMaxPlanes] = {};
  TensorMapping mapping_ = TensorMapping::kStay;
  bool with_columns_ = true;  ///< There are fragments for columns,
  bool with_tiles_ = false;   ///< and for tiles.
  int processors_ = 1;        ///< Of the device.
  int resident_blocks_ = 1;   ///< Of the marching kernel, on the device,
  int resident_pairs_ = 1;    ///< and of the one for pairs.
  BytePhases phases_[kMaxPlanes];
  TensorArguments arguments_;  ///< Planes as in the format, but for where they lie and their size.
  bool have_epilogues_ = false;
  double scale_ = 1, bias_ = 0;  ///< That the epilogues were made for.
};

}  // namespace convolve
