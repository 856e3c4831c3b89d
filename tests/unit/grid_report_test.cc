// SPDX-License-Identifier: LGPL-2.1-or-later
// Which choices and predictions of the planner count as wrong.
#include "tests/benchmarks/grid_report.h"

#include <gtest/gtest.h>

namespace convolve::benchmarks {
namespace {

FrameRow row_of(const char* kernel, double us) {
  FrameRow row;
  row.kernel = kernel;
  row.time.median = us;
  row.served = true;
  return row;
}

TEST(GridReport, AChoiceIsWorseByTenPerCentAndHalfAMicrosecond) {
  EXPECT_FALSE(worse_choice(100, 100));
  EXPECT_FALSE(worse_choice(90, 100));
  EXPECT_FALSE(worse_choice(109, 100));
  EXPECT_TRUE(worse_choice(111, 100));
  EXPECT_FALSE(worse_choice(2.4, 2)) << "20 %, but too little to matter";
  EXPECT_TRUE(worse_choice(2.6, 2));
}

TEST(GridReport, APredictionIsBadBeyondThirtyPerCent) {
  EXPECT_FALSE(bad_prediction(129, 100));
  EXPECT_FALSE(bad_prediction(71, 100));
  EXPECT_TRUE(bad_prediction(131, 100));
  EXPECT_TRUE(bad_prediction(69, 100));
  EXPECT_FALSE(bad_prediction(0, 100)) << "none was made";
}

TEST(GridReport, TheFastestForcedKernelIsTheBest) {
  GridCell cell;
  cell.chosen = row_of("auto", 20);
  EXPECT_EQ(cell.best().kernel, "auto") << "nothing to compare with";
  EXPECT_FALSE(cell.chosen_badly());
  cell.forced = {row_of("tensor", 20), row_of("separable", 15), row_of("coarsened", 30)};
  EXPECT_EQ(cell.best().kernel, "separable");
  EXPECT_TRUE(cell.chosen_badly());
  EXPECT_FALSE(cell.predicted_badly());
  cell.chosen.predicted = 27;
  EXPECT_TRUE(cell.predicted_badly());
}

TEST(GridReport, WhatWasNotMeasuredIsNotTheBest) {
  GridCell cell;
  cell.chosen = row_of("auto", 20);
  FrameRow left_out = row_of("coarsened", 0);
  left_out.served = false;
  cell.forced = {left_out, row_of("tensor-sliding", 20)};
  EXPECT_EQ(cell.best().kernel, "tensor-sliding");
  cell.forced = {left_out};
  EXPECT_EQ(cell.best().kernel, "auto");
}

}  // namespace
}  // namespace convolve::benchmarks
