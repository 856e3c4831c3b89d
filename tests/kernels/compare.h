// SPDX-License-Identifier: LGPL-2.1-or-later
// Judges a kernel's frame against the reference, sample by sample.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/reference/reference.h"

namespace convolve::testing {

struct Comparison {
  std::int64_t samples = 0;
  std::int64_t neighbours = 0;  ///< Not the rounded code, but allowed by the zone rule.
  std::int64_t wrong = 0;
  std::string first_wrong;  ///< "plane 0 component 1 at (3,5): 17, not 16"

  void add(const Comparison& other);
};

/// Compares a filtered component: stored bits, so that bits outside the depth count too.
Comparison compare_component(const FrameView& output, int plane, int component,
                             const std::vector<Truth>& truth);

/// Compares a component that must be copied bit for bit.
Comparison compare_copied(const FrameView& output, const FrameView& source, int plane,
                          int component);

}  // namespace convolve::testing
