// SPDX-License-Identifier: LGPL-2.1-or-later
// Hand-worked results of the reference for colour weighted by alpha.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/reference/weighted.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

Component colour(int black = 0) {
  Component rule;
  rule.role = Role::kColour;
  rule.black = black;
  return rule;
}

std::vector<int> filtered(const std::vector<int>& codes, const std::vector<int>& alpha,
                          const Component& rule, const TestMaskPtr& mask,
                          const RunArguments& arguments = {}) {
  const int width = static_cast<int>(codes.size());
  const ReferenceResult result = reference_filter_weighted({width, 1, codes}, {width, 1, alpha},
                                                           255, rule, mask->mask, arguments);
  std::vector<int> out;
  for (const Truth truth : result.samples)
    out.push_back(truth.code);
  return out;
}

const TestMaskPtr& box3() {
  static const TestMaskPtr mask = typed_mask("box", 3, 1, {1, 1, 1}, 3);
  return mask;
}

TEST(WeightedReference, TransparentPixelsGiveNoColour) {
  EXPECT_EQ(filtered({100, 200}, {255, 0}, colour(), box3()), (std::vector<int>{100, 100}));
  // (2 x 255 x 100 + 51 x 200) / (2 x 255 + 51) = 109.09; (255 x 100 + 2 x 51 x 200) / 357 = 128.57
  EXPECT_EQ(filtered({100, 200}, {255, 51}, colour(), box3()), (std::vector<int>{109, 129}));
}

TEST(WeightedReference, NothingOpaqueChangesNothing) {
  EXPECT_EQ(filtered({10, 20, 30}, {0, 0, 0}, colour(), box3(), {2, 0.5, Border::kWrap}),
            (std::vector<int>{10, 20, 30}));
  // W = 1, S = 3 x 0 - 255 - 255 in the middle.
  const TestMaskPtr sharpen = typed_mask("sharpen", 3, 1, {-1, 3, -1});
  EXPECT_EQ(filtered({10, 20, 30}, {255, 0, 255}, colour(), sharpen)[1], 20);
  EXPECT_EQ(filtered({10, 20, 10}, {255, 255, 255}, colour(), sharpen)[1], 40);
}

TEST(WeightedReference, TiesGoToEven) {
  const TestMaskPtr pair = typed_mask("pair", 2, 1, {1, 1}, 2);
  EXPECT_EQ(filtered({0, 1, 2, 3}, {9, 9, 9, 9}, colour(), pair), (std::vector<int>{0, 0, 2, 2}));
  // (10 x 1 + 30 x 3) / 4 = 25, (30 x 3 + 31 x 3) / 6 = 30.5
  EXPECT_EQ(filtered({10, 30, 31}, {1, 3, 3}, colour(), pair), (std::vector<int>{10, 25, 30}));
}

TEST(WeightedReference, EdgesDivideByTheLargestAlpha) {
  const TestMaskPtr edge = typed_mask("edge", 3, 1, {-1, 0, 1});
  const RunArguments grey = {1, 0.5, Border::kReplicate};
  // 128 + (51 x 40 - 255 x 10) / 255 = 126; half a code of 255 is rounded to 128.
  EXPECT_EQ(filtered({10, 99, 40}, {255, 7, 51}, colour(), edge, grey)[1], 126);
  EXPECT_EQ(filtered({10, 99, 40}, {0, 0, 0}, colour(), edge, grey)[1], 128);
}

TEST(WeightedReference, BlackLevelAndScale) {
  // 16 + 2 x (255 x 4 + 255 x 14 + 0) / (2 x 255) = 34
  EXPECT_EQ(filtered({20, 30, 250}, {255, 255, 0}, colour(16), box3(), {2, 0, Border::kZero})[1],
            34);
}

TEST(WeightedReference, TransparentGhostCellsDoNotDarken) {
  EXPECT_EQ(filtered({200, 200}, {255, 255}, colour(), box3(), {1, 0, Border::kZero}),
            (std::vector<int>{200, 200}));
  const Picture input{2, 1, {200, 200}};
  EXPECT_EQ(reference_filter(input, colour(), box3()->mask, {1, 0, Border::kZero}).samples[0].code,
            133);
}

TEST(WeightedReference, ASumBelowZeroIsOriented) {
  const TestMaskPtr minus = typed_mask("minus", 3, 1, {-1, -1, -1}, 3);
  // s W T / S = -(weighted mean), around a bias of 255 codes.
  EXPECT_EQ(filtered({100, 100, 30}, {255, 255, 0}, colour(), minus, {1, 1, Border::kZero}),
            (std::vector<int>{155, 155, 155}));
}

TEST(WeightedReference, RealMasksAllowNeighboursInsideTheZoneOnly) {
  const TestMaskPtr real = typed_mask("real", 2, 1, {0.70710678118654752, 0.70710678118654752});
  const ReferenceResult result =
      reference_filter_weighted({2, 1, {10, 20}}, {2, 1, {255, 255}}, 255, colour(), real->mask,
                                {0.70710678118654752, 0, {}});
  ASSERT_FALSE(result.rational);
  // W s is 1 but for the rounding of sqrt(1/2): 10 and 15 are no boundaries.
  EXPECT_EQ(result.samples[0].code, 10);
  EXPECT_EQ(result.samples[1].code, 15);
  for (const Truth truth : result.samples) {
    EXPECT_FALSE(truth.lower_too);
    EXPECT_FALSE(truth.higher_too);
  }
}

TEST(WeightedReference, SubsampledAlphaIsTheCoLocatedOne) {
  const Picture alpha{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}};
  EXPECT_EQ(subsample(alpha, 2, 2, 2, 2).codes, (std::vector<int>{1, 3, 7, 9}));
}

}  // namespace
}  // namespace convolve::testing
