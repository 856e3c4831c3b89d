// SPDX-License-Identifier: LGPL-2.1-or-later
// The planner's constants are measured: of all classes of cost, each often enough to be fitted.
#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "kernels/core/plan/cost.h"
#include "tests/benchmarks/calibration_cases.h"
#include "tests/unit/formats.h"

namespace convolve::benchmarks {
namespace {

TEST(Calibration, MeasuresEveryClass) {
  std::vector<int> cases(kCostClassCount);
  for (const FormatCase& tested : kCalibrationFormats)
    for (const SizeCase& size : kCalibrationSizes) {
      const FrameFormat format = testing::make_format(tested.arrangement, tested.samples,
                                                      tested.levels, size.width, size.height);
      for (const CalibrationCase& c : calibration_cases({}, tested, size))
        for (const KernelRun& run : c.runs) {
          Options options;
          options.kernel = run.kernel;
          options.form = run.form;
          const auto plan = make_plan(format, c.mask.mask->mask, options, unit::h100());
          if (plan.ok()) ++cases[static_cast<std::size_t>(cost_class(plan.value()))];
        }
    }
  for (int c = 0; c < kCostClassCount; ++c)
    EXPECT_GE(cases[static_cast<std::size_t>(c)], 3) << cost_class_name(static_cast<CostClass>(c));
}

}  // namespace
}  // namespace convolve::benchmarks
