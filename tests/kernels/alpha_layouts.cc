// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/alpha_layouts.h"

#include <algorithm>

#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr SampleType kU10Low{"u10-low", 2, false, 10, 0};

/// Four samples a pixel in the order of `roles`.
std::vector<LayoutPart> packed(const std::vector<Role>& roles) {
  std::vector<LayoutPart> parts;
  const int count = static_cast<int>(roles.size());
  for (int slot = 0; slot < count; ++slot)
    parts.push_back({roles[slot], 0, slot, count});
  return parts;
}

constexpr Role kR = Role::kColour;
constexpr Role kA = Role::kAlpha;
constexpr Role kY = Role::kLuma;
constexpr Role kC = Role::kChroma;

}  // namespace

const std::vector<AlphaLayout>& alpha_layouts() {
  static const std::vector<LayoutPart> a420 = {
      {kY, 0, 0, 1}, {kC, 1, 0, 1, true}, {kC, 2, 0, 1, true}, {kA, 3, 0, 1}};
  static const std::vector<LayoutPart> av12 = {
      {kY, 0, 0, 1}, {kC, 1, 0, 2, true}, {kC, 1, 1, 2, true}, {kA, 2, 0, 1}};
  static const std::vector<LayoutPart> gbra = {
      {kR, 0, 0, 1}, {kR, 1, 0, 1}, {kR, 2, 0, 1}, {kA, 3, 0, 1}};
  static const std::vector<AlphaLayout> layouts = {
      {"rgba", kU8, Levels::kFull, packed({kR, kR, kR, kA})},
      {"argb", kU8, Levels::kFull, packed({kA, kR, kR, kR})},
      {"rgba64", kU16, Levels::kFull, packed({kR, kR, kR, kA})},
      {"argb64-be", kU16Big, Levels::kFull, packed({kA, kR, kR, kR})},
      {"ayuv", kU8, Levels::kLimited, packed({kA, kY, kC, kC})},
      {"ayuv64", kU16, Levels::kLimited, packed({kA, kY, kC, kC})},
      {"a420", kU8, Levels::kLimited, a420},
      {"a420-10", kU10Low, Levels::kLimited, a420},
      {"av12", kU8, Levels::kLimited, av12},
      {"gbra", kU8, Levels::kFull, gbra},
      {"gbra-12", kU12Low, Levels::kFull, gbra},
      {"gbra-high-10-be", kU10HighBig, Levels::kFull, gbra},
  };
  return layouts;
}

FrameFormat make_format(const AlphaLayout& layout, int width, int height, bool filter_alpha) {
  FrameFormat format;
  for (const LayoutPart& part : layout.parts) {
    format.plane_count = std::max(format.plane_count, part.plane + 1);
    PlaneFormat& plane = format.planes[part.plane];
    plane.sample_bytes = layout.samples.bytes;
    plane.big_endian = layout.samples.big_endian;
    Component c = make_component(part.role, layout.samples, layout.levels);
    if (part.role == Role::kAlpha) c.filtered = filter_alpha;
    c.offset = part.slot * plane.sample_bytes;
    c.step = part.stride * plane.sample_bytes;
    c.width = part.half ? (width + 1) / 2 : width;
    c.height = part.half ? (height + 1) / 2 : height;
    plane.components[plane.component_count++] = c;
    plane.rows = c.height;
    plane.row_bytes = c.width * c.step;
  }
  return format;
}

const char* alpha_fill_name(AlphaFill fill) {
  static const char* const kNames[kAlphaFillCount] = {"opaque", "transparent", "random", "edge",
                                                      "sparse", "on-off",      "steps"};
  return kNames[static_cast<int>(fill)];
}

Picture make_alpha(AlphaFill fill, const Component& component) {
  Random random(static_cast<std::uint64_t>(component.width) * 7919u +
                static_cast<std::uint64_t>(component.height) * 37u +
                static_cast<std::uint64_t>(fill));
  const int most = component.max_code();
  const auto code = [&](int x, int y) {
    switch (fill) {
      case AlphaFill::kOpaque:
        return most;
      case AlphaFill::kTransparent:
        return 0;
      case AlphaFill::kRandom:
        return random.integer(0, most);
      case AlphaFill::kEdge:
        return 3 * x + y < component.width ? most : 0;
      case AlphaFill::kSparse:
        return random.integer(0, 15) > 0 ? 0 : random.integer(0, 1) * (most - 1) + 1;
      case AlphaFill::kOnOff:
        return random.integer(0, 1) * most;
      case AlphaFill::kSteps:
        return x % 3 == 0 ? most : x % 3 == 1 ? most / 3 : 0;
    }
    return 0;
  };
  Picture picture{component.width, component.height, {}};
  for (int y = 0; y < component.height; ++y)
    for (int x = 0; x < component.width; ++x)
      picture.codes.push_back(code(x, y));
  return picture;
}

}  // namespace convolve::testing
