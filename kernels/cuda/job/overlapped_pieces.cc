// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/job/overlapped_pieces.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <utility>

namespace convolve {
namespace {

/// So many bytes take 20 us on the bus, about as long as it takes the host to enqueue a piece. The
/// best of 1 to 8 pieces for frames of NV12 (H100): 3 of 1080p, 0.91 of the time of one; 5 of 4K,
/// 0.75 of it.
constexpr std::size_t kLeastBytes = 1000000;
constexpr int kMostPieces = 5;

std::atomic<std::size_t> g_least_bytes{0};

std::size_t least_bytes() {
  const std::size_t asked = g_least_bytes;
  return asked > 0 ? asked : kLeastBytes;
}

/// The heights of a frame's components.
struct Heights {
  explicit Heights(const FrameFormat& format) {
    for (int p = 0; p < format.plane_count; ++p)
      for (int c = 0; c < format.planes[p].component_count; ++c) {
        least = std::min(least, format.planes[p].components[c].height);
        most = std::max(most, format.planes[p].components[c].height);
      }
  }
  int least = INT_MAX, most = 0;
};

std::size_t bytes_of(const PlaneFormat& plane) {
  return static_cast<std::size_t>(plane.rows) *
         aligned_pitch(static_cast<std::size_t>(plane.row_bytes));
}

}  // namespace

void OverlappedPieces::set_least_bytes(std::size_t bytes) {
  g_least_bytes = bytes;
}

Result<std::optional<OverlappedPieces>> OverlappedPieces::make(const FrameFormat& format,
                                                               const Mask& mask,
                                                               const DevicePlanes& on_device,
                                                               DeviceCore& core) {
  // A piece filters the halo of its neighbours, too: a quarter more rows, or less. Pieces begin at
  // every 64th row.
  constexpr int kRowsAHaloRow = 4, kRowsOfPiece = 64;
  const Heights heights(format);
  const int by_bytes = static_cast<int>(device_frame_bytes(format, on_device) / least_bytes());
  const int by_halo = heights.least / std::max(1, kRowsAHaloRow * (mask.height - 1));
  Cut cut;
  cut.count = std::min({by_bytes, by_halo, heights.most / kRowsOfPiece, kMostPieces});
  if (cut.count < 2) return std::optional<OverlappedPieces>();
  OverlappedPieces made(mask, on_device, cut);
  Status status = core.make_copy_streams();
  if (status.ok()) status = made.reserve(format, core.stream());
  if (!status.ok()) return status;
  return std::optional<OverlappedPieces>(std::move(made));
}

Status OverlappedPieces::reserve(const FrameFormat& format, cudaStream_t stream) {
  for (int p = 0; p < format.plane_count; ++p) {
    std::size_t bytes = 0;
    for (int i = 0; i < cut_.count; ++i)
      bytes += bytes_of(frame_piece(format, *mask_, cut_, /*wrap=*/false, i).format.planes[p]);
    const std::size_t n = static_cast<std::size_t>(p);
    if (!on_device_[n] || !has_filtered(format.planes[p]) || bytes == 0) continue;
    Result<DeviceMemory> taken = DeviceMemory::make(bytes, stream);
    if (!taken.ok()) return taken.status();
    outputs_[n] = std::move(taken.value());
  }
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
  const auto piece_at = [&](int i) { return frame_piece(format, *mask_, cut_, /*wrap=*/false, i); };
  FramePiece next = piece_at(0);
  Status status = bring(slot, transfer, format, in, next, there);
  for (int i = 0; status.ok() && i < cut_.count; ++i) {
    const FramePiece piece = next;
    status = slot.await_source();
    // The bus has the next piece to carry while the host enqueues the launches of this one.
    if (status.ok() && i + 1 < cut_.count) {
      next = piece_at(i + 1);
      status = bring(slot, transfer, format, in, next, there);
    }
    FramePlanes inputs, outputs;
    for (int p = 0; p < format.plane_count; ++p) {
      const std::size_t n = static_cast<std::size_t>(p);
      if (!on_device_[n] || format.planes[p].rows == 0) continue;
      inputs[n] = in[n];
      inputs[n].data += piece.input[p].row * in[n].pitch;
      // Rows lie as in the source, where that is a frame without gaps.
      if (outputs_[n].data() == nullptr) continue;
      outputs[n] = {static_cast<std::uint8_t*>(outputs_[n].data()) + used[n], in[n].pitch,
                    Memory::kCuda};
      used[n] += bytes_of(piece.format.planes[p]);
    }
    if (status.ok()) status = slot.begin_kernels();
    if (status.ok()) status = launch(piece.format, inputs, outputs);
    if (status.ok()) status = slot.end_kernels();
    if (status.ok()) status = give_back(slot, transfer, piece, outputs);
  }
  return status.ok() ? transfer.copy_unfiltered() : status;
}

}  // namespace convolve
