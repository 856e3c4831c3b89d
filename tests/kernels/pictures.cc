// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/pictures.h"

#include <cstdint>

#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

int random_code(Fill fill, int x, int y, const Component& c, Random& random) {
  switch (fill) {
    case Fill::kRandom:
      return random.integer(0, c.max_code());
    case Fill::kExtremes:
      return random.integer(0, 1) * c.max_code();
    case Fill::kCheckerboard:
      return (x + y) % 2 * c.max_code();
    case Fill::kConstantRows:
      return (y * 37 + 11) % (c.max_code() + 1);
    case Fill::kImpulse:
      return x == c.width / 3 && y == c.height / 2 ? c.max_code() : 0;
    case Fill::kWhite:
      return c.max_code();
  }
  return 0;
}

}  // namespace

Picture make_picture(Fill fill, const Component& component, int index) {
  Random random(static_cast<std::uint64_t>(component.width) * 8191u +
                static_cast<std::uint64_t>(component.height) * 131u +
                static_cast<std::uint64_t>(index));
  Picture picture{component.width, component.height, {}};
  for (int y = 0; y < component.height; ++y)
    for (int x = 0; x < component.width; ++x)
      picture.codes.push_back(random_code(fill, x, y, component, random));
  return picture;
}

}  // namespace convolve::testing
