// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that would take too long for one launch, piece by piece (core/shape/pieces.h): so that no
// launch takes more than about 100 ms, and a filter that is to stop need not wait for the whole
// frame.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "kernels/core/plan/plan.h"
#include "kernels/core/shape/pieces.h"
#include "kernels/cuda/runtime/device_core.h"
#include "kernels/cuda/runtime/transfer.h"

namespace convolve {

/// Made, used and destroyed in the context of its device.
class Piecewise {
 public:
  /// Nothing if frames of the plan are expected to take no longer than a launch may. Of the
  /// format's planes those `on_device` are split. `mask` must outlive the result. Errors:
  /// kOutOfMemory, of CUDA.
  static Result<std::optional<Piecewise>> make(const FrameFormat& format, const Mask& mask,
                                               const Plan& plan, const DevicePlanes& on_device,
                                               DeviceCore& core);

  /// Enqueues the launches that filter planes `in` of `format` into planes `out`.
  using Launch = std::function<Status(const FrameFormat& format, const FramePlanes& in,
                                      const FramePlanes& out)>;

  /// Filters a frame, waiting now and then so that no more than two pieces are enqueued. `format`
  /// may be a field of the planned one. Errors: kStopped, kDeviceLost, those of `launch`, of CUDA.
  Status run(const FrameFormat& format, const FramePlanes& in, const FramePlanes& out,
             Border border, const Launch& launch);

 private:
  Piecewise(const Mask& mask, const DevicePlanes& on_device, DeviceCore* core)
      : mask_(&mask), on_device_(on_device), core_(core) {}
  Status reserve(const FrameFormat& format);
  Status gather(const PlaneMemory& plane, const PlaneRect& needed, const PlaneMemory& to, int rows);

  const Mask* mask_;  ///< The job's.
  DevicePlanes on_device_;
  DeviceCore* core_;
  Cut cut_, wrap_cut_;  ///< wrap_cut_: for Border::kWrap.
  /// The outputs of a piece, halo included, and with kWrap its inputs.
  std::array<DeviceMemory, kMaxPlanes> outputs_, gathered_;
  std::array<Event, 2> ended_;
};

}  // namespace convolve
