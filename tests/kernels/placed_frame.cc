// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/placed_frame.h"

#include <algorithm>
#include <cstring>

#include "kernels/core/base/round.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr std::uint8_t kPoison = 0xA5;
/// Before and behind each plane: more than any kernel's widest load.
constexpr int kGuardBytes = 512;

/// Bytes that a plane takes with the guards on both sides.
std::size_t plane_bytes(const PlaneFormat& plane) {
  const int bytes = plane.rows * (plane.row_bytes + kMostPadding) + kOffsets + 2 * kGuardBytes;
  return static_cast<std::size_t>(round_up(bytes, kGuardBytes));
}

}  // namespace

std::size_t placed_bytes(const FrameFormat& format) {
  std::size_t bytes = 0;
  for (int p = 0; p < format.plane_count; ++p)
    bytes += plane_bytes(format.planes[p]);
  return bytes;
}

PlacedFrame::PlacedFrame(const FrameFormat& format, const Placement& placement, DeviceBytes& bytes)
    : bytes_(bytes), image_(placed_bytes(format), kPoison) {
  view_.format = image_view_.format = format;
  view_.memory = bytes.memory();
  std::size_t base = 0;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    std::ptrdiff_t first = static_cast<std::ptrdiff_t>(base) + kGuardBytes + placement.offset[p];
    std::ptrdiff_t pitch = placement.pitch[p];
    if (placement.bottom_up) {
      first += (plane.rows - 1) * pitch;
      pitch = -pitch;
    }
    view_.data[p] = bytes.data() + first;
    image_view_.data[p] = image_.data() + first;
    view_.pitch[p] = image_view_.pitch[p] = pitch;
    base += plane_bytes(plane);
  }
}

bool PlacedFrame::write(const FrameView& frame, std::uint64_t seed) {
  // What lies between rows must not matter: it is never the same.
  Random random(seed);
  const std::uint64_t noise = random.bits();
  for (std::size_t k = 0; k < image_.size(); ++k)
    image_[k] = static_cast<std::uint8_t>(noise >> 8 * (k % 7));
  for (int p = 0; p < frame.format.plane_count; ++p)
    for (int y = 0; y < frame.format.planes[p].rows; ++y)
      std::memcpy(image_view_.data[p] + y * image_view_.pitch[p],
                  frame.data[p] + y * frame.pitch[p],
                  static_cast<std::size_t>(frame.format.planes[p].row_bytes));
  return bytes_.write(image_);
}

bool PlacedFrame::poison() {
  std::fill(image_.begin(), image_.end(), kPoison);
  return bytes_.write(image_);
}

std::string PlacedFrame::find_fault_in(const FrameView& truth, const Tolerance& tolerance) {
  if (!bytes_.read(image_)) return "its memory cannot be read";
  std::string fault = find_fault(image_view_, truth, tolerance);
  if (!fault.empty()) return fault;
  for (int p = 0; p < truth.format.plane_count; ++p)
    for (int y = 0; y < truth.format.planes[p].rows; ++y)
      std::memset(image_view_.data[p] + y * image_view_.pitch[p], kPoison,
                  static_cast<std::size_t>(truth.format.planes[p].row_bytes));
  const auto touched =
      std::find_if(image_.begin(), image_.end(), [](std::uint8_t byte) { return byte != kPoison; });
  return touched == image_.end() ? std::string() : "wrote outside its rows";
}

}  // namespace convolve::testing
