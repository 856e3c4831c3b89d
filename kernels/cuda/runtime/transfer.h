// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame's way to the device and back: which planes a kernel reads and writes, and how those that
// lie in host memory cross the bus.
#pragma once

#include <array>

#include "kernels/core/base/view.h"
#include "kernels/cuda/runtime/device_core.h"
#include "kernels/cuda/runtime/planes.h"

namespace convolve {

/// Plane p is touched by a kernel.
using DevicePlanes = std::array<bool, kMaxPlanes>;

/// Finds or makes the device planes that kernels read (`in`) and write (`out`), and enqueues the
/// upload of those that lie in host memory. Errors: kStopped, kDeviceLost, of CUDA, and
/// kInvalidArgument for device memory that does not lie on samples.
Status bring_planes(DeviceCore& core, const FrameView& src, const FrameView& dst,
                    const DevicePlanes& on_device, FramePlanes& in, FramePlanes& out);

/// Copies the planes without a filtered component from `src` to `dst`, then enqueues the download
/// of what the kernels made. Host memory is complete after DeviceCore::finish().
Status return_planes(DeviceCore& core, const FrameView& src, const FrameView& dst,
                     const FramePlanes& out);

}  // namespace convolve
