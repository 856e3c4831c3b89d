// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/byte_phases.h"

#include <algorithm>

namespace convolve {
namespace {

/// True for padding at the end of a row that stands where another component's next sample would be:
/// the second luma of a row of YUY2 whose width is odd.
bool is_tail(const PlaneFormat& plane, const Component& padding) {
  if (padding.role != Role::kPadding) return false;
  return std::any_of(plane.components, plane.components + plane.component_count,
                     [&padding](const Component& other) {
                       return other.role != Role::kPadding && padding.offset >= other.offset &&
                              (padding.offset - other.offset) % other.step == 0;
                     });
}

}  // namespace

std::optional<BytePhases> byte_phases(const PlaneFormat& plane) {
  if (plane.sample_bytes != 1) return std::nullopt;
  BytePhases phases;
  for (int c = 0; c < plane.component_count; ++c) {
    const Component& component = plane.components[c];
    if (component.depth != 8 || component.shift != 0) return std::nullopt;
    if (component.role != Role::kPadding) phases.period = std::max(phases.period, component.step);
  }
  for (int c = 0; c < plane.component_count; ++c)
    phases.tail = phases.tail || is_tail(plane, plane.components[c]);
  if (phases.period > kMaxPeriod) return std::nullopt;
  for (int p = 0; p < phases.period; ++p) {
    int owners = 0;
    for (int c = 0; c < plane.component_count; ++c) {
      const Component& component = plane.components[c];
      if (is_tail(plane, component)) continue;
      if (component.offset >= phases.period || phases.period % component.step != 0)
        return std::nullopt;
      if ((p - component.offset) % component.step != 0) continue;
      phases.component[p] = c;
      ++owners;
    }
    if (owners != 1) return std::nullopt;
  }
  return phases;
}

}  // namespace convolve
