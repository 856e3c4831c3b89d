// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/planes.h"

#include <algorithm>

#include "kernels/cuda/runtime/check.h"

namespace convolve {
namespace {

/// The same rows in the other order.
PlaneMemory upside_down(PlaneMemory plane, int rows) {
  plane.data += (rows - 1) * plane.pitch;
  plane.pitch = -plane.pitch;
  return plane;
}

}  // namespace

PlaneMemory plane_of(const FrameView& frame, int p) {
  const PlaneFormat& plane = frame.format.planes[p];
  const auto alone = static_cast<std::ptrdiff_t>(
      aligned_pitch(static_cast<std::size_t>(std::max(0, plane.row_bytes))));
  return {frame.data[p], plane.rows == 1 ? alone : frame.pitch[p], frame.memory};
}

RowSpan rows_of(const PlaneMemory& plane, const PlaneFormat& format) {
  return {plane.data, plane.pitch, format.row_bytes, format.rows};
}

std::size_t aligned_pitch(std::size_t row_bytes) {
  constexpr std::size_t kPitchAlignment = 512;
  return (row_bytes + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
}

PlaneMemory device_plane(void* base, int row_bytes) {
  return {static_cast<std::uint8_t*>(base),
          static_cast<std::ptrdiff_t>(aligned_pitch(static_cast<std::size_t>(row_bytes))),
          Memory::kCuda};
}

Status copy_on_device(PlaneMemory dst, PlaneMemory src, int row_bytes, int rows,
                      cudaStream_t stream) {
  if (row_bytes <= 0 || rows <= 0) return {};
  const std::size_t bytes = static_cast<std::size_t>(row_bytes);
  if (rows == 1) dst.pitch = src.pitch = row_bytes;  // One row's pitch means nothing.
  if (src.pitch < 0) {
    src = upside_down(src, rows);
    dst = upside_down(dst, rows);
  }
  if (dst.pitch > 0)
    return CONVOLVE_CUDA(cudaMemcpy2DAsync(dst.data, static_cast<std::size_t>(dst.pitch), src.data,
                                           static_cast<std::size_t>(src.pitch), bytes,
                                           static_cast<std::size_t>(rows), cudaMemcpyDeviceToDevice,
                                           stream));
  // One plane is top-down and the other bottom-up: no 2D copy says that.
  for (int y = 0; y < rows; ++y) {
    Status status =
        CONVOLVE_CUDA(cudaMemcpyAsync(dst.data + y * dst.pitch, src.data + y * src.pitch, bytes,
                                      cudaMemcpyDeviceToDevice, stream));
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace convolve
