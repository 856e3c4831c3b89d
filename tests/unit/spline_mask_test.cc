// SPDX-License-Identifier: LGPL-2.1-or-later
// Spline masks: the weights with which a pixel sees its surroundings through them, against the
// mask, tap by tap.
#include "kernels/core/weights/spline_mask.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/core/weights/arithmetic.h"
#include "tests/kernels/test_masks.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::mask_of;

double sum_of_magnitudes(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [](double sum, double value) { return sum + std::fabs(value); });
}

/// The weights with which a pixel sees `count` pixels from `from` on, counted from itself, by the
/// three steps of spline_axis.h. `x`: the phase of the pixel, from 0 to below the spacing.
std::vector<double> impulse_response(const SplineAxis& axis, int taps, int anchor, int x, int from,
                                     int count) {
  const int h = axis.spacing;
  const std::vector<std::int32_t> analysis = spline_analysis_weights(h);
  std::vector<double> response(static_cast<std::size_t>(count), 0.0);
  const auto add = [&](int pixel, double weight) {
    const int at = pixel - x - from;
    if (at >= 0 && at < count)
      response[static_cast<std::size_t>(at)] += weight;
    else
      EXPECT_EQ(weight, 0) << "beyond the " << count << " pixels";
  };
  for (int m = 0; m < kSplineOrder; ++m)
    for (int d = 0; d < axis.taps(); ++d)
      for (std::size_t t = 0; t < analysis.size(); ++t)
        add(h * (m - 1 + axis.first + d) + static_cast<int>(t),
            spline_synthesis_weights(h, x)[static_cast<std::size_t>(m)] *
                axis.weights[static_cast<std::size_t>(d)] * analysis[t] / std::pow(h, 4));
  for (int i = 0; i < taps; ++i)
    add(x - anchor + i, axis.box_weight);
  for (int run = 0; run < 2; ++run)
    for (int i = 0; i < axis.ends.length; ++i)
      add(x + axis.ends.first[run] + i,
          axis.ends.weights[static_cast<std::size_t>(run * axis.ends.length + i)]);
  return response;
}

/// The largest error of all phases, from their impulse responses.
double error_of(const SplineAxis& axis, const std::vector<double>& taps, int anchor) {
  const int n = static_cast<int>(taps.size()), margin = 8 * axis.spacing;
  double most = 0;
  for (int x = 0; x < axis.spacing; ++x) {
    std::vector<double> missed =
        impulse_response(axis, n, anchor, x, -anchor - margin, n + 2 * margin);
    for (int i = 0; i < n; ++i)
      missed[static_cast<std::size_t>(margin + i)] -= taps[static_cast<std::size_t>(i)];
    most = std::max(most, sum_of_magnitudes(missed));
  }
  return most;
}

TEST(SplineAxis, SplinesOfPixelsAreWholeAndShareOut) {
  for (int h = kLeastSpacing; h <= kMostSpacing; h *= 2) {
    const std::vector<std::int32_t> analysis = spline_analysis_weights(h);
    ASSERT_EQ(analysis.size(), static_cast<std::size_t>(kSplineOrder * h));
    EXPECT_EQ(std::accumulate(analysis.begin(), analysis.end(), 0), h * h * h * h);
    EXPECT_LT(*std::max_element(analysis.begin(), analysis.end()), 32768) << "16 bits";
    for (int x = 0; x < h; ++x) {
      int all = 0;
      for (int m = 0; m < kSplineOrder; ++m)
        all += analysis[static_cast<std::size_t>(m * h + x)];
      EXPECT_EQ(all, h * h * h) << "a flat line at pixel " << x << " of " << h;
      const auto synthesis = spline_synthesis_weights(h, x);
      EXPECT_NEAR(std::accumulate(synthesis.begin(), synthesis.end(), 0.0), 1, 1e-15);
    }
  }
  EXPECT_EQ(spline_analysis_weights(2), (std::vector<std::int32_t>{1, 4, 6, 4, 1, 0, 0, 0}));
}

