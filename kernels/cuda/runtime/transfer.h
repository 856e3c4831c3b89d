// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame's way to the device and back: which planes a kernel reads and writes, and how those that
// lie in host memory cross the bus.
#pragma once

#include <array>

#include "kernels/core/base/view.h"
#include "kernels/core/plan/forms.h"
#include "kernels/cuda/runtime/device_core.h"
#include "kernels/cuda/runtime/planes.h"

namespace convolve {

/// Plane p is touched by a kernel.
using DevicePlanes = std::array<bool, kMaxPlanes>;

/// Checks the planes `on_device` of a frame, source or destination, before anything is enqueued for
/// it. kInvalidArgument: its device memory does not lie on samples, which would fault and take CUDA
/// with it, or what is filtered does not lie as `form` was planned for.
Status check_planes(const FrameView& frame, const DevicePlanes& on_device, const FormInfo& form);

/// Finds or makes the device planes that kernels read (`in`) and write (`out`), and enqueues the
/// upload of those that lie in host memory. Errors: kStopped, kDeviceLost, and of CUDA.
Status bring_planes(DeviceCore& core, const FrameView& src, const FrameView& dst,
                    const DevicePlanes& on_device, FramePlanes& in, FramePlanes& out);

/// Copies the planes without a filtered component from `src` to `dst`, then enqueues the download
/// of what the kernels made. Host memory is complete after DeviceCore::finish().
Status return_planes(DeviceCore& core, const FrameView& src, const FrameView& dst,
                     const FramePlanes& out);

}  // namespace convolve
