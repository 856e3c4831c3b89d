// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures: every format of the pad template, sides of 1 to 8192.
#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "plugin/formats.h"
#include "tests/storm/draw.h"

namespace storm {
namespace {

constexpr int kMaxSide = 8192;

/// A side next to a multiple of what tiles and vectors are wide.
int near_multiple(Random& random) {
  const int tile = 16 << random.integer(0, 3);
  return std::max(1, tile * random.integer(1, 12) + random.integer(-3, 3));
}

int draw_side(Random& random) {
  return random.chance(25) ? near_multiple(random) : random.log_uniform(kMaxSide);
}

}  // namespace

Words draw_picture(Random& random, std::int64_t max_pixels) {
  Words words;
  const auto row = static_cast<std::size_t>(
      random.integer(0, static_cast<int>(std::size(cudaconvolve::kFormats)) - 1));
  words.add("format", gst_video_format_to_string(cudaconvolve::kFormats[row].format));
  Extent extent;
  do {
    extent = {draw_side(random), draw_side(random)};
  } while (extent.pixels() > max_pixels);
  words.add("size", std::to_string(extent.width) + "x" + std::to_string(extent.height));
  const int mode = random.integer(1, 100);
  if (mode <= 30)
    words.add("mode", mode <= 15 ? "interleaved" : mode <= 25 ? "mixed" : "alternate");
  else
    words.add("mode", "progressive");
  if (random.chance(20))
    words.add("colorimetry", random.pick<std::string>({"1:4:0:0", "2:4:0:0", "bt601", "bt709",
                                                       "bt2020", "sRGB", "1:3:5:1"}));
  return words;
}

Extent extent_of(const Words& picture) {
  const std::string size = picture.get("size", "1x1");
  return {std::atoi(size.c_str()), std::atoi(size.c_str() + size.find('x') + 1)};
}

std::int64_t draw_work(Random& random) {
  const int kind = random.integer(1, 1000);
  return kind <= 5 ? 1'000'000'000 : kind <= 80 ? 300'000'000 : 40'000'000;
}

}  // namespace storm