TEST(SplineAxis, ErrorIsWhatPixelsMiss) {
  for (const char* text : {"gaussian:25", "gaussian:100", "gaussian:40,90"})
    for (const int spacing : {2, 8, 16})
      for (const SplineEnds ends : {SplineEnds::kNone, SplineEnds::kBox, SplineEnds::kTaps}) {
        const Mask mask = mask_of(text);
        for (const int anchor : {0, mask.width / 2, mask.width - 1}) {
          const auto axis = fit_spline_axis(mask.row, anchor, spacing, ends);
          ASSERT_TRUE(axis);
          EXPECT_NEAR(axis->error, error_of(*axis, mask.row, anchor), 1e-12)
              << text << " spacing " << spacing << " anchor " << anchor;
        }
      }
}

TEST(SplineAxis, ABoxMendsTheEndsOfAGaussian) {
  const Mask mask = mask_of("gaussian:100");
  const auto with = fit_spline_axis(mask.row, mask.anchor_x, 8, SplineEnds::kBox);
  const auto without = fit_spline_axis(mask.row, mask.anchor_x, 8, SplineEnds::kNone);
  EXPECT_LT(with->error * kMidCode, 0.004);
  EXPECT_GT(without->error * kMidCode, 0.05);
  EXPECT_NEAR(with->box_weight, mask.row.front(), 0.03 * mask.row.front());
}

TEST(SplineAxis, EndTapsMendTheEndsOfAGaussianForWiderGrids) {
  const Mask mask = mask_of("gaussian:100");
  const auto box = fit_spline_axis(mask.row, mask.anchor_x, 16, SplineEnds::kBox);
  const auto taps = fit_spline_axis(mask.row, mask.anchor_x, 16, SplineEnds::kTaps);
  EXPECT_GT(box->error * kMidCode, 0.012);
  EXPECT_LT(taps->error * kMidCode, 0.002);
  EXPECT_EQ(taps->box_weight, 0);
  EXPECT_EQ(taps->ends.weights.size(), 2u * 2 * kEndIntervals * 16);
  EXPECT_LT(sum_of_magnitudes(taps->ends.weights), 0.002) << "of a mask whose weights sum to 1";
  const std::vector<double> few(4 * kEndIntervals * 16 - 1, 1.0);
  EXPECT_FALSE(fit_spline_axis(few, 0, 16, SplineEnds::kTaps)) << "fewer taps than the runs have";
}

/// The largest sum, over the phases of a pixel, of |weight of the mask - weight with which the
/// pixel is seen by both terms of `spline`|.
double most_missed(const Mask& mask, const SplineMask& spline) {
  const int margin = 8 * kMostSpacing;
  const auto response_of = [&](const SplineAxis& axis, int taps, int anchor, int x) {
    return impulse_response(axis, taps, anchor, x, -anchor - margin, taps + 2 * margin);
  };
  double most = 0;
  for (int y = 0; y < spline.column.spacing; ++y) {
    SplineAxis smooth = spline.column;
    smooth.box_weight = 0;
    smooth.ends = {};
    const auto column = response_of(smooth, mask.height, mask.anchor_y, y);
    const auto all = response_of(spline.column, mask.height, mask.anchor_y, y);
    for (int x = 0; x < std::max(spline.cross.spacing, spline.row.spacing); ++x) {
      const auto row = response_of(spline.row, mask.width, mask.anchor_x, x % spline.row.spacing);
      const auto cross =
          response_of(spline.cross, mask.width, mask.anchor_x, x % spline.cross.spacing);
      double missed = 0;
      for (std::size_t i = 0; i < column.size(); ++i)
        for (std::size_t j = 0; j < row.size(); ++j) {
          const int tap_y = static_cast<int>(i) - margin, tap_x = static_cast<int>(j) - margin;
          const bool inside = tap_y >= 0 && tap_y < mask.height && tap_x >= 0 && tap_x < mask.width;
          const double made = column[i] * row[j] + (all[i] - column[i]) * cross[j];
          missed += std::fabs((inside ? mask.column[static_cast<std::size_t>(tap_y)] *
                                            mask.row[static_cast<std::size_t>(tap_x)]
                                      : 0) -
                              made);
        }
      most = std::max(most, missed);
    }
  }
  return most;
}

