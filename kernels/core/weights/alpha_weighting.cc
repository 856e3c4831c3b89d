// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/alpha_weighting.h"

namespace convolve {
namespace {

/// The least shift by which `fine` cells become at most `coarse` cells, the last one perhaps in
/// part.
int axis_shift(int coarse, int fine) {
  int shift = 0;
  while (shift < 8 && (fine + (1 << shift) - 1) >> shift > coarse)
    ++shift;
  return shift;
}

/// function(plane, component) for each component of `view` that may be weighted.
template <class Function>
void each_weighted(const FrameFormat& view, Function&& function) {
  for (int p = 0; p < view.plane_count; ++p)
    for (int c = 0; c < view.planes[p].component_count; ++c)
      if (view.planes[p].components[c].weightable()) function(p, c);
}

}  // namespace

std::optional<AlphaLocation> find_alpha(const FrameFormat& format) {
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c)
      if (format.planes[p].components[c].role == Role::kAlpha) return AlphaLocation{p, c};
  return std::nullopt;
}

bool has_weighted(const FrameFormat& format) {
  bool any = false;
  each_weighted(format, [&](int, int) { any = true; });
  return any && find_alpha(format).has_value();
}

bool alpha_fits(const FrameFormat& format) {
  const std::optional<AlphaLocation> location = find_alpha(format);
  if (!location) return false;
  bool fits = true;
  each_weighted(format, [&](int p, int) {
    fits = fits && format.planes[p].sample_bytes == format.planes[location->plane].sample_bytes;
  });
  return fits;
}

GridShift grid_shift(const Component& component, const Component& alpha) {
  return {axis_shift(component.width, alpha.width), axis_shift(component.height, alpha.height)};
}

bool alpha_covers(const FrameFormat& planned, const FrameFormat& view) {
  const std::optional<AlphaLocation> location = find_alpha(planned);
  if (!location) return true;
  const Component& planned_alpha = planned.planes[location->plane].components[location->component];
  const Component& alpha = view.planes[location->plane].components[location->component];
  bool covers = true;
  each_weighted(view, [&](int p, int c) {
    const Component& component = view.planes[p].components[c];
    if (component.width == 0 || component.height == 0) return;
    const GridShift shift = grid_shift(planned.planes[p].components[c], planned_alpha);
    covers = covers && (component.width - 1) << shift.x < alpha.width &&
             (component.height - 1) << shift.y < alpha.height;
  });
  return covers;
}

}  // namespace convolve
