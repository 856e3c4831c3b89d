// SPDX-License-Identifier: LGPL-2.1-or-later
// The cost model against measured times: what it predicts, and what the planner chooses by that.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/plan/cost.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::grey;
using unit::h100;
using unit::i420;
using unit::mask_of;
using unit::nv12;
using unit::p010;
using unit::plan_of;
using unit::rgba;
using unit::yuy2;

FrameFormat grey16(int width, int height) {
  return grey(width, height, 16);
}

FrameFormat rgba_copied_alpha(int width, int height) {
  return rgba(width, height);
}

FrameFormat grey8(int width, int height) {
  return grey(width, height);
}

/// Masks as bench_planes has them. No two rows are alike, so that the rank is full.
std::string square(const std::string& kind, int side) {
  if (kind == "box") return "box:" + std::to_string(side);
  std::string text = std::to_string(side) + "x" + std::to_string(side) + ":";
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const int i = y * side + x;
      const double fraction = std::fmod(0.618034 * (i + 1) * (i + 3), 1.0);
      if (kind == "rational")
        text += " " + std::to_string(static_cast<int>(255 * fraction) - 127);
      else if (kind == "rank1")
        text += " " + std::to_string((x % 7 + 1) * (y % 5 + 1));
      else
        text += " " + std::to_string(fraction + 1e-7 * std::sqrt(i + 2.0)) + "1234567";
    }
  return text + (kind == "positive" ? "" : " / 1024");
}

struct Measured {
  FrameFormat (*format)(int width, int height);
  int width;
  int height;
  const char* kind;
  int side;
  const char* kernel;
  double microseconds;
};

// NVIDIA H100 80GB HBM3, driver 580.159.04: tests/benchmarks/RESULTS.md, "Whole frames" and, for
// the kernels of the book, "The book's kernels side by side".
const Measured kMeasured[] = {
    {grey8, 3840, 2160, "rational", 3, "tensor", 7.3},
    {grey8, 3840, 2160, "rational", 9, "tensor", 7.6},
    {grey8, 3840, 2160, "rational", 15, "tensor", 12.2},
    {grey8, 3840, 2160, "rational", 31, "tensor", 20.6},
    {grey8, 3840, 2160, "positive", 5, "tensor", 8.5},
    {grey8, 3840, 2160, "positive", 31, "tensor", 35.3},
    {grey8, 1920, 1080, "box", 3, "tensor", 3.1},
    {grey8, 1920, 1080, "rational", 31, "tensor", 8.9},
    {nv12, 3840, 2160, "rational", 5, "tensor", 10.5},
    {nv12, 3840, 2160, "rational", 9, "tensor", 12.7},
    {nv12, 1920, 1080, "positive", 5, "tensor", 5.0},
    {nv12, 1920, 1080, "positive", 31, "tensor", 21.5},
    {rgba_copied_alpha, 640, 480, "rational", 31, "tensor", 15.1},
    {grey8, 640, 480, "positive", 15, "tensor", 5.3},
    {grey8, 3840, 2160, "rational", 63, "tensor", 57.5},
    {nv12, 3840, 2160, "positive", 15, "tensor", 25.9},
    {nv12, 1920, 1080, "rational", 15, "tensor", 11.2},
    {i420, 3840, 2160, "rational", 15, "tensor", 18.1},
    {rgba_copied_alpha, 3840, 2160, "rational", 3, "tensor", 31.4},
    {rgba_copied_alpha, 3840, 2160, "positive", 9, "tensor", 49.8},
    {rgba_copied_alpha, 1920, 1080, "rational", 15, "tensor", 14.0},
    {rgba_copied_alpha, 3840, 2160, "rank1", 31, "tensor", 72.7},
    {yuy2, 3840, 2160, "rational", 5, "tensor", 14.7},
    {yuy2, 3840, 2160, "positive", 7, "tensor", 21.3},
    {yuy2, 1920, 1080, "rational", 3, "tensor", 4.6},
    {yuy2, 1920, 1080, "positive", 7, "tensor", 7.3},
    {yuy2, 3840, 2160, "rational", 9, "tensor", 17.3},
    {yuy2, 3840, 2160, "rational", 31, "tensor", 50.1},
    {yuy2, 3840, 2160, "positive", 9, "tensor", 21.1},
    {yuy2, 3840, 2160, "positive", 15, "tensor", 37.4},
    {yuy2, 3840, 2160, "positive", 31, "tensor", 77.6},
    {yuy2, 1920, 1080, "rational", 9, "tensor", 6.0},
    {yuy2, 1920, 1080, "rational", 31, "tensor", 26.5},
    {yuy2, 1920, 1080, "positive", 31, "tensor", 41.2},
    {yuy2, 640, 480, "rational", 9, "tensor", 2.8},
    {yuy2, 640, 480, "positive", 31, "tensor", 29.4},
    {yuy2, 3840, 2160, "rank1", 31, "tensor", 50.1},
    {nv12, 3840, 2160, "rank1", 31, "separable", 31.8},
    {nv12, 1920, 1080, "box", 255, "separable", 72.2},
    {rgba_copied_alpha, 3840, 2160, "box", 101, "separable", 391.7},
    {yuy2, 3840, 2160, "box", 101, "separable", 225.1},
    {yuy2, 640, 480, "box", 101, "separable", 49.1},
    {nv12, 3840, 2160, "box", 255, "box", 149.7},
    {p010, 3840, 2160, "rational", 3, "tensor", 22.1},
    {p010, 3840, 2160, "rational", 9, "tensor", 26.5},
    {p010, 3840, 2160, "positive", 15, "tensor", 49.1},
    {p010, 3840, 2160, "rank1", 31, "tensor", 77.5},
    {p010, 640, 480, "rational", 25, "tensor", 21.4},
    {p010, 3840, 2160, "positive", 31, "tensor", 114.6},
    {p010, 640, 480, "positive", 7, "tensor", 4.2},
    {grey16, 3840, 2160, "rational", 7, "tensor", 15.7},
    {grey16, 1920, 1080, "positive", 3, "tensor", 6.6},
    {grey16, 3840, 2160, "positive", 9, "tensor", 24.1},
    {grey16, 3840, 2160, "positive", 15, "tensor", 44.6},
    {grey16, 3840, 2160, "rational", 15, "tensor", 32.4},
    {grey16, 1920, 1080, "positive", 31, "tensor", 26.2},
    {grey8, 3840, 2160, "rank1", 3, "coarsened", 12.5},
    {grey8, 3840, 2160, "rank1", 31, "coarsened", 325.4},
    {grey8, 1920, 1080, "rank1", 9, "coarsened", 13.7},
    {grey8, 3840, 2160, "rank1", 15, "separable", 16.0},
    {grey8, 3840, 2160, "rank1", 31, "separable", 15.5},
    {grey8, 1920, 1080, "rank1", 5, "separable", 6.9},
    {grey8, 3840, 2160, "rank1", 9, "basic", 493.8},
    {grey8, 1920, 1080, "rank1", 31, "constant", 7155.7},
    {grey8, 3840, 2160, "rank1", 7, "tiled-input", 232.4},
    {grey8, 3840, 2160, "rank1", 15, "tiled-output", 577.1},
    {grey8, 1920, 1080, "rank1", 5, "cached-halo", 123.5},
};

