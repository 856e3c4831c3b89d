// SPDX-License-Identifier: LGPL-2.1-or-later
// Constants come back from times that were made with them.
#include "tests/benchmarks/fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/unit/formats.h"

namespace convolve::benchmarks {
namespace {

using unit::grey;
using unit::mask_of;
using unit::rgba;

/// Pictures of several sizes, masks and formats through kernel coarsened, with the times that
/// `truth` predicts, each changed by a part of up to `noise`.
std::vector<FitCase> cases_of(const CostTerms& truth, double noise = 0) {
  std::vector<FitCase> cases;
  Options options;
  options.kernel = KernelKind::kCoarsened;
  int turn = 0;
  for (const int width : {64, 320, 640, 1920, 3840})
    for (const int side : {3, 5, 9, 15, 31})
      for (const bool spread : {false, true}) {
        const int height = width * 9 / 16;
        const FrameFormat format = spread ? rgba(width, height) : grey(width, height);
        const Mask mask = mask_of("box:" + std::to_string(side));
        const Plan plan = make_plan(format, mask, options, unit::h100()).value();
        FitCase made{work_of(plan, format, mask, 132), 0};
        made.microseconds =
            predicted_microseconds(truth, made) * (1 + noise * std::sin(1.0 + 2.0 * turn++));
        cases.push_back(made);
      }
  return cases;
}

/// kCostDouble and its kin occur in none of the cases.
constexpr CostTerms kTruth = {3, 0.5, 1.5, 0.04, 2, 0, 0.7, 0.05, 1.1, 0};

TEST(Fit, RecoversTheConstantsOfTimes) {
  const CostTerms fitted = fit_terms(cases_of(kTruth));
  for (int t = 0; t < kCostTermCount; ++t)
    EXPECT_NEAR(fitted[t], kTruth[t], 1e-6 + 1e-6 * kTruth[t]) << "term " << t;
}

TEST(Fit, NoiseMovesPredictionsNoFurtherThanItself) {
  const CostTerms fitted = fit_terms(cases_of(kTruth, 0.05));
  for (const FitCase& tested : cases_of(kTruth))
    EXPECT_NEAR(predicted_microseconds(fitted, tested) / tested.microseconds, 1, 0.05);
}

// Times that fall with the work would have negative constants; nothing takes less than no time.
TEST(Fit, ConstantsAreNotNegative) {
  std::vector<FitCase> cases = cases_of(kTruth);
  for (std::size_t i = 0; i < cases.size(); ++i)
    cases[i].microseconds = 100 - static_cast<double>(i);
  for (const double term : fit_terms(cases))
    EXPECT_GE(term, 0);
}

// One size of picture tells nothing about the other regime, nor apart the terms that always come
// together; what it tells is predicted all the same.
TEST(Fit, ServesWithFewCases) {
  const std::vector<FitCase> all = cases_of(kTruth);
  const std::vector<FitCase> few(all.end() - 2, all.end());
  const CostTerms fitted = fit_terms(few);
  for (const FitCase& tested : few)
    EXPECT_NEAR(predicted_microseconds(fitted, tested) / tested.microseconds, 1, 0.01);
  EXPECT_EQ(fit_terms({}), CostTerms{});
}

}  // namespace
}  // namespace convolve::benchmarks
