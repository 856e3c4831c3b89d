// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame's way to the device and back: which planes a kernel reads and writes, and how those that
// lie in host memory cross the bus.
#pragma once

#include <array>
#include <cstddef>

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

/// What DeviceCore::reserve_frames() needs for frames of `format` that lie in host memory.
std::size_t device_frame_bytes(const FrameFormat& format, const DevicePlanes& on_device);

/// One frame's way there and back. A frame whose rows and planes follow each other without a gap
/// lies on the device as it does on the host, and crosses the bus in one copy if it is page-locked.
class FrameTransfer {
 public:
  /// The frames must stay valid until the slot's frame is finished.
  FrameTransfer(const DeviceCore& core, FrameSlot& slot, const FrameView& src, const FrameView& dst,
                const DevicePlanes& on_device);

  /// False if both frames lie on the device.
  bool crosses_bus() const { return src_.memory != Memory::kCuda || dst_.memory != Memory::kCuda; }
  /// True if both frames lie in host memory.
  bool crosses_twice() const {
    return src_.memory != Memory::kCuda && dst_.memory != Memory::kCuda;
  }

  /// True if planes that no kernel writes go from host memory right to those of an owner: such
  /// copies wait for the owner.
  bool brings_to_owner() const {
    return src_.memory != Memory::kCuda && dst_.memory == Memory::kCuda && !all_filtered();
  }

  /// The stream of the destination's owner, if both frames lie on the device and their owners may
  /// wait for what is made of them; else null.
  cudaStream_t owner_that_may_wait() const;

  /// Lets all of the frame that reads or writes planes of owners come behind what those have
  /// enqueued. The slot's frame has begun.
  Status await_owners();

  /// Finds or makes the device planes that kernels read (`in`) and write (`out`). The slot's frame
  /// has begun.
  Status place(FramePlanes& in, FramePlanes& out);

  /// Enqueues the upload of the planes that lie in host memory; kernels wait for it. Errors:
  /// kStopped, kDeviceLost, of CUDA.
  Status bring(const FramePlanes& in);

  /// Copies the planes without a filtered component from the source to the destination, then
  /// enqueues the download of what the kernels made, or as much of it as staging has room for; the
  /// rest follows when the frame is finished. Host memory is complete only then.
  Status give_back(const FramePlanes& out);

  /// Both frames are page-locked and lie top-down, so that rows of them cross the bus by
  /// themselves.
  bool goes_by_rows() const;
  /// Enqueues the upload of rows `row` to `row` + `rows` - 1 of plane `p`.
  Status bring_rows(const FramePlanes& in, int p, int row, int rows);
  /// Enqueues the download of `rows` rows at `from` to rows `row` .. of plane `p`.
  Status give_back_rows(const PlaneMemory& from, int p, int row, int rows);
  /// The part of give_back() that is work for the host.
  Status copy_unfiltered();

 private:
  Status upload(const FramePlanes& in);
  Status download(const FramePlanes& out);
  Status copy_back(bool filtered, const FramePlanes& from);
  bool all_filtered() const;  ///< Something of each plane is.

  const DeviceCore& core_;
  FrameSlot& slot_;
  const DevicePlanes& on_device_;
  const bool dense_src_, dense_dst_;
  const FrameView src_, dst_;
  std::uint8_t* source_ = nullptr;  ///< Where the source goes.
};

}  // namespace convolve
