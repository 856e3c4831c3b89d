// SPDX-License-Identifier: LGPL-2.1-or-later
// Does kernel=auto choose well, and does it know what that takes? Every cell of a grid of formats,
// sizes and masks runs through kernel=auto and through each kernel that it chooses from, of tensor
// in each of its forms; but not through what is predicted to be far from the best.
#pragma once

#include "tests/benchmarks/frame_measurement.h"
#include "tests/benchmarks/plane_arguments.h"
#include "tests/benchmarks/report.h"
#include "tests/benchmarks/targets.h"

namespace convolve::benchmarks {

/// Measures and publishes the grid. False after a wrong result or a failed call, or if there is
/// nothing to compare; bad choices and predictions are counted and listed, and are no failure.
bool run_grid(const PlaneArguments& arguments, Target& target, FrameMeasurement& measurement,
              const Setting& setting);

}  // namespace convolve::benchmarks
