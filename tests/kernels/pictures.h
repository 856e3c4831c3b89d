// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures that the conformance run filters: random ones, and such as find out what sums can reach.
#pragma once

#include "kernels/core/base/view.h"
#include "kernels/reference/reference.h"

namespace convolve::testing {

enum class Fill : int {
  kRandom,
  kExtremes,      ///< 0 or the largest code, at random.
  kCheckerboard,  ///< 0 and the largest code, alternating.
  kConstantRows,  ///< Each row one code, so that weights of opposite signs cancel exactly.
  kImpulse,       ///< One bright sample on black: the mask itself shows.
  kWhite,         ///< The largest code everywhere, and so the largest sums.
};

/// The codes of component `index` of a case's frame. A pure function of its arguments.
Picture make_picture(Fill fill, const Component& component, int index);

}  // namespace convolve::testing
