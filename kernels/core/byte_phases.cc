// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/byte_phases.h"

#include <algorithm>

namespace convolve {
namespace {

/// Padding behind the last sample of a component, where rows end within a group of samples.
bool is_tail(const Component& component, int period) {
  return component.role == Role::kPadding && component.width == 1 && component.offset >= period;
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
    phases.tail = phases.tail || is_tail(plane.components[c], phases.period);
  if (phases.period > kMaxPeriod) return std::nullopt;
  for (int p = 0; p < phases.period; ++p) {
    int owners = 0;
    for (int c = 0; c < plane.component_count; ++c) {
      const Component& component = plane.components[c];
      if (is_tail(component, phases.period)) continue;
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
