// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/job/overlapped_pieces.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

#include "kernels/cuda/runtime/check.h"

namespace convolve {
namespace {

/// So many bytes take 12 us on the bus, about as long as it takes the host to enqueue a piece. The
/// best of 3 to 10 pieces for frames of NV12 (H100): 5 of 1080p, 0.97 of the time of three; 4K,
/// 0.75 of the time of one piece, is the same within noise from 5 on.
constexpr std::size_t kLeastBytes = 600000;
/// Smaller frames go in one piece.
constexpr std::size_t kLeastFrameBytes = 2000000;
constexpr int kMostPieces = 5;
/// Pieces begin at every 64th row.
constexpr int kRowsOfPiece = 64;

std::atomic<std::size_t> g_least_bytes{0};

std::size_t least_bytes() {
  const std::size_t asked = g_least_bytes;
  return asked > 0 ? asked : kLeastBytes;
}

int tallest_height(const FrameFormat& format) {
  int most = 0;
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c)
      most = std::max(most, format.planes[p].components[c].height);
  return most;
}

std::size_t bytes_of(const PlaneFormat& plane) {
  return static_cast<std::size_t>(plane.rows) *
         aligned_pitch(static_cast<std::size_t>(plane.row_bytes));
}

/// The format, of which only plane `plane` has rows.
FrameFormat only(const FrameFormat& format, int plane) {
  FrameFormat part = format;
  for (int p = 0; p < part.plane_count; ++p) {
    if (p == plane) continue;
    part.planes[p].rows = 0;
    for (int c = 0; c < part.planes[p].component_count; ++c)
      part.planes[p].components[c].height = 0;
  }
  return part;
}

}  // namespace

void OverlappedPieces::set_least_bytes(std::size_t bytes) {
  g_least_bytes = bytes;
}

/// About `pieces` of them, of about the same size.
void OverlappedPieces::cut_planes(int pieces) {
  const double size = static_cast<double>(device_frame_bytes(planned_, on_device_)) / pieces;
  for (int p = 0; p < planned_.plane_count; ++p) {
    const PlaneFormat& plane = planned_.planes[p];
    const std::size_t n = static_cast<std::size_t>(p);
    if (!on_device_[n] || plane.rows == 0) continue;
    const long wanted = std::lround(static_cast<double>(bytes_of(plane)) / size);
    counts_[n] = std::clamp(static_cast<int>(wanted), 1, std::max(1, plane.rows / kRowsOfPiece));
  }
}

int OverlappedPieces::count() const {
  return std::accumulate(counts_.begin(), counts_.end(), 0);
}

/// Piece `index` of 0 .. count() - 1 of a frame or of a field.
FramePiece OverlappedPieces::piece(const FrameFormat& format, int index) const {
  std::size_t p = 0;
  for (; index >= counts_[p]; ++p)
    index -= counts_[p];
  Cut rows;
  rows.count = counts_[p];
  return frame_piece(only(format, static_cast<int>(p)), *mask_, rows, /*wrap=*/false, index);
}

/// Bytes of plane `p` in all pieces, halos included.
std::size_t OverlappedPieces::bytes_of_pieces(const FrameFormat& format, int p) const {
  std::size_t bytes = 0;
  for (int i = 0; i < count(); ++i)
    bytes += bytes_of(piece(format, i).format.planes[p]);
  return bytes;
}

/// The rows that all pieces filter, halos included, for each row of the frame.
double OverlappedPieces::rows_filtered_a_row() const {
  std::size_t all = 0, once = 0;
  for (int p = 0; p < planned_.plane_count; ++p) {
    if (!on_device_[static_cast<std::size_t>(p)]) continue;
    all += bytes_of_pieces(planned_, p);
    once += bytes_of(planned_.planes[p]);
  }
  return once > 0 ? static_cast<double>(all) / static_cast<double>(once) : 1;
}

std::optional<OverlappedPieces> OverlappedPieces::make(const FrameFormat& format, const Mask& mask,
                                                       const DevicePlanes& on_device,
                                                       double kernels_us) {
  // Where pieces filter a quarter more rows than the frame has, and kernels take twice as long as a
  // crossing, half of what overlapping saves is lost again.
  constexpr double kMostRowsARow = 1.25, kMostCrossings = 2, kBytesAMicrosecond = 50000;
  const std::size_t bytes = device_frame_bytes(format, on_device);
  OverlappedPieces made(mask, on_device, format);
  int pieces = std::min({static_cast<int>(bytes / least_bytes()),
                         tallest_height(format) / kRowsOfPiece, kMostPieces});
  if (pieces < 2 || (g_least_bytes == 0 && bytes < kLeastFrameBytes)) return {};
  made.cut_planes(pieces);
  if (g_least_bytes == 0) {
    if (kernels_us > kMostCrossings * static_cast<double>(bytes) / kBytesAMicrosecond) return {};
    while (pieces > 1 && made.rows_filtered_a_row() > kMostRowsARow)
      made.cut_planes(--pieces);
  }
  if (made.count() < 2) return {};
  return made;
}

