// SPDX-License-Identifier: LGPL-2.1-or-later
// What is measured for the planner's constants: some cases of each class of cost. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/core/plan/plan.h"
#include "tests/benchmarks/frame_cases.h"
#include "tests/benchmarks/plane_arguments.h"

namespace convolve::benchmarks {

// A lone tile and a full device, planes and interleaved components, one byte a sample and two.
inline constexpr SizeCase kCalibrationSizes[] = {kTinySize, size_case("640x480"),
                                                 size_case("1080p"), size_case("4k")};
inline constexpr FormatCase kCalibrationFormats[] = {format_case("GRAY8"), format_case("NV12"),
                                                     format_case("RGBA"), format_case("P010"),
                                                     format_case("GRAY16")};

/// The sizes that are measured: those of `arguments`, or of the list above. A CPU is full with any
/// of them, and takes long for 4K.
std::vector<SizeCase> calibration_sizes(const PlaneArguments& arguments);

struct KernelRun {
  KernelKind kernel;
  std::optional<Form> form;  ///< Nothing = chosen.
};

/// A mask, and the kernels that it is to go through where they serve.
struct CalibrationCase {
  MaskCase mask;
  std::string name;  ///< Its kind, or text.
  std::vector<KernelRun> runs;
};

/// All of one format and size, of those that `arguments` ask for.
std::vector<CalibrationCase> calibration_cases(const PlaneArguments& arguments,
                                               const FormatCase& tested, const SizeCase& size);

}  // namespace convolve::benchmarks
