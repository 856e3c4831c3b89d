// SPDX-License-Identifier: LGPL-2.1-or-later
// Constants of the cost model from measured times. Pure.
#pragma once

#include <vector>

#include "kernels/core/plan/cost.h"

namespace convolve::benchmarks {

/// One class of cost, measured once.
struct FitCase {
  std::vector<LaunchWork> launches;  ///< work_of() of the plan.
  double microseconds = 0;           ///< More than 0.
};

/// The constants, none below 0, that bring the predictions of `cases` nearest to their times: by
/// the least sum of squares of relative errors. Terms that no case has are 0.
CostTerms fit_terms(const std::vector<FitCase>& cases);

/// What `constants` predict for `tested`, in microseconds.
double predicted_microseconds(const CostTerms& constants, const FitCase& tested);

}  // namespace convolve::benchmarks
