// SPDX-License-Identifier: LGPL-2.1-or-later
// Planes on their way between host and device.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/core/base/recent_writes.h"
#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"

namespace convolve {

/// Where the rows of a plane lie. `pitch` in bytes; negative for pictures stored bottom-up.
struct PlaneMemory {
  std::uint8_t* data = nullptr;  ///< First byte of the first row.
  std::ptrdiff_t pitch = 0;
  Memory memory = Memory::kHost;
};

/// Where plane `p` lies. A single row is given an aligned pitch: its own means nothing, and may
/// be anything.
PlaneMemory plane_of(const FrameView& frame, int p);
RowSpan rows_of(const PlaneMemory& plane, const PlaneFormat& format);

/// The pitch of rows of `row_bytes` in device memory: they start on 512 bytes, as those of
/// cudaMallocPitch do.
std::size_t aligned_pitch(std::size_t row_bytes);

/// Device memory at `base`, whose rows lie one behind the other.
PlaneMemory device_plane(void* base, int row_bytes);

/// Copies `rows` rows of `row_bytes` within the device, in the order of `stream`.
Status copy_on_device(PlaneMemory dst, PlaneMemory src, int row_bytes, int rows,
                      cudaStream_t stream);

/// Where the planes of a frame lie.
using FramePlanes = std::array<PlaneMemory, kMaxPlanes>;

}  // namespace convolve
