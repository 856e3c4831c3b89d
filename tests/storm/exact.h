// SPDX-License-Identifier: LGPL-2.1-or-later
// The exact reference for parts of a frame: stretches of a row, each filtered as a picture of its
// own that holds no more than what the mask sees.
#pragma once

#include <optional>
#include <vector>

#include "kernels/core/weights/alpha_weighting.h"
#include "kernels/reference/reference.h"
#include "tests/storm/settings.h"

namespace storm {

class ExactComponent {
 public:
  /// Component `component` of plane `plane` of `source`, a frame of the format `planned` or a field
  /// of one. `settings` outlives this.
  ExactComponent(const convolve::FrameView& source, const convolve::FrameFormat& planned, int plane,
                 int component, const Settings& settings);

  /// What `count` samples of row `y` from `x` on may be.
  std::vector<convolve::Truth> row(int x, int count, int y);

  /// About how many nanoseconds row() takes for `count` samples.
  double cost(int count) const;

 private:
  double cost_one_by_one(int count) const;
  double cost_at_once(int count) const;
  /// `mask` above the samples that it sees, both as one column: the reference then computes one
  /// sample and not as many as the mask is wide.
  convolve::Truth sample(int x, int y);
  std::vector<convolve::Truth> filter(const convolve::Picture& seen,
                                      const std::optional<convolve::Picture>& alpha,
                                      const convolve::Mask& mask) const;

  /// What the mask sees of `picture` for those samples; ghost cells without signal hold `black`.
  convolve::Picture window(const convolve::Picture& picture, int x, int count, int y,
                           int black) const;
  std::optional<convolve::Picture> alpha_window(int x, int count, int y) const;

  const Settings& settings_;
  convolve::Component rule_;
  bool rational_;
  double a_tap_ = 1;  ///< Nanoseconds.
  /// The mask as one column, once it is asked for: of box:3870 it takes 240 MB.
  std::optional<convolve::Mask> flat_;
  convolve::Picture picture_;
  std::optional<convolve::Picture> alpha_;  ///< On the component's grid, if it weights.
  int alpha_max_ = 0;
};

}  // namespace storm
