// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/frame_buffer.h"

#include <algorithm>
#include <cstring>

namespace convolve::testing {
namespace {

constexpr std::uint8_t kPoison = 0xA5;
constexpr std::size_t kGuardBytes = 128;

/// Appends a component `slot` samples into each group of `stride` samples.
void add(PlaneFormat& plane, Component component, int slot, int stride, int width, int height) {
  component.offset = slot * plane.sample_bytes;
  component.step = stride * plane.sample_bytes;
  component.width = width;
  component.height = height;
  plane.components[plane.component_count++] = component;
  plane.rows = std::max(plane.rows, height);
  plane.row_bytes = std::max(plane.row_bytes, width * component.step);
}

}  // namespace

Component make_component(Role role, const SampleType& samples, Levels levels) {
  Component c;
  c.role = role;
  c.filtered = role != Role::kAlpha && role != Role::kPadding;
  c.depth = samples.depth;
  c.shift = samples.shift;
  const int unit = 1 << (samples.depth - 8);  // one 8-bit code
  const bool limited = levels == Levels::kLimited;
  c.range = c.max_code();
  if (role == Role::kChroma) {
    c.black = 128 * unit;
    if (limited) c.range = 224 * unit;
  } else if (limited && role != Role::kAlpha) {
    c.black = 16 * unit;
    c.range = 219 * unit;
  }
  return c;
}

const char* arrangement_name(Arrangement arrangement) {
  static const char* const kNames[] = {"1ch",  "2ch",  "3ch",  "4ch",  "rgba", "xrgb",
                                       "i420", "nv12", "yuy2", "uyvy", "yvyu", "uyvy-all"};
  return kNames[static_cast<int>(arrangement)];
}

FrameFormat make_format(Arrangement arrangement, const SampleType& samples, Levels levels,
                        int width, int height) {
  FrameFormat format;
  for (PlaneFormat& plane : format.planes) {
    plane.sample_bytes = samples.bytes;
    plane.big_endian = samples.big_endian;
  }
  const Component colour = make_component(Role::kColour, samples, levels);
  const Component luma = make_component(Role::kLuma, samples, levels);
  const Component chroma = make_component(Role::kChroma, samples, levels);
  const int half_width = (width + 1) / 2;
  const int half_height = (height + 1) / 2;
  format.plane_count = 1;
  PlaneFormat* planes = format.planes;
  switch (arrangement) {
    case Arrangement::kPacked1:
    case Arrangement::kPacked2:
    case Arrangement::kPacked3:
    case Arrangement::kPacked4: {
      const int channels = 1 + static_cast<int>(arrangement);
      for (int c = 0; c < channels; ++c)
        add(planes[0], colour, c, channels, width, height);
      break;
    }
    case Arrangement::kRgba:
      for (int c = 0; c < 3; ++c)
        add(planes[0], colour, c, 4, width, height);
      add(planes[0], make_component(Role::kAlpha, samples, levels), 3, 4, width, height);
      break;
    case Arrangement::kXrgb:
      add(planes[0], make_component(Role::kPadding, samples, levels), 0, 4, width, height);
      for (int c = 1; c < 4; ++c)
        add(planes[0], colour, c, 4, width, height);
      break;
    case Arrangement::kI420:
      format.plane_count = 3;
      add(planes[0], luma, 0, 1, width, height);
      add(planes[1], chroma, 0, 1, half_width, half_height);
      add(planes[2], chroma, 0, 1, half_width, half_height);
      break;
    case Arrangement::kNv12:
      format.plane_count = 2;
      add(planes[0], luma, 0, 1, width, height);
      add(planes[1], chroma, 0, 2, half_width, half_height);
      add(planes[1], chroma, 1, 2, half_width, half_height);
      break;
    case Arrangement::kYuy2:
      add(planes[0], luma, 0, 2, width, height);
      add(planes[0], chroma, 1, 4, half_width, height);
      add(planes[0], chroma, 3, 4, half_width, height);
      break;
    case Arrangement::kUyvy:
    case Arrangement::kUyvyLuma:
      add(planes[0], luma, 1, 2, width, height);
      add(planes[0], chroma, 0, 4, half_width, height);
      add(planes[0], chroma, 2, 4, half_width, height);
      for (Component& component : planes[0].components)
        component.filtered = arrangement == Arrangement::kUyvy || component.role == Role::kLuma;
      break;
    case Arrangement::kYvyuChroma:
      add(planes[0], luma, 0, 2, width, height);
      add(planes[0], chroma, 3, 4, half_width, height);
      add(planes[0], chroma, 1, 4, half_width, height);
      planes[0].components[0].filtered = false;
      break;
  }
  return format;
}

GuardedFrame::GuardedFrame(const FrameFormat& format, int residue, bool bottom_up) {
  view_.format = format;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    const std::size_t misalignment = static_cast<std::size_t>(residue) * plane.sample_bytes;
    // Two-byte samples stay on even addresses: the pitch is rounded up to whole samples.
    pitch_[p] = plane.row_bytes + kGuardBytes + misalignment;
    pitch_[p] += pitch_[p] % plane.sample_bytes;
    first_row_[p] = kGuardBytes + misalignment;
    memory_[p].resize(first_row_[p] + pitch_[p] * plane.rows + kGuardBytes);
    std::uint8_t* first = memory_[p].data() + first_row_[p];
    const std::ptrdiff_t pitch = static_cast<std::ptrdiff_t>(pitch_[p]);
    view_.data[p] = bottom_up ? first + pitch * (plane.rows - 1) : first;
    view_.pitch[p] = bottom_up ? -pitch : pitch;
  }
  poison();
}

