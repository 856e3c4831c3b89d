// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame of the engine anywhere in host or device memory, with guards around its rows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/core/base/view.h"
#include "kernels/core/plan/backend.h"
#include "tests/storm/device_block.h"
#include "tests/storm/picture.h"

namespace storm {

/// Where the planes of a frame lie, as one number: the bytes from an aligned address to the first
/// row in its lowest 6 bits, the bytes beyond the rows in the next 9, and above them 1 for frames
/// that stand upside down. The second plane and those after it lie at other addresses.
inline constexpr int kPlaceLimit = 1 << 16;

class Surface {
 public:
  /// In memory of that kind, of `device` where it is not ordinary memory of the host. Where there
  /// is none of the kind, as on the CPU, in ordinary memory. `device` may be null for that.
  Surface(const convolve::FrameFormat& format, int place, convolve::Memory memory,
          convolve::Device* device);
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;

  /// Where the engine finds it; false if there is no memory for it.
  bool good() const { return good_; }
  const convolve::FrameView& view() const { return view_; }
  /// The same frame in ordinary memory, which is a copy if the frame is elsewhere.
  const convolve::FrameView& host() const { return host_; }

  /// Fills the rows with those of `frame`, of the same format in host memory, or all with poison.
  bool write(const convolve::FrameView& frame);
  bool poison();

  /// Brings host() up to date.
  bool read();

  /// True if no byte outside the rows has changed since read() found them poisoned.
  bool guards_intact() const;

 private:
  bool upload();
  void lock(convolve::Device& device);

  convolve::FrameView view_;
  convolve::FrameView host_;
  std::vector<std::uint8_t> bytes_[convolve::kMaxPlanes];
  std::size_t first_row_[convolve::kMaxPlanes] = {};  ///< Of bytes_, in the order of addresses.
  std::size_t pitch_[convolve::kMaxPlanes] = {};
  std::unique_ptr<DeviceBlock> blocks_[convolve::kMaxPlanes];
  std::shared_ptr<std::uint8_t> locked_[convolve::kMaxPlanes];
  bool good_ = true;
};

}  // namespace storm