KernelKind kernel_named(const std::string& nick) {
  return std::find_if(std::begin(kKernels), std::end(kKernels),
                      [&nick](const KernelInfo& info) { return info.nick == nick; })
      ->kind;
}

TEST(CostMeasured, PredictsWhatWasMeasuredWithin30Percent) {
  for (const Measured& cell : kMeasured) {
    const Result<Plan> plan = plan_of(cell.format(cell.width, cell.height),
                                      square(cell.kind, cell.side), kernel_named(cell.kernel));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_NEAR(plan.value().predicted_us / cell.microseconds, 1, 0.3)
        << cell.kernel << " " << cell.kind << " " << cell.side << " at " << cell.width << ": "
        << plan.value().predicted_us << " for " << cell.microseconds;
  }
}

// The cells of "Whole frames" are those of kernel=auto.
TEST(CostMeasured, ChoosesTheKernelsThatWereMeasuredToWin) {
  for (const Measured& cell : kMeasured) {
    const std::string kind = cell.kind;
    if (cell.format == grey8 && kind == "rank1") continue;
    const Result<Plan> plan =
        plan_of(cell.format(cell.width, cell.height), square(kind, cell.side));
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(kernel_info(plan.value().kernel()).nick, std::string(cell.kernel))
        << kind << " " << cell.side << " at " << cell.width;
  }
}

/// The kernels of kernel=auto and their order by prediction: "tensor coarsened".
std::string order_of(const FrameFormat& format, const std::string& mask) {
  std::vector<std::pair<double, std::string>> kernels;
  for (const KernelKind kernel : kChosenOnCuda)
    if (const Result<Plan> plan = plan_of(format, mask, kernel); plan.ok())
      kernels.emplace_back(plan.value().predicted_us, kernel_info(kernel).nick);
  std::sort(kernels.begin(), kernels.end());
  std::string text;
  for (const auto& kernel : kernels)
    text += (text.empty() ? "" : " ") + kernel.second;
  return text;
}

