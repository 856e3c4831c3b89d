// SPDX-License-Identifier: LGPL-2.1-or-later
// How much of each pixel a shape covers. Pixels are unit squares around whole coordinates.
#pragma once

#include <vector>

namespace convolve {

/// A square of (2 * radius + 1)^2 values, row-major, around the origin.
struct Coverage {
  int radius = 0;
  std::vector<double> area;  ///< 0 .. 1.
};

/// The disk of `radius` > 0 around the origin: exact areas, by integrating its edge.
Coverage cover_disk(double radius);

/// The bar of `length` > 0 and width 1 around the origin, `degrees` counter-clockwise from the
/// x axis as seen on a picture (y down): exact areas, by cutting its rectangle to each pixel.
Coverage cover_bar(double length, double degrees);

}  // namespace convolve
