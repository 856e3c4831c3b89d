// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/transfer.h"

#include <algorithm>
#include <cstring>

namespace convolve {
namespace {

/// Rows between two looks for the stop signal: some 100 us of copying.
constexpr int kBytesAtOnce = 1 << 20;

Status copy_on_host(const DeviceCore& core, const PlaneMemory& dst, const PlaneMemory& src,
                    int row_bytes, int rows) {
  const int most = std::max(1, kBytesAtOnce / std::max(1, row_bytes));
  for (int y = 0; y < rows; ++y) {
    if (y % most == 0 && core.stopped()) return stopped();
    std::memcpy(dst.data + y * dst.pitch, src.data + y * src.pitch,
                static_cast<std::size_t>(row_bytes));
  }
  return {};
}

Status copy_plane(DeviceCore& core, const PlaneMemory& dst, const PlaneMemory& src, int row_bytes,
                  int rows) {
  const bool from_host = src.memory == Memory::kHost, to_host = dst.memory == Memory::kHost;
  if (row_bytes <= 0 || rows <= 0) return {};
  if (from_host && to_host) return copy_on_host(core, dst, src, row_bytes, rows);
  if (!from_host && !to_host) return copy_on_device(dst, src, row_bytes, rows, core.stream());
  return from_host ? core.staging().upload(dst, src, row_bytes, rows)
                   : core.staging().download(dst, src, row_bytes, rows);
}

}  // namespace

Status bring_planes(DeviceCore& core, const FrameView& src, const FrameView& dst,
                    const DevicePlanes& on_device, FramePlanes& in, FramePlanes& out) {
  if (src.memory == Memory::kCuda || dst.memory == Memory::kCuda) core.owe_wait();
  for (int p = 0; p < src.format.plane_count; ++p) {
    const PlaneFormat& plane = src.format.planes[p];
    const std::size_t i = static_cast<std::size_t>(p);
    if (!on_device[i] || plane.rows == 0) continue;
    in[i] = plane_of(src, p);
    out[i] = plane_of(dst, p);
    if (src.memory == Memory::kHost) {
      in[i] = device_plane(core.src_plane(p), plane.row_bytes);
      if (Status status = copy_plane(core, in[i], plane_of(src, p), plane.row_bytes, plane.rows);
          !status.ok())
        return status;
    }
    if (dst.memory == Memory::kHost) out[i] = device_plane(core.dst_plane(p), plane.row_bytes);
    Status status = check_alignment(in[i], plane.sample_bytes);
    if (status.ok()) status = check_alignment(out[i], plane.sample_bytes);
    if (!status.ok()) return status;
  }
  return {};
}

Status return_planes(DeviceCore& core, const FrameView& src, const FrameView& dst,
                     const FramePlanes& out) {
  const auto each_plane = [&](bool filtered, const auto& source) -> Status {
    for (int p = 0; p < src.format.plane_count; ++p) {
      const PlaneFormat& plane = src.format.planes[p];
      if (has_filtered(plane) != filtered) continue;
      Status status = copy_plane(core, plane_of(dst, p), source(p), plane.row_bytes, plane.rows);
      if (!status.ok()) return status;
    }
    return {};
  };
  // Host to host first: that is work for the CPU while the kernels run.
  Status status = each_plane(false, [&](int p) { return plane_of(src, p); });
  if (!status.ok() || dst.memory != Memory::kHost) return status;
  return each_plane(true, [&](int p) { return out[static_cast<std::size_t>(p)]; });
}

}  // namespace convolve
