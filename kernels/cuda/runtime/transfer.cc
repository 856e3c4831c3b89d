// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/transfer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

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

Status check_planes(const FrameView& frame, const DevicePlanes& on_device, const FormInfo& form) {
  // Planes of host memory are brought to memory of our own, whose rows lie on 512 bytes.
  if (frame.memory == Memory::kHost) return {};
  for (int p = 0; p < frame.format.plane_count; ++p) {
    const PlaneFormat& plane = frame.format.planes[p];
    if (!on_device[static_cast<std::size_t>(p)] || plane.rows == 0) continue;
    const auto lie_on = [&](int alignment) {
      return rows_lie_on(reinterpret_cast<std::uintptr_t>(frame.data[p]), frame.pitch[p],
                         plane.rows, alignment);
    };
    if (!lie_on(plane.sample_bytes))
      return invalid_argument("CUDA memory of two-byte samples must start rows on even addresses");
    if (has_filtered(plane) && !lie_on(form.alignment))
      return invalid_argument(std::string("form ") + form.name +
                              " was planned for planes that lie on " +
                              std::to_string(form.alignment) + " bytes, and these do not");
  }
  return {};
}

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
