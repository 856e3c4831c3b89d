// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/transfer.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/page_locked.h"

namespace convolve {
namespace {

/// Rows between two looks for the stop signal: some 100 us of copying.
constexpr int kBytesAtOnce = 1 << 20;

/// The most that one copy across the bus takes, some milliseconds, so that a stop waits no longer.
constexpr std::size_t kMostBytesOfCopy = std::size_t{64} << 20;

/// Planes in device memory begin on as much as rows of aligned_pitch() do.
std::size_t plane_bytes(const PlaneFormat& plane) {
  return aligned_pitch(static_cast<std::size_t>(plane.row_bytes)) *
         static_cast<std::size_t>(plane.rows);
}

/// True if all planes are wanted on the device and lie there as they do on the host: row behind row
/// and plane behind plane, on addresses that every form takes. Then a frame is one run of bytes.
bool is_dense(const FrameView& frame, const DevicePlanes& on_device) {
  constexpr int kAlignment = 16;
  std::size_t offset = 0;
  for (int p = 0; p < frame.format.plane_count; ++p) {
    const PlaneFormat& plane = frame.format.planes[p];
    if (!on_device[static_cast<std::size_t>(p)] || plane.rows == 0 ||
        frame.pitch[p] != plane.row_bytes || plane.row_bytes % kAlignment != 0 ||
        frame.data[p] != frame.data[0] + offset)
      return false;
    offset += static_cast<std::size_t>(plane.row_bytes) * static_cast<std::size_t>(plane.rows);
  }
  return true;
}

std::size_t dense_bytes(const FrameFormat& format) {
  std::size_t bytes = 0;
  for (int p = 0; p < format.plane_count; ++p)
    bytes += static_cast<std::size_t>(format.planes[p].row_bytes) *
             static_cast<std::size_t>(format.planes[p].rows);
  return bytes;
}

/// The planes of a frame at `base` in device memory.
void lay_out(const FrameFormat& format, const DevicePlanes& on_device, bool dense,
             std::uint8_t* base, FramePlanes& planes) {
  for (int p = 0; p < format.plane_count; ++p) {
    const std::size_t i = static_cast<std::size_t>(p);
    const PlaneFormat& plane = format.planes[p];
    if (!on_device[i]) continue;
    planes[i] = dense ? PlaneMemory{base, plane.row_bytes, Memory::kCuda}
                      : device_plane(base, plane.row_bytes);
    base += dense ? static_cast<std::size_t>(plane.row_bytes) * static_cast<std::size_t>(plane.rows)
                  : plane_bytes(plane);
  }
}

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

/// Crosses the bus from and to where the bytes lie.
Status copy_run(std::uint8_t* dst, const std::uint8_t* src, std::size_t bytes, cudaMemcpyKind kind,
                cudaStream_t stream) {
  for (std::size_t done = 0; done < bytes; done += kMostBytesOfCopy) {
    const std::size_t count = std::min(kMostBytesOfCopy, bytes - done);
    if (Status status = CONVOLVE_CUDA(cudaMemcpyAsync(dst + done, src + done, count, kind, stream));
        !status.ok())
      return status;
  }
  return {};
}

/// Neither a bottom-up picture nor, where there is but one row, any other pitch need be one that a
/// copy of rows takes.
bool goes_row_by_row(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes) {
  return dst.pitch < row_bytes || src.pitch < row_bytes;
}

/// Copies rows across the bus. Device rows always lie top-down; host rows may be bottom-up.
Status copy_rows(PlaneMemory dst, PlaneMemory src, int row_bytes, int rows, cudaMemcpyKind kind,
                 cudaStream_t stream) {
  const std::size_t bytes = static_cast<std::size_t>(row_bytes);
  const bool by_row = goes_row_by_row(dst, src, row_bytes);
  const int most =
      by_row ? 1
             : std::max(1, static_cast<int>(kMostBytesOfCopy / std::max<std::size_t>(bytes, 1)));
  for (int y = 0; y < rows; y += most) {
    const std::size_t count = static_cast<std::size_t>(std::min(most, rows - y));
    std::uint8_t* const to = dst.data + y * dst.pitch;
    const std::uint8_t* const from = src.data + y * src.pitch;
    Status status = by_row ? copy_run(to, from, bytes, kind, stream)
                           : CONVOLVE_CUDA(cudaMemcpy2DAsync(
                                 to, static_cast<std::size_t>(dst.pitch), from,
                                 static_cast<std::size_t>(src.pitch), bytes, count, kind, stream));
    if (!status.ok()) return status;
  }
  return {};
}

/// Copies one plane, or notes it where it goes through staging, which copies all planes at once.
Status copy_plane(const DeviceCore& core, FrameSlot& slot, const PlaneMemory& dst,
                  const PlaneMemory& src, int row_bytes, int rows) {
  const bool from_device = src.memory == Memory::kCuda, to_device = dst.memory == Memory::kCuda;
  if (row_bytes <= 0 || rows <= 0) return {};
  if (!from_device && !to_device) return copy_on_host(core, dst, src, row_bytes, rows);
  if (from_device && to_device)
    return copy_on_device(dst, src, row_bytes, rows, slot.streams().kernels);
  // A copy for each row takes some microseconds, of the bus and of the host: many of them take
  // longer than the host's own copy.
  constexpr int kFewRows = 32;
  const bool direct = rows <= kFewRows || !goes_row_by_row(dst, src, row_bytes);
  if (src.memory == Memory::kPageLocked && direct)
    return copy_rows(dst, src, row_bytes, rows, cudaMemcpyHostToDevice, slot.streams().upload);
  if (dst.memory == Memory::kPageLocked && direct)
    return copy_rows(dst, src, row_bytes, rows, cudaMemcpyDeviceToHost, slot.streams().download);
  return to_device ? slot.staging().add_upload(dst, src, row_bytes, rows)
                   : slot.staging().add_download(dst, src, row_bytes, rows);
}

PlaneMemory rows_from(PlaneMemory plane, int row) {
  plane.data += row * plane.pitch;
  return plane;
}

/// A frame as its memory is now: what was page-locked is ordinary memory once the context is gone
/// that it was registered in.
FrameView as_it_is(const FrameView& frame, bool dense) {
  FrameView view = frame;
  // A frame without gaps lies in one block.
  const int planes = dense ? 1 : view.format.plane_count;
  for (int p = 0; view.memory == Memory::kPageLocked && p < planes; ++p)
    if (view.format.planes[p].rows > 0 && !is_page_locked(view.data[p]))
      view.memory = Memory::kHost;
  return view;
}

/// The stream that frames in CUDA memory are made and read on, if it is known.
cudaStream_t owner_of(const FrameView& frame) {
  return frame.memory == Memory::kCuda ? static_cast<cudaStream_t>(frame.owner_stream) : nullptr;
}

}  // namespace

std::size_t device_frame_bytes(const FrameFormat& format, const DevicePlanes& on_device) {
  std::size_t bytes = 0;
  for (int p = 0; p < format.plane_count; ++p)
    if (on_device[static_cast<std::size_t>(p)]) bytes += plane_bytes(format.planes[p]);
  return bytes;
}

Status check_planes(const FrameView& frame, const DevicePlanes& on_device, const FormInfo& form) {
  // Planes of host memory are brought to memory of our own, where rows lie on 16 bytes at least.
  if (frame.memory != Memory::kCuda) return {};
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

FrameTransfer::FrameTransfer(const DeviceCore& core, FrameSlot& slot, const FrameView& src,
                             const FrameView& dst, const DevicePlanes& on_device)
    : core_(core),
      slot_(slot),
      on_device_(on_device),
      dense_src_(src.memory != Memory::kCuda && is_dense(src, on_device)),
      dense_dst_(dst.memory != Memory::kCuda && is_dense(dst, on_device)),
      src_(as_it_is(src, dense_src_)),
      dst_(as_it_is(dst, dense_dst_)) {}

cudaStream_t FrameTransfer::owner_that_may_wait() const {
  const bool may_wait = owner_of(src_) != nullptr && src_.owner_may_wait && dst_.owner_may_wait;
  return may_wait ? owner_of(dst_) : nullptr;
}

Status FrameTransfer::await_owners() {
  const cudaStream_t src = owner_of(src_), dst = owner_of(dst_);
  Status status;
  if (src != nullptr) status = slot_.await_owner(src);
  if (status.ok() && dst != nullptr && dst != src) status = slot_.await_owner(dst);
  if (owner_that_may_wait() != nullptr) slot_.hand_over_to(src, dst);
  return status;
}

Status FrameTransfer::place(FramePlanes& in, FramePlanes& out) {
  if (src_.memory == Memory::kCuda || dst_.memory == Memory::kCuda) slot_.owe_wait();
  const FrameFormat& format = src_.format;
  for (int p = 0; p < format.plane_count; ++p) {
    in[static_cast<std::size_t>(p)] = plane_of(src_, p);
    out[static_cast<std::size_t>(p)] = plane_of(dst_, p);
  }
  if (dst_.memory != Memory::kCuda)
    lay_out(format, on_device_, dense_dst_, slot_.destination(), out);
  if (src_.memory == Memory::kCuda) return {};
  Result<std::uint8_t*> source = slot_.take_source(device_frame_bytes(format, on_device_));
  if (!source.ok()) return source.status();
  source_ = source.value();
  lay_out(format, on_device_, dense_src_, source_, in);
  return {};
}

Status FrameTransfer::bring(const FramePlanes& in) {
  if (src_.memory == Memory::kCuda) return {};
  Status status = slot_.begin_source();
  if (status.ok()) status = upload(in);
  if (status.ok()) status = slot_.end_source();
  return status.ok() ? slot_.await_source() : status;
}

Status FrameTransfer::upload(const FramePlanes& in) {
  if (dense_src_ && src_.memory == Memory::kPageLocked)
    return copy_run(source_, src_.data[0], dense_bytes(src_.format), cudaMemcpyHostToDevice,
                    slot_.streams().upload);
  for (int p = 0; p < src_.format.plane_count; ++p) {
    const PlaneFormat& plane = src_.format.planes[p];
    const std::size_t i = static_cast<std::size_t>(p);
    if (!on_device_[i]) continue;
    if (Status status =
            copy_plane(core_, slot_, in[i], plane_of(src_, p), plane.row_bytes, plane.rows);
        !status.ok())
      return status;
  }
  return slot_.staging().upload();
}

Status FrameTransfer::copy_back(bool filtered, const FramePlanes& from) {
  for (int p = 0; p < src_.format.plane_count; ++p) {
    const PlaneFormat& plane = src_.format.planes[p];
    if (has_filtered(plane) != filtered) continue;
    if (Status status = copy_plane(core_, slot_, plane_of(dst_, p),
                                   from[static_cast<std::size_t>(p)], plane.row_bytes, plane.rows);
        !status.ok())
      return status;
  }
  return {};
}

bool FrameTransfer::all_filtered() const {
  const PlaneFormat* planes = src_.format.planes;
  return std::all_of(planes, planes + src_.format.plane_count, has_filtered);
}

Status FrameTransfer::copy_unfiltered() {
  FramePlanes untouched;
  for (int p = 0; p < src_.format.plane_count; ++p)
    untouched[static_cast<std::size_t>(p)] = plane_of(src_, p);
  Status status = copy_back(false, untouched);
  return status.ok() ? slot_.staging().upload() : status;
}

Status FrameTransfer::give_back(const FramePlanes& out) {
  // Host to host first: that is work for the CPU while the kernels run.
  Status status = copy_unfiltered();
  if (!status.ok()) return status;
  if (dst_.memory == Memory::kCuda) return {};
  status = slot_.begin_destination();
  if (status.ok()) status = download(out);
  return status.ok() ? slot_.end_destination() : status;
}

Status FrameTransfer::download(const FramePlanes& out) {
  if (dense_dst_ && all_filtered() && dst_.memory == Memory::kPageLocked)
    return copy_run(dst_.data[0], slot_.destination(), dense_bytes(dst_.format),
                    cudaMemcpyDeviceToHost, slot_.streams().download);
  Status status = copy_back(true, out);
  return status.ok() ? slot_.staging().download() : status;
}

bool FrameTransfer::goes_by_rows() const {
  for (const FrameView* frame : {&src_, &dst_}) {
    if (frame->memory != Memory::kPageLocked) return false;
    for (int p = 0; p < frame->format.plane_count; ++p)
      if (frame->pitch[p] < frame->format.planes[p].row_bytes) return false;
  }
  return true;
}

Status FrameTransfer::bring_rows(const FramePlanes& in, int p, int row, int rows) {
  return copy_plane(core_, slot_, rows_from(in[static_cast<std::size_t>(p)], row),
                    rows_from(plane_of(src_, p), row), src_.format.planes[p].row_bytes, rows);
}

Status FrameTransfer::give_back_rows(const PlaneMemory& from, int p, int row, int rows) {
  return copy_plane(core_, slot_, rows_from(plane_of(dst_, p), row), from,
                    dst_.format.planes[p].row_bytes, rows);
}

}  // namespace convolve
