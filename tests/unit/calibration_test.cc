// SPDX-License-Identifier: LGPL-2.1-or-later
// The planner's constants are measured: of all classes of cost, each often enough to be fitted.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "kernels/core/plan/cost.h"
#include "kernels/core/plan/cpu_cost.h"
#include "tests/benchmarks/calibration_cases.h"
#include "tests/unit/formats.h"

namespace convolve::benchmarks {
namespace {

/// Calls `found` with the format and the plan of each case that `device` serves.
template <class Found>
void for_each_plan(const DeviceCapabilities& device, Found&& found) {
  PlaneArguments arguments;
  arguments.backend = device.backend;
  for (const FormatCase& tested : kCalibrationFormats)
    for (const SizeCase& size : calibration_sizes(arguments)) {
      const FrameFormat format = testing::make_format(tested.arrangement, tested.samples,
                                                      tested.levels, size.width, size.height);
      for (const CalibrationCase& c : calibration_cases(arguments, tested, size))
        for (const KernelRun& run : c.runs) {
          Options options;
          options.kernel = run.kernel;
          options.form = run.form;
          const auto plan = make_plan(format, c.mask.mask->mask, options, device);
          if (plan.ok()) found(format, plan.value());
        }
    }
}

TEST(Calibration, MeasuresEveryClass) {
  std::vector<int> cases(kCostClassCount);
  for_each_plan(unit::h100(), [&](const FrameFormat&, const Plan& plan) {
    ++cases[static_cast<std::size_t>(cost_class(plan))];
  });
  for (int c = 0; c < kCostClassCount; ++c)
    EXPECT_GE(cases[static_cast<std::size_t>(c)], 3) << cost_class_name(static_cast<CostClass>(c));
}

TEST(Calibration, MeasuresEveryClassOfTheCpu) {
  std::vector<int> cases(kCpuCostClassCount);
  for_each_plan(unit::cpu(), [&](const FrameFormat& format, const Plan& plan) {
    ++cases[static_cast<std::size_t>(cpu_cost_class(plan, format))];
  });
  for (int c = 0; c < kCpuCostClassCount; ++c)
    EXPECT_GE(cases[static_cast<std::size_t>(c)], 3)
        << cpu_cost_class_name(static_cast<CpuCostClass>(c));
}

}  // namespace
}  // namespace convolve::benchmarks
