// SPDX-License-Identifier: LGPL-2.1-or-later
// No time counts before its result is right: bands of rows of large pictures against the reference.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/mask.h"
#include "kernels/reference/reference.h"

namespace convolve::benchmarks {

/// The truth of some rows of one filtered 8-bit plane: top, middle and bottom.
class SampledTruth {
 public:
  /// `input` is the plane, packed. Replicate border, no scale, no bias.
  SampledTruth(const std::uint8_t* input, int width, int height, const Mask& mask);

  /// True if the sampled rows of `output`, packed, keep the contract.
  bool holds(const std::uint8_t* output) const;

 private:
  struct Band {
    int first_row;
    std::vector<Truth> samples;
  };
  Band make_band(const std::uint8_t* input, int height, const Mask& mask, int first_row) const;

  int width_;
  std::vector<Band> bands_;
};

}  // namespace convolve::benchmarks
