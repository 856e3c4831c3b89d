// SPDX-License-Identifier: LGPL-2.1-or-later
// What sizes_test tries at every size: masks, with the formats and the ways that each is for.
#pragma once

#include <vector>

#include "tests/kernels/named_formats.h"
#include "tests/kernels/test_masks.h"
#include "tests/kernels/ways.h"

namespace convolve::testing {

struct SizeScene {
  TestMaskPtr mask;
  std::vector<NamedFormat> formats;
  std::vector<Way> ways;  ///< All with one alpha mode.
  double bias = 0;
};

std::vector<SizeScene> size_scenes();

}  // namespace convolve::testing
