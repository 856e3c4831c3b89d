// SPDX-License-Identifier: LGPL-2.1-or-later
// What bench_planes is asked for on its command line.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/plan/plan.h"
#include "tests/benchmarks/frame_cases.h"

namespace convolve::benchmarks {

enum class PlaneMode : int {
  kSweep,      ///< Tables of times.
  kGrid,       ///< The planner's choices against the best kernels.
  kCalibrate,  ///< Constants for the planner.
};

struct PlaneArguments {
  PlaneMode mode = PlaneMode::kSweep;
  BackendKind backend = BackendKind::kCuda;
  // Empty lists are those of the mode.
  std::vector<FormatCase> formats;
  std::vector<SizeCase> sizes;
  std::vector<MaskKind> kinds;
  std::vector<int> sides;
  std::vector<KernelKind> kernels;  ///< Sweep: kernel=auto if empty.
  std::vector<Form> forms;          ///< Sweep: each of these, too.
  bool npp = true;                  ///< Sweep.
  std::string json, commit = "unknown";
  double seconds = 0.1;
  int threads = 0;  ///< CPU: 0 = all cores. Constants are those of one.
};

/// False, having said why, if there is something that nobody understands.
bool parse_arguments(int argc, char** argv, PlaneArguments* arguments);

/// `asked`, or if that is empty all of `usual`.
template <class Item, class Usual>
std::vector<Item> or_usual(const std::vector<Item>& asked, const Usual& usual) {
  return asked.empty() ? std::vector<Item>(std::begin(usual), std::end(usual)) : asked;
}

}  // namespace convolve::benchmarks
