// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/surface.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace storm {
namespace {

constexpr std::uint8_t kPoison = 0xA5;
constexpr std::size_t kAlignment = 256;  // As device memory has it.
constexpr std::size_t kGuard = 256;

}  // namespace

Surface::Surface(const convolve::FrameFormat& format, int place, convolve::Memory memory,
                 convolve::Device* device) {
  const bool on_device = memory == convolve::Memory::kCuda && kHasDeviceBlocks;
  host_.format = format;
  const auto number = static_cast<std::size_t>(place);
  for (int p = 0; p < format.plane_count; ++p) {
    const convolve::PlaneFormat& plane = format.planes[p];
    // On the device samples of two bytes lie on even addresses; on the host they need not.
    const std::size_t step = on_device ? plane.sample_bytes : 1;
    const std::size_t lead = number % 64 * (static_cast<std::size_t>(p) + 1) % 64 / step * step;
    pitch_[p] = static_cast<std::size_t>(plane.row_bytes) + number / 64 % 512 / step * step;
    first_row_[p] = kGuard + lead;
    const auto rows = static_cast<std::size_t>(plane.rows);
    bytes_[p].resize(kAlignment + first_row_[p] + pitch_[p] * rows + kGuard);
    // The host's copy lies on the device's alignment, too, so that a place means one thing.
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_[p].data());
    const std::size_t to_aligned = (kAlignment - address % kAlignment) % kAlignment;
    if (!on_device) first_row_[p] += to_aligned;
    const bool upside_down = number / 32768 % 2 == 1;
    const auto pitch = static_cast<std::ptrdiff_t>(pitch_[p]);
    const std::ptrdiff_t top = static_cast<std::ptrdiff_t>(first_row_[p]) +
                               (upside_down && plane.rows > 0 ? pitch * (plane.rows - 1) : 0);
    host_.data[p] = bytes_[p].data() + top;
    host_.pitch[p] = upside_down ? -pitch : pitch;
  }
  view_ = host_;
  if (memory == convolve::Memory::kPageLocked) lock(*device);
  if (!on_device) return;
  view_.memory = convolve::Memory::kCuda;
  for (int p = 0; p < format.plane_count; ++p) {
    blocks_[p] = DeviceBlock::make(bytes_[p].size());
    if (blocks_[p] == nullptr) {
      good_ = false;
      return;
    }
    view_.data[p] = blocks_[p]->data() + (host_.data[p] - bytes_[p].data());
  }
}

/// Puts the frame into page-locked memory, where the device has some.
void Surface::lock(convolve::Device& device) {
  for (int p = 0; p < view_.format.plane_count; ++p) {
    auto block = device.page_locked_memory(bytes_[p].size());
    if (!block.ok()) return;
    locked_[p] = std::move(block.value());
  }
  for (int p = 0; p < view_.format.plane_count; ++p)
    view_.data[p] = locked_[p].get() + (host_.data[p] - bytes_[p].data());
  view_.memory = convolve::Memory::kPageLocked;
}

bool Surface::write(const convolve::FrameView& frame) {
  for (int p = 0; p < host_.format.plane_count; ++p)
    for (int y = 0; y < host_.format.planes[p].rows; ++y)
      std::memcpy(host_.data[p] + y * host_.pitch[p], frame.data[p] + y * frame.pitch[p],
                  static_cast<std::size_t>(host_.format.planes[p].row_bytes));
  return upload();
}

bool Surface::poison() {
  for (std::vector<std::uint8_t>& plane : bytes_)
    std::fill(plane.begin(), plane.end(), kPoison);
  return upload();
}

bool Surface::upload() {
  if (view_.memory == convolve::Memory::kPageLocked)
    for (int p = 0; p < host_.format.plane_count; ++p)
      std::copy(bytes_[p].begin(), bytes_[p].end(), locked_[p].get());
  for (int p = 0; p < host_.format.plane_count; ++p)
    if (blocks_[p] != nullptr && !blocks_[p]->upload(bytes_[p].data(), bytes_[p].size()))
      return false;
  return true;
}

bool Surface::read() {
  if (view_.memory == convolve::Memory::kPageLocked)
    for (int p = 0; p < host_.format.plane_count; ++p)
      std::copy_n(locked_[p].get(), bytes_[p].size(), bytes_[p].begin());
  for (int p = 0; p < host_.format.plane_count; ++p)
    if (blocks_[p] != nullptr && !blocks_[p]->download(bytes_[p].data(), bytes_[p].size()))
      return false;
  return true;
}

bool Surface::guards_intact() const {
  const auto is_poison = [](std::uint8_t byte) { return byte == kPoison; };
  for (int p = 0; p < host_.format.plane_count; ++p) {
    const convolve::PlaneFormat& plane = host_.format.planes[p];
    auto guard = bytes_[p].begin();
    auto row = guard + static_cast<std::ptrdiff_t>(first_row_[p]);
    for (int y = 0; y < plane.rows; ++y) {
      if (!std::all_of(guard, row, is_poison)) return false;
      guard = row + plane.row_bytes;
      row += static_cast<std::ptrdiff_t>(pitch_[p]);
    }
    if (!std::all_of(guard, bytes_[p].end(), is_poison)) return false;
  }
  return true;
}

}  // namespace storm
