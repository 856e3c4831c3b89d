// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks with fewer, smaller and rounder weights.
#include <algorithm>
#include <cmath>

#include "kernels/convolver.h"
#include "tests/storm/shrink.h"

namespace storm {
namespace {

using convolve::MaskSource;

/// The `width` x `height` weights of `source` from (x, y) on.
MaskSource cut(const MaskSource& source, int x, int y, int width, int height) {
  MaskSource part = source;
  part.width = width;
  part.height = height;
  part.anchor_x = std::clamp(source.anchor_x - x, 0, width - 1);
  part.anchor_y = std::clamp(source.anchor_y - y, 0, height - 1);
  part.weights.clear();
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j)
      part.weights.push_back(
          source.weights[static_cast<std::size_t>((y + i) * source.width + x + j)]);
  return part;
}

template <class Change>
MaskSource changed(MaskSource source, Change&& change) {
  change(source);
  return source;
}

}  // namespace

std::vector<std::string> simpler_masks(const std::string& text) {
  std::vector<std::string> masks;
  const auto parsed = convolve::parse_mask(text);
  if (!parsed.ok() || parsed.value().weights.empty()) return masks;
  const MaskSource& source = parsed.value();
  const auto keep = [&](const MaskSource& simpler) {
    std::string mask = convolve::format_mask(simpler);
    if (mask != text) masks.push_back(std::move(mask));
  };
  if (source.height > 1) {
    keep(cut(source, 0, 0, source.width, source.height / 2));
    keep(cut(source, 0, 0, source.width, source.height - 1));
  }
  if (source.width > 1) {
    keep(cut(source, 0, 0, source.width / 2, source.height));
    keep(cut(source, 0, 0, source.width - 1, source.height));
  }
  const bool small = std::all_of(source.weights.begin(), source.weights.end(),
                                 [](double w) { return w == 0 || w == 1 || w == -1; });
  if (!small)
    keep(changed(source, [](MaskSource& mask) {
      for (double& weight : mask.weights)
        weight = weight > 0 ? 1 : weight < 0 ? -1 : 0;
    }));
  keep(changed(source, [](MaskSource& mask) {
    mask.anchor_x = mask.width / 2;
    mask.anchor_y = mask.height / 2;
  }));
  if (source.divisor && *source.divisor != 3)
    for (const double divisor : {1.0, 2.0, 3.0})
      if (divisor != *source.divisor && std::fabs(*source.divisor) > divisor)
        keep(changed(source, [divisor](MaskSource& mask) { mask.divisor = divisor; }));
  return masks;
}

}  // namespace storm
