// SPDX-License-Identifier: LGPL-2.1-or-later
// Random cases. A case follows from seed and index alone, on every machine.
#pragma once

#include <cstdint>
#include <string>

#include "tests/storm/case.h"
#include "tests/storm/random.h"

namespace storm {

Case draw_case(std::uint64_t seed, std::uint64_t index);

/// Sizes of a picture in pixels, and what its frames may cost.
struct Extent {
  int width = 1;
  int height = 1;
  std::int64_t pixels() const { return std::int64_t{width} * height; }
};

/// format, size, mode and colorimetry of a picture with at most `max_pixels`.
Words draw_picture(Random& random, std::int64_t max_pixels);
Extent extent_of(const Words& picture);

/// Products of weights and samples that a frame may take, rarely many.
std::int64_t draw_work(Random& random);

/// The text of a mask of any kind that takes about `work` products of a picture of that extent.
std::string draw_mask(Random& random, const Extent& extent, std::int64_t work);

/// The rows of a square mask without a divisor, as mask-matrix takes them.
std::string draw_matrix(Random& random);

/// Properties in a random order: all kinds of them at first, later some.
void draw_properties(Random& random, const Extent& extent, bool first, Words* step);

/// What the engine can be asked for beside properties: ways of kernels, memory and places.
void draw_ways(Random& random, Words* step);

}  // namespace storm
