// SPDX-License-Identifier: LGPL-2.1-or-later
// No time counts before its result is right: bands of rows of large frames against the reference.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/mask/mask.h"
#include "kernels/reference/reference.h"

namespace convolve::benchmarks {

/// The truth of some rows of every plane of one filtered frame: top, middle and bottom.
class SampledTruth {
 public:
  /// `input` is a frame of `format`, packed (frames.h), and outlives this. What weights colour lies
  /// in its plane.
  SampledTruth(const std::uint8_t* input, const FrameFormat& format, const Mask& mask,
               const RunArguments& arguments, AlphaMode alpha_mode = AlphaMode::kStraight);

  /// True if the sampled rows of `output`, packed, keep the contract: filtered components as the
  /// reference allows, the others bit for bit.
  bool holds(const std::uint8_t* output) const;

  /// How far the worst sampled code of a filtered component is from the right one: for judging
  /// libraries that promise less than the contract.
  int largest_error(const std::uint8_t* output) const;

 private:
  /// Some rows of one component.
  struct Band {
    int plane;
    int component;
    int first_row;
    std::vector<Truth> samples;  ///< Empty if it is copied.
  };

  FrameView input_;
  std::vector<Band> bands_;
};

}  // namespace convolve::benchmarks
