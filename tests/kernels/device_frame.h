// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in memory of a CUDA device, for tests that use the CUDA runtime themselves.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/base/view.h"

namespace convolve::testing {

/// A frame in device memory, without planes if that is out.
class DeviceFrame {
 public:
  explicit DeviceFrame(const FrameFormat& format) {
    view_.format = format;
    view_.memory = Memory::kCuda;
    for (int p = 0; p < format.plane_count; ++p) {
      void* data = nullptr;
      std::size_t pitch = 0;
      if (cudaMallocPitch(&data, &pitch, static_cast<std::size_t>(format.planes[p].row_bytes),
                          static_cast<std::size_t>(format.planes[p].rows)) != cudaSuccess)
        return;
      view_.data[p] = static_cast<std::uint8_t*>(data);
      view_.pitch[p] = static_cast<std::ptrdiff_t>(pitch);
    }
  }
  ~DeviceFrame() {
    for (std::uint8_t* plane : view_.data)
      (void)cudaFree(plane);
  }
  DeviceFrame(const DeviceFrame&) = delete;
  DeviceFrame& operator=(const DeviceFrame&) = delete;

  const FrameView& view() const { return view_; }

 private:
  FrameView view_;
};

/// Copies the planes of `from`, in whichever memory, behind all that `stream` has to do. False if
/// CUDA refuses.
inline bool enqueue_copy(const FrameView& to, const FrameView& from, cudaStream_t stream) {
  for (int p = 0; p < to.format.plane_count; ++p) {
    const PlaneFormat& plane = to.format.planes[p];
    if (cudaMemcpy2DAsync(
            to.data[p], static_cast<std::size_t>(to.pitch[p]), from.data[p],
            static_cast<std::size_t>(from.pitch[p]), static_cast<std::size_t>(plane.row_bytes),
            static_cast<std::size_t>(plane.rows), cudaMemcpyDefault, stream) != cudaSuccess)
      return false;
  }
  return true;
}

}  // namespace convolve::testing
