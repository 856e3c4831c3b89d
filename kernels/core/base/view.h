// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames as the engine sees them: planes of interleaved components. RGBA, NV12, YUY2 and P010 are
// the same kind of thing. Everything here is trivially copyable and owns nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/core/base/sample.h"

namespace convolve {

enum class Role : std::uint8_t { kLuma, kChroma, kColour, kAlpha, kPadding };

/// One component of a plane: a grid of width x height samples.
struct Component {
  Role role = Role::kLuma;
  bool filtered = true;  ///< false: copied bit for bit.
  int offset = 0;        ///< Bytes from the start of a row to its first sample.
  int step = 1;          ///< Bytes from a sample to its right neighbour.
  int width = 0;         ///< Samples in a row.
  int height = 0;        ///< Rows.
  int depth = 8;         ///< Significant bits of a sample, 8 .. 16 (1 .. 8 in one byte).
  int shift = 0;         ///< Unused low bits below them (P010: 6).
  int black = 0;         ///< `o` of the arithmetic: the code that means no signal.
  int range = 255;       ///< `n` of the arithmetic: nominal range in codes, which `bias` scales.

  int max_code() const { return (1 << depth) - 1; }

  /// Filtered colour of any kind: what alpha_weighting.h may weight by alpha.
  bool weightable() const { return filtered && role != Role::kAlpha && role != Role::kPadding; }
};

inline constexpr int kMaxComponents = 4;
inline constexpr int kMaxPlanes = 4;

/// The layout of a plane. All its samples have one width in bytes and one byte order.
struct PlaneFormat {
  int sample_bytes = 1;     ///< 1 or 2.
  bool big_endian = false;  ///< Byte order of two-byte samples.
  int rows = 0;             ///< Rows of the plane.
  int row_bytes = 0;        ///< Bytes of a row that hold samples, at most the pitch.
  int component_count = 0;
  Component components[kMaxComponents];
};

/// How the samples of `component`, which is one of `plane`, lie in memory.
inline SampleLayout sample_layout(const PlaneFormat& plane, const Component& component) {
  constexpr bool kMachineBigEndian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
  return {component.shift, plane.sample_bytes == 2 && plane.big_endian != kMachineBigEndian,
          component.max_code()};
}

/// Planes without a filtered component never meet a kernel: they are copied whole. In the others
/// the kernels copy what they do not filter.
inline bool has_filtered(const PlaneFormat& plane) {
  for (int c = 0; c < plane.component_count; ++c)
    if (plane.components[c].filtered) return true;
  return false;
}

struct FrameFormat {
  int plane_count = 0;
  PlaneFormat planes[kMaxPlanes];
};

/// True if `holds` of every filtered component.
template <class Function>
bool all_filtered(const FrameFormat& format, Function&& holds) {
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c) {
      const Component& component = format.planes[p].components[c];
      if (component.filtered && !holds(component)) return false;
    }
  return true;
}

/// The largest code of the filtered components.
inline int largest_code(const FrameFormat& format) {
  int largest = 0;
  all_filtered(format, [&largest](const Component& component) {
    largest = std::max(largest, component.max_code());
    return true;
  });
  return largest;
}

/// kPageLocked: host memory of Device::page_locked_memory(), which the device copies from and to
/// where it lies.
enum class Memory : std::uint8_t { kHost, kPageLocked, kCuda };

/// Where the planes of one frame lie. `data` is the first byte of the first row; `pitch` is the
/// distance in bytes from row to row and may be negative.
struct FrameView {
  FrameFormat format;
  Memory memory = Memory::kHost;
  std::uint8_t* data[kMaxPlanes] = {};
  std::ptrdiff_t pitch[kMaxPlanes] = {};
  /// kCuda: the cudaStream_t on which the owner of the planes may still be at work with them. Our
  /// work comes behind that, or is done on this stream; null if nobody is.
  void* owner_stream = nullptr;
  /// The owner's stream may wait for the frame in the place of the host.
  bool owner_may_wait = true;
};

/// True if each of `rows` rows, the first at address `first` and one `pitch` bytes behind the
/// other, starts on a multiple of `alignment` bytes. The pitch of a single row means nothing.
inline bool rows_lie_on(std::uintptr_t first, std::ptrdiff_t pitch, int rows, int alignment) {
  return first % static_cast<unsigned>(alignment) == 0 && (rows <= 1 || pitch % alignment == 0);
}

/// Components of one plane that share step and size, so that one kernel launch walks them together:
/// all four of RGBA, both chroma of NV12, but luma apart from chroma in YUY2.
struct ComponentGroup {
  int plane = 0;
  int count = 0;
  int width = 0;
  int height = 0;
  int step = 0;
  int component[kMaxComponents] = {};  ///< Indices into PlaneFormat::components.
  bool any_filtered = false;
  bool weighted = false;  ///< Its components are weighted by alpha.
};

inline constexpr int kMaxGroups = kMaxPlanes * kMaxComponents;

/// Splits `format` into component groups in plane order; returns how many were written. With
/// `weighting`, weightable components are apart from the others.
inline int component_groups(const FrameFormat& format, ComponentGroup (&groups)[kMaxGroups],
                            bool weighting = false) {
  int count = 0;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    const int first = count;
    for (int c = 0; c < plane.component_count; ++c) {
      const Component& component = plane.components[c];
      const bool weighted = weighting && component.weightable();
      int g = first;
      while (g < count && (groups[g].step != component.step || groups[g].width != component.width ||
                           groups[g].height != component.height || groups[g].weighted != weighted))
        ++g;
      if (g == count) {
        groups[count] = ComponentGroup{};
        groups[count].plane = p;
        groups[count].width = component.width;
        groups[count].height = component.height;
        groups[count].step = component.step;
        groups[count].weighted = weighted;
        ++count;
      }
      groups[g].component[groups[g].count++] = c;
      groups[g].any_filtered = groups[g].any_filtered || component.filtered;
    }
  }
  return count;
}

}  // namespace convolve
