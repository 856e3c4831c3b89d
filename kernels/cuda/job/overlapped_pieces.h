// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame that is alone on its way, in pieces (core/shape/pieces.h): one piece comes across the bus
// while the one before is filtered and the one before that goes back. Frames in flight keep both
// directions of the bus busy without that; a frame that is waited for would take the time of both.
//
// A copy costs the host 4 to 5 us, a fifth of the time that a megabyte is on the bus. So a piece is
// made of rows of one plane: one copy each way, not one for each plane.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>

#include "kernels/core/plan/plan.h"
#include "kernels/core/shape/pieces.h"
#include "kernels/cuda/runtime/device_core.h"
#include "kernels/cuda/runtime/transfer.h"

namespace convolve {

/// Made, used and destroyed in the context of its device.
class OverlappedPieces {
 public:
  /// Nothing where pieces would not pay: of small frames, of masks that are high beside them, and
  /// where kernels, which take `kernels_us` microseconds, outlast the bus. Of the format's planes
  /// those `on_device` are split. `mask` must outlive the result.
  static std::optional<OverlappedPieces> make(const FrameFormat& format, const Mask& mask,
                                              const DevicePlanes& on_device, double kernels_us);

  /// True for frames that may go in pieces, of which the memory has room. With kWrap the first row
  /// depends on the last. `format` may be a field of the planned one.
  bool serves(const FrameTransfer& transfer, const FrameFormat& format, Border border) const;

  /// Takes memory and streams, unless it has. Errors: kOutOfMemory, of CUDA.
  Status provide(DeviceCore& core);

  /// Enqueues the launches that filter planes `in` of `format` into planes `out`.
  using Launch = std::function<Status(const FrameFormat& format, const FramePlanes& in,
                                      const FramePlanes& out)>;

  /// Enqueues all of a frame, from its upload to its download. `in`: where its source goes.
  /// `format` may be a field of the planned one. The slot's streams must be apart. Errors:
  /// kStopped, kDeviceLost, those of `launch`, of CUDA.
  Status run(FrameSlot& slot, FrameTransfer& transfer, const FrameFormat& format,
             const FramePlanes& in, const Launch& launch);

  /// For tests: see set_least_bytes_of_piece().
  static void set_least_bytes(std::size_t bytes);

 private:
  OverlappedPieces(const Mask& mask, const DevicePlanes& on_device, const FrameFormat& planned)
      : mask_(&mask), on_device_(on_device), planned_(planned) {}
  void cut_planes(int pieces);
  int count() const;
  FramePiece piece(const FrameFormat& format, int index) const;
  std::size_t bytes_of_pieces(const FrameFormat& format, int p) const;
  double rows_filtered_a_row() const;
  Status bring(FrameSlot& slot, FrameTransfer& transfer, const FrameFormat& format,
               const FramePlanes& in, const FramePiece& piece, std::array<int, kMaxPlanes>& there);
  Status give_back(FrameSlot& slot, FrameTransfer& transfer, const FramePiece& piece,
                   const FramePlanes& out);

  const Mask* mask_;  ///< The job's.
  DevicePlanes on_device_;
  FrameFormat planned_;
  std::array<int, kMaxPlanes> counts_{};  ///< Pieces of each plane.
  bool provided_ = false;
  /// The outputs of all pieces, halos included, one behind the other.
  std::array<DeviceMemory, kMaxPlanes> outputs_;
};

}  // namespace convolve
