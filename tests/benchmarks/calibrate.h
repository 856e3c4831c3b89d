// SPDX-License-Identifier: LGPL-2.1-or-later
// The planner's constants for the GPU or CPU at hand.
#pragma once

#include "tests/benchmarks/frame_measurement.h"
#include "tests/benchmarks/plane_arguments.h"
#include "tests/benchmarks/report.h"
#include "tests/benchmarks/targets.h"

namespace convolve::benchmarks {

/// Measures a few cases of every class of cost, fits its constants and prints them as a row for
/// cost_table() in kernels/core/plan/cost_table.cc, in place of the one of that compute capability,
/// or for cpu_cost_table() in cpu_cost_table.cc there, of that instruction set; with --json the
/// measured cases, too. False after a wrong result or a failed call.
bool run_calibration(const PlaneArguments& arguments, Target& target, FrameMeasurement& measurement,
                     const Setting& setting);

}  // namespace convolve::benchmarks
