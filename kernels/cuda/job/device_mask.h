// SPDX-License-Identifier: LGPL-2.1-or-later
// The mask of a job on the device, encoded as the kernel of its plan reads it.
#pragma once

#include "kernels/core/plan/prepared_plan.h"
#include "kernels/cuda/device/variant.h"
#include "kernels/cuda/runtime/device_core.h"
#include "kernels/cuda/runtime/handles.h"
#include "kernels/cuda/runtime/mask_bank.h"

namespace convolve {

/// A slot of the constant bank, or global memory where the bank has no room or the kernel none.
/// Made, used and destroyed in the context of its stream.
class DeviceMask {
 public:
  /// Owns nothing: for kernels whose one weight is part of the epilogue.
  DeviceMask() = default;

  /// Encodes the mask of `planned`, takes a place for it and enqueues its upload on the stream of
  /// `core`. Fills in what `arguments` say of storage, place and encoding. Errors: kUnsupported if
  /// the plan requires constant memory and the bank is full; kOutOfMemory, kStopped, kDeviceLost,
  /// or of CUDA.
  static Result<DeviceMask> make(const PreparedPlan& planned, const Variant& variant,
                                 DeviceCore& core, LaunchArguments& arguments);

 private:
  MaskSlot slot_;
  DeviceMemory global_;
};

}  // namespace convolve
