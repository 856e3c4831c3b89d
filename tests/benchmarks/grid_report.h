// SPDX-License-Identifier: LGPL-2.1-or-later
// How good choices and predictions are, as Markdown for people and as JSON lines for programs.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "tests/benchmarks/frame_report.h"

namespace convolve::benchmarks {

/// One mask on one format and size.
struct GridCell {
  FrameRow chosen;               ///< By kernel=auto.
  std::string kernel;            ///< That it chose: "tensor-warpgroups".
  std::vector<FrameRow> forced;  ///< The kernels that it could choose from; those not `served`
                                 ///< were predicted to be too slow to be measured.

  /// Of the measured ones, the fastest; `chosen` if there is none.
  const FrameRow& best() const;
  bool chosen_badly() const;     ///< worse_choice()
  bool predicted_badly() const;  ///< bad_prediction()
};

/// True if `us` is more than 10 % and more than 0.5 us above `best_us`.
bool worse_choice(double us, double best_us);

/// True if `predicted_us`, unless that is 0 for none, is more than 30 % off.
bool bad_prediction(double predicted_us, double us);

void print_markdown(const Setting& setting, const std::vector<GridCell>& cells, std::FILE* out);
void print_json_lines(const Setting& setting, const std::vector<GridCell>& cells, std::FILE* out);

}  // namespace convolve::benchmarks