TEST(SplineMask, FitsTogetherStayWithinTheZone) {
  const auto skewed = testing::skewed_mask(193, 177);
  for (const SplineEnds ends : {SplineEnds::kBox, SplineEnds::kTaps})
    for (const Mask& mask : {mask_of("gaussian:25"), mask_of("gaussian:30,33"), skewed->mask}) {
      const FrameFormat format = unit::grey(640, 480);
      const auto spline = choose_spline_mask(format, mask, 1, ends);
      ASSERT_TRUE(spline);
      const double most = most_missed(mask, *spline);
      EXPECT_LT(most, spline->error);
      EXPECT_LT(most * kMidCode, zone(mask, 1, 8));
      EXPECT_GT(most * kMidCode, 0.001) << "a bound that nothing comes near";
    }
}

std::string spacing_text(const char* text, const FrameFormat& format, double scale = 1,
                         SplineEnds ends = SplineEnds::kBox) {
  const auto spline = choose_spline_mask(format, mask_of(text), scale, ends);
  if (!spline) return "none";
  const KnotSpacing s = spline->spacing();
  return std::to_string(s.row) + "x" + std::to_string(s.column) + "/" + std::to_string(s.cross);
}

TEST(SplineMask, GridsGrowWithTheMask) {
  const FrameFormat format = unit::grey(3840, 2160);
  EXPECT_EQ(spacing_text("gaussian:10", format), "none");
  EXPECT_EQ(spacing_text("gaussian:25", format), "2x2/8");
  EXPECT_EQ(spacing_text("gaussian:50", format), "4x4/16");
  EXPECT_EQ(spacing_text("gaussian:100", format), "8x8/32");
  EXPECT_EQ(spacing_text("gaussian:30,100", format), "2x8/8");
  EXPECT_EQ(spacing_text("gaussian:500", format), "32x32/32");
}

TEST(SplineMask, GridsAreWiderWithEndTaps) {
  const FrameFormat format = unit::grey(3840, 2160);
  const auto text = [&](const char* mask) {
    return spacing_text(mask, format, 1, SplineEnds::kTaps);
  };
  EXPECT_EQ(text("gaussian:10"), "none");
  EXPECT_EQ(text("gaussian:11"), "2x2/8");
  EXPECT_EQ(text("gaussian:12"), "2x4/8");
  EXPECT_EQ(text("gaussian:20"), "4x4/16");
  EXPECT_EQ(text("gaussian:25"), "4x8/16");
  EXPECT_EQ(text("gaussian:50"), "8x16/32");
  EXPECT_EQ(text("gaussian:30,100"), "8x32/16");
  EXPECT_EQ(text("gaussian:500"), "32x32/32");
  EXPECT_EQ(text("box:301"), "none") << "rational";
}

TEST(SplineMask, RefusesWhatItDoesNotServe) {
  const FrameFormat format = unit::grey(3840, 2160);
  const FrameFormat ten = unit::grey(3840, 2160, 10), sixteen = unit::grey(3840, 2160, 16);
  for (const SplineEnds ends : {SplineEnds::kBox, SplineEnds::kTaps}) {
    EXPECT_EQ(spacing_text("gaussian:2,100", format, 1, ends), "none") << "a short factor";
    EXPECT_EQ(spacing_text("box:301", format, 1, ends), "none") << "rational";
    EXPECT_EQ(spacing_text("gaussian:100", sixteen, 1, ends), "none") << "16 bits";
    EXPECT_EQ(spacing_text("gaussian:100", ten, 1, ends), "none") << "10 bits";
    EXPECT_EQ(spacing_text("gaussian:100", format, 200, ends), "none") << "a scale too large";
  }
}

TEST(SplineMask, AnotherScaleMayNotBeServed) {
  const FrameFormat format = unit::grey(640, 480);
  const Mask mask = mask_of("gaussian:100");
  for (const SplineEnds ends : {SplineEnds::kBox, SplineEnds::kTaps}) {
    const auto spline = choose_spline_mask(format, mask, 1, ends);
    ASSERT_TRUE(spline);
    EXPECT_TRUE(spline_mask_serves(format, mask, *spline, 0.25));
    EXPECT_TRUE(spline_mask_serves(format, mask, *spline, -2));
    EXPECT_FALSE(spline_mask_serves(format, mask, *spline, 64)) << "a quarter code";
  }
}

}  // namespace
}  // namespace convolve