// Beside the planner's table of choices: who would be next. A change needs a measurement, too.
TEST(CostMeasured, TableOfOrders) {
  EXPECT_EQ(order_of(grey8(3840, 2160), "laplacian"), "tensor coarsened");
  EXPECT_EQ(order_of(grey8(3840, 2160), "box:5"), "tensor separable coarsened box");
  EXPECT_EQ(order_of(grey8(3840, 2160), "box:15"), "tensor separable box coarsened");
  EXPECT_EQ(order_of(grey8(3840, 2160), "gaussian:9"), "separable tensor coarsened");
  EXPECT_EQ(order_of(p010(3840, 2160), "box:5"), "tensor coarsened separable box");
  EXPECT_EQ(order_of(p010(3840, 2160), "box:15"), "tensor separable coarsened box");
  EXPECT_EQ(order_of(p010(3840, 2160), "laplacian"), "tensor coarsened");
  EXPECT_EQ(order_of(grey8(3840, 2160), "box:41"), "box separable tensor coarsened");
  EXPECT_EQ(order_of(grey8(3840, 2160), "box:101"), "box separable tensor coarsened");
  EXPECT_EQ(order_of(rgba(3840, 2160), "box:63"), "separable tensor box coarsened");
  // Measured on the H100: 74.2 us and, with 10,201 to divide by, 159.6.
  EXPECT_EQ(order_of(nv12(3840, 2160), "box:101").substr(0, 13), "box separable");
  // 95.1 us on tensor cores, 121.6 with running sums.
  EXPECT_EQ(order_of(yuy2(1920, 1080), "box:101").substr(0, 13), "separable box");
  // Sums of 16-bit samples that are multiplied, and those that are divided exactly.
  EXPECT_EQ(order_of(grey16(3840, 2160), "box:5").substr(0, 6), "tensor");
  EXPECT_EQ(order_of(rgba(3840, 2160), "box:21"), "tensor separable box coarsened");
  EXPECT_EQ(order_of(rgba(640, 480), "box:21"), "separable tensor box coarsened");
}

TEST(CostMeasured, MovedSamplesCostTheirBytes) {
  const auto predicted = [](const FrameFormat& of) {
    return plan_of(of, "3x1: 1 0 0", KernelKind::kShift).value().predicted_us;
  };
  // A tenth below what was measured: 7.4, 12.1, 25.6 and 89.7.
  EXPECT_NEAR(predicted(grey8(3840, 2160)), 6.9, 0.1);
  EXPECT_NEAR(predicted(nv12(3840, 2160)), 10.9, 0.1);
  EXPECT_NEAR(predicted(rgba_copied_alpha(3840, 2160)), 24.3, 0.1);
  EXPECT_NEAR(predicted(yuy2(3840, 2160)), 86, 5);
}

TEST(CostMeasured, PixelsArePartedByPairsAndQuads) {
  const FrameFormat format = rgba_copied_alpha(3840, 2160);
  const auto plan = [&format](const std::string& mask, std::optional<Form> form) {
    Options options;
    options.kernel = KernelKind::kTensor;
    options.form = form;
    return make_plan(format, mask_of(mask), options, h100()).value();
  };
  // Measured on the H100: 27.7, 29.8 and 29.7; quotients by 25: 30.2 and 33.6.
  const std::string five = square("rational", 5), nine = square("rational", 9);
  EXPECT_NEAR(plan(five, Form::kTensorPixelPairs).predicted_us, 27.7, 1.5);
  EXPECT_NEAR(plan(five, Form::kTensorPixelQuads).predicted_us, 29.8, 1);
  EXPECT_NEAR(plan(nine, Form::kTensorPixelQuads).predicted_us, 29.7, 1);
  EXPECT_NEAR(plan("box:5", Form::kTensorPixelPairs).predicted_us, 30.2, 1);
  EXPECT_NEAR(plan("box:5", Form::kTensorPixelQuads).predicted_us, 33.6, 3);
  EXPECT_EQ(plan("box:5", std::nullopt).form, Form::kTensorPixelPairs);
  EXPECT_EQ(plan("box:7", std::nullopt).form, Form::kTensorPixelQuads);
  EXPECT_EQ(plan("box:9", std::nullopt).form, Form::kTensorPixelQuads);
}

TEST(CostMeasured, QuadsOfPackedComponents) {
  const auto form = [](const FrameFormat& format, const std::string& mask) {
    return plan_of(format, mask, KernelKind::kTensor).value().form;
  };
  const FrameFormat format = yuy2(3840, 2160);
  // Measured on the H100, pairs and quads: 16.0 and 17.3, 20.5 and 21.5, 24.5 and 21.3 us.
  EXPECT_EQ(form(format, square("rational", 7)), Form::kTensorPackedPairs);
  // Quotients by 49: 19.8 and 17.9.
  EXPECT_EQ(form(format, "box:7"), Form::kTensorPackedQuads);
  EXPECT_EQ(form(format, square("positive", 5)), Form::kTensorPackedPairs);
  EXPECT_EQ(form(format, square("positive", 7)), Form::kTensorPackedQuads);
  EXPECT_EQ(form(format, square("rational", 9)), Form::kTensorPackedQuads);
  // 3.7 and 3.2.
  EXPECT_EQ(form(yuy2(640, 480), square("positive", 5)), Form::kTensorPackedQuads);
}

}  // namespace
}  // namespace convolve