bool OverlappedPieces::serves(const FrameTransfer& transfer, const FrameFormat& format,
                              Border border) const {
  if (border == Border::kWrap || !transfer.goes_by_rows()) return false;
  // Fields and pictures of fewer rows begin their pieces elsewhere, which may take more memory.
  for (int p = 0; p < format.plane_count; ++p)
    if (on_device_[static_cast<std::size_t>(p)] &&
        format.planes[p].rows != planned_.planes[p].rows &&
        bytes_of_pieces(format, p) > bytes_of_pieces(planned_, p))
      return false;
  return true;
}

Status OverlappedPieces::provide(DeviceCore& core) {
  if (provided_) return {};
  if (Status status = core.make_copy_streams(); !status.ok()) return status;
  for (int p = 0; p < planned_.plane_count; ++p) {
    const std::size_t n = static_cast<std::size_t>(p);
    const std::size_t bytes = bytes_of_pieces(planned_, p);
    if (!on_device_[n] || !has_filtered(planned_.planes[p]) || bytes == 0) continue;
    Result<DeviceMemory> taken = DeviceMemory::make(bytes, core.stream());
    if (!taken.ok()) return taken.status();
    outputs_[n] = std::move(taken.value());
    // Bytes that no kernel writes are copied out with the others.
    const Status cleared =
        CONVOLVE_CUDA(cudaMemsetAsync(outputs_[n].data(), 0, bytes, core.stream()));
    if (!cleared.ok()) return cleared;
  }
  provided_ = true;
  return {};
}

/// Enqueues the upload of what the piece reads and no piece before it has read. `there`: how many
/// rows of each plane are on the device.
Status OverlappedPieces::bring(FrameSlot& slot, FrameTransfer& transfer, const FrameFormat& format,
                               const FramePlanes& in, const FramePiece& piece,
                               std::array<int, kMaxPlanes>& there) {
  Status status = slot.begin_source();
  for (int p = 0; status.ok() && p < format.plane_count; ++p) {
    const std::size_t n = static_cast<std::size_t>(p);
    const int end = piece.input[p].row + piece.input[p].rows;
    if (!on_device_[n] || end <= there[n]) continue;
    status = transfer.bring_rows(in, p, there[n], end - there[n]);
    there[n] = end;
  }
  return status.ok() ? slot.end_source() : status;
}

Status OverlappedPieces::give_back(FrameSlot& slot, FrameTransfer& transfer,
                                   const FramePiece& piece, const FramePlanes& out) {
  Status status = slot.begin_destination();
  for (int p = 0; status.ok() && p < piece.format.plane_count; ++p) {
    if (!has_filtered(piece.format.planes[p])) continue;
    PlaneMemory from = out[static_cast<std::size_t>(p)];
    from.data += (piece.output[p].row - piece.input[p].row) * from.pitch;
    status = transfer.give_back_rows(from, p, piece.output[p].row, piece.output[p].rows);
  }
  return status.ok() ? slot.end_destination() : status;
}

Status OverlappedPieces::run(FrameSlot& slot, FrameTransfer& transfer, const FrameFormat& format,
                             const FramePlanes& in, const Launch& launch) {
  std::array<int, kMaxPlanes> there{};
  std::array<std::size_t, kMaxPlanes> used{};
  const int pieces = count();
  FramePiece next = piece(format, 0);
  Status status = bring(slot, transfer, format, in, next, there);
  for (int i = 0; status.ok() && i < pieces; ++i) {
    const FramePiece current = next;
    status = slot.await_source();
    // The bus has the next piece to carry while the host enqueues the launches of this one.
    if (status.ok() && i + 1 < pieces) {
      next = piece(format, i + 1);
      status = bring(slot, transfer, format, in, next, there);
    }
    FramePlanes inputs, outputs;
    for (int p = 0; p < format.plane_count; ++p) {
      const std::size_t n = static_cast<std::size_t>(p);
      if (!on_device_[n] || format.planes[p].rows == 0) continue;
      inputs[n] = in[n];
      inputs[n].data += current.input[p].row * in[n].pitch;
      // Rows lie as in the source, where that is a frame without gaps.
      if (outputs_[n].data() == nullptr) continue;
      outputs[n] = {static_cast<std::uint8_t*>(outputs_[n].data()) + used[n], in[n].pitch,
                    Memory::kCuda};
      used[n] += bytes_of(current.format.planes[p]);
    }
    if (status.ok()) status = slot.begin_kernels();
    if (status.ok()) status = launch(current.format, inputs, outputs);
    if (status.ok()) status = slot.end_kernels();
    if (status.ok()) status = give_back(slot, transfer, current, outputs);
  }
  return status.ok() ? transfer.copy_unfiltered() : status;
}

}  // namespace convolve
