// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/named_formats.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace convolve::testing {
namespace {

constexpr SampleType kU10Low{"u10-low", 2, false, 10, 0};

constexpr Role kR = Role::kColour;
constexpr Role kA = Role::kAlpha;
constexpr Role kX = Role::kPadding;
constexpr Role kY = Role::kLuma;
constexpr Role kC = Role::kChroma;

/// As many samples a pixel as there are `roles`, in their order.
std::vector<FormatPart> packed(const std::vector<Role>& roles) {
  std::vector<FormatPart> parts;
  const int count = static_cast<int>(roles.size());
  for (int slot = 0; slot < count; ++slot)
    parts.push_back({roles[static_cast<std::size_t>(slot)], 0, slot, count});
  return parts;
}

/// Luma in every second sample from `luma` on, and both chroma between.
std::vector<FormatPart> packed_422(int luma, int first_chroma, int second_chroma) {
  return {{kY, 0, luma, 2}, {kC, 0, first_chroma, 4, 1}, {kC, 0, second_chroma, 4, 1}};
}

/// Planes of luma and of both chroma.
std::vector<FormatPart> planar(int x_shift, int y_shift) {
  return {{kY, 0, 0, 1}, {kC, 1, 0, 1, x_shift, y_shift}, {kC, 2, 0, 1, x_shift, y_shift}};
}

/// A plane of luma and one of chroma by turns.
std::vector<FormatPart> semi_planar() {
  return {{kY, 0, 0, 1}, {kC, 1, 0, 2, 1, 1}, {kC, 1, 1, 2, 1, 1}};
}

std::vector<FormatPart> with_alpha(std::vector<FormatPart> parts) {
  parts.push_back({kA, parts.back().plane + 1, 0, 1});
  return parts;
}

bool is_filtered(Role role, Channels channels) {
  switch (role) {
    case Role::kPadding:
      return false;
    case Role::kAlpha:
      return channels == Channels::kAll || channels == Channels::kChroma;
    case Role::kChroma:
      return channels != Channels::kLuma;
    case Role::kLuma:
    case Role::kColour:
      return channels != Channels::kChroma;
  }
  return false;
}

}  // namespace

const std::vector<NamedFormat>& named_formats() {
  constexpr Levels kFull = Levels::kFull, kLimited = Levels::kLimited;
  static const std::vector<NamedFormat> formats = {
      {"GRAY8", kU8, kFull, packed({kY})},
      {"GRAY16", kU16, kFull, packed({kY})},
      {"GRAY10-limited", kU10Low, kLimited, packed({kY})},
      {"I420", kU8, kLimited, planar(1, 1)},
      {"I420-full", kU8, kFull, planar(1, 1)},
      {"Y444", kU8, kLimited, planar(0, 0)},
      {"I420_10", kU10Low, kLimited, planar(1, 1)},
      {"I420_12", kU12Low, kLimited, planar(1, 1)},
      {"Y444_16", kU16, kLimited, planar(0, 0)},
      {"A420", kU8, kLimited, with_alpha(planar(1, 1))},
      {"A420_10", kU10Low, kLimited, with_alpha(planar(1, 1))},
      {"NV12", kU8, kLimited, semi_planar()},
      {"NV12-full", kU8, kFull, semi_planar()},
      {"P010", kU10High, kLimited, semi_planar()},
      {"P010-be", kU10HighBig, kLimited, semi_planar()},
      {"AV12", kU8, kLimited, with_alpha(semi_planar())},
      {"YUY2", kU8, kLimited, packed_422(0, 1, 3)},
      {"YUY2-full", kU8, kFull, packed_422(0, 1, 3)},
      {"YVYU", kU8, kLimited, packed_422(0, 3, 1)},
      {"UYVY", kU8, kLimited, packed_422(1, 0, 2)},
      {"VYUY", kU8, kLimited, packed_422(1, 2, 0)},
      {"Y210", kU10High, kLimited, packed_422(0, 1, 3)},
      {"IYU2", kU8, kLimited, packed({kC, kY, kC})},
      {"v308", kU8, kLimited, packed({kY, kC, kC})},
      {"v308-full", kU8, kFull, packed({kY, kC, kC})},
      {"AYUV", kU8, kLimited, packed({kA, kY, kC, kC})},
      {"AYUV-full", kU8, kFull, packed({kA, kY, kC, kC})},
      {"VUYA", kU8, kLimited, packed({kC, kC, kY, kA})},
      {"AYUV64", kU16, kLimited, packed({kA, kY, kC, kC})},
      {"BGR", kU8, kFull, packed({kR, kR, kR})},
      {"RGBA", kU8, kFull, packed({kR, kR, kR, kA})},
      {"RGBA-limited", kU8, kLimited, packed({kR, kR, kR, kA})},
      {"ARGB", kU8, kFull, packed({kA, kR, kR, kR})},
      {"xRGB", kU8, kFull, packed({kX, kR, kR, kR})},
      {"RGBA64", kU16, kFull, packed({kR, kR, kR, kA})},
      {"GBRA", kU8, kFull, {{kR, 0, 0, 1}, {kR, 1, 0, 1}, {kR, 2, 0, 1}, {kA, 3, 0, 1}}},
  };
  return formats;
}

const NamedFormat& named_format(const std::string& name) {
  for (const NamedFormat& format : named_formats())
    if (name == format.name) return format;
  std::fprintf(stderr, "there is no test format %s\n", name.c_str());
  std::exit(1);
}

const char* channels_name(Channels channels) {
  static const char* const kNames[kChannelsCount] = {"all-but-alpha", "all", "luma", "chroma"};
  return kNames[static_cast<int>(channels)];
}

FrameFormat make_format(const NamedFormat& format, int width, int height, Channels channels) {
  FrameFormat made;
  for (const FormatPart& part : format.parts) {
    made.plane_count = std::max(made.plane_count, part.plane + 1);
    PlaneFormat& plane = made.planes[part.plane];
    plane.sample_bytes = format.samples.bytes;
    plane.big_endian = format.samples.big_endian;
    Component c = make_component(part.role, format.samples, format.levels);
    c.filtered = is_filtered(part.role, channels);
    c.offset = part.slot * plane.sample_bytes;
    c.step = part.stride * plane.sample_bytes;
    c.width = (width + (1 << part.x_shift) - 1) >> part.x_shift;
    c.height = (height + (1 << part.y_shift) - 1) >> part.y_shift;
    plane.components[plane.component_count++] = c;
    plane.rows = std::max(plane.rows, c.height);
    plane.row_bytes = std::max(plane.row_bytes, c.width * c.step);
  }
  return made;
}

}  // namespace convolve::testing
