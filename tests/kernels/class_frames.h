// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of tests that run a whole class of cases: pictures that are made fast, and a fast judge.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/core/base/view.h"
#include "kernels/reference/reference.h"

namespace convolve::testing {

/// Fills all rows with noise and patches by turns, bits that mean nothing included. A pure function
/// of its arguments.
void fill_frame(const FrameView& frame, std::uint64_t seed);

/// How far an answer may be from the truth: not at all with rational masks; with real ones codes
/// may be one off where sums are near a rounding boundary. That is a share of them in noise; in a
/// flat picture it can be all, and then the exact reference decides.
struct Tolerance {
  bool neighbours = false;
  double share = 0;
  /// The codes that the exact reference allows for a component, sample by sample; empty if the
  /// reference would take too long.
  std::function<std::vector<Truth>(int plane, int component)> exact;
};

/// Compares two frames of one format, both in host memory, by all bytes that belong to samples.
/// What differs, or nothing.
std::string find_fault(const FrameView& answer, const FrameView& truth, const Tolerance& tolerance);

}  // namespace convolve::testing
