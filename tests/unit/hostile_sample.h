// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures that are out to reach the bounds of what whole factors lose.
#pragma once

#include <random>

namespace convolve::unit {

/// A sample below `weight` of picture `kind`, 0 or more: 0 and 255 where that hurts most, flat
/// pictures, then by turns random samples and random ones of 0 and 255.
inline int hostile_sample(int kind, double weight, std::mt19937& random) {
  switch (kind) {
    case 0:
      return weight < 0 ? 0 : 255;
    case 1:
      return weight < 0 ? 255 : 0;
    case 2:
      return 255;
    case 3:
      return 0;
    default:
      return static_cast<int>(kind % 2 == 0 ? random() % 256 : 255 * (random() % 2));
  }
}

}  // namespace convolve::unit