void GuardedFrame::soil_unused_bits() {
  for (int p = 0; p < view_.format.plane_count; ++p) {
    const PlaneFormat& plane = view_.format.planes[p];
    for (int c = 0; c < plane.component_count; ++c) {
      const Component& component = plane.components[c];
      const SampleLayout layout = sample_layout(plane, component);
      const int unused = ~(layout.max_code << layout.shift) & 0xFFFF;
      if (plane.sample_bytes != 2 || unused == 0 || component.role == Role::kPadding) continue;
      for (int y = 0; y < component.height; ++y)
        for (int x = 0; x < component.width; ++x) {
          std::uint8_t* at = view_.data[p] + y * view_.pitch[p] + component.offset +
                             static_cast<std::ptrdiff_t>(x) * component.step;
          // Other bits in each sample, and never none.
          const int soil = (x * 0x2B51 + y * 0x1E37) | 0x8001;
          const std::uint16_t dirty = static_cast<std::uint16_t>(soil & unused);
          std::uint16_t stored;
          std::memcpy(&stored, at, sizeof stored);
          stored = static_cast<std::uint16_t>(stored | (layout.swap ? swap_bytes(dirty) : dirty));
          std::memcpy(at, &stored, sizeof stored);
        }
    }
  }
}

void GuardedFrame::poison() {
  for (std::vector<std::uint8_t>& plane : memory_)
    std::fill(plane.begin(), plane.end(), kPoison);
}

bool GuardedFrame::guards_intact() const {
  const auto is_poison = [](std::uint8_t byte) { return byte == kPoison; };
  for (int p = 0; p < view_.format.plane_count; ++p) {
    auto guard = memory_[p].begin();
    auto row = memory_[p].begin() + static_cast<std::ptrdiff_t>(first_row_[p]);
    for (int y = 0; y < view_.format.planes[p].rows; ++y) {
      if (!std::all_of(guard, row, is_poison)) return false;
      guard = row + view_.format.planes[p].row_bytes;
      row += static_cast<std::ptrdiff_t>(pitch_[p]);
    }
    if (!std::all_of(guard, memory_[p].end(), is_poison)) return false;
  }
  return true;
}

}  // namespace convolve::testing
