// SPDX-License-Identifier: LGPL-2.1-or-later
// The cost model by hand: what is counted, regimes, rows and how they scale.
#include "kernels/core/plan/cost.h"
#include "kernels/core/plan/tensor_forms.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::grey;
using unit::h100;
using unit::i420;
using unit::mask_of;
using unit::nv12;
using unit::plan_of;
using unit::rgba;

TEST(Cost, CountsTensorProducts) {
  const auto products = [](const FrameFormat& format, int plane, const char* mask, int digits) {
    return tensor_products(Form::kTensorColumns, format.planes[plane], mask_of(mask), digits);
  };
  const FrameFormat luma = grey(640, 480);
  EXPECT_EQ(products(luma, 0, "identity", 1), 1);
  EXPECT_EQ(products(luma, 0, "box:3", 1), 3);
  EXPECT_EQ(products(luma, 0, "box:3", 2), 6);
  // 16 outputs and the 8 bytes to their left that a window starts with see 17 columns in 32 bytes.
  EXPECT_EQ(products(luma, 0, "box:17", 1), 17);
  EXPECT_EQ(products(luma, 0, "box:18", 1), 2 * 18)
      << "its anchor is 9, so windows start 16 before";
  EXPECT_EQ(products(luma, 0, "box:31", 3), 3 * 2 * 31);
  EXPECT_EQ(products(luma, 0, "box:1,31", 1), 31);
  // Taps lie apart: two bytes in the chroma of NV12, four in RGBA.
  EXPECT_EQ(products(nv12(640, 480), 1, "box:9", 1), 9);
  EXPECT_EQ(products(nv12(640, 480), 1, "box:15", 1), 2 * 15);
  EXPECT_EQ(products(rgba(640, 480), 0, "box:7", 1), 2 * 7);
}

/// Of the second regime, which is a device full of tiles.
const CostTerms& full(const LaunchWork& launch) {
  return launch.regimes.back();
}

TEST(Cost, CountsWorkLaunchByLaunch) {
  const FrameFormat format = nv12(256, 64);
  const Mask mask = mask_of("box:5");
  const Plan coarsened = plan_of(format, "box:5", KernelKind::kCoarsened).value();
  const std::vector<LaunchWork> launches = work_of(coarsened, format, mask, 132);
  ASSERT_EQ(launches.size(), 2u) << "luma, chroma";
  EXPECT_DOUBLE_EQ(full(launches[0])[kCostMegabytes], 2 * 256 * 64 / 1e6);
  EXPECT_DOUBLE_EQ(full(launches[0])[kCostSamples], 256 * 64 / 1e6);
  EXPECT_DOUBLE_EQ(full(launches[0])[kCostWork], 25 * 256 * 64 / 1e6);
  EXPECT_DOUBLE_EQ(full(launches[0])[kCostSpread], 0);
  EXPECT_DOUBLE_EQ(full(launches[1])[kCostSamples], 2 * 128 * 32 / 1e6);
  EXPECT_DOUBLE_EQ(full(launches[1])[kCostSpread], 2 * 128 * 32 / 1e6);
  EXPECT_DOUBLE_EQ(launches[1].regimes[0][kCostLoneTile], 1);
  EXPECT_DOUBLE_EQ(launches[1].regimes[0][kCostLoneWork], 25);

  // Rows of the halo are summed, too: 36 of them for a tile of 32.
  const FrameFormat deep = grey(256, 64, 16);
  const Plan separable = plan_of(deep, "box:5", KernelKind::kSeparable).value();
  EXPECT_DOUBLE_EQ(work_of(separable, deep, mask, 132)[0].regimes[0][kCostLoneWork],
                   36 / 32.0 * 5 + 5);

  // On tensor cores 32 outputs see two chunks of 32 on either axis; the row's two digits meet
  // samples, the column's one digit both bytes of the sums.
  const Plan digits = plan_of(format, "box:5", KernelKind::kSeparable).value();
  EXPECT_DOUBLE_EQ(work_of(digits, format, mask, 132)[0].regimes[0][kCostLoneWork],
                   2 * 2 * 1.25 + 2 * 2)
      << "a chunk of five is summed again";
  EXPECT_DOUBLE_EQ(full(work_of(digits, rgba(256, 64), mask, 132)[0])[kCostSpread],
                   3 * 4 * 256 * 64 / 1e6);
  // Two passes: 64 rows of outputs ask for 64 + 300 rows of sums.
  const Mask long_mask = mask_of("gaussian:50");
  Options options;
  options.kernel = KernelKind::kSeparable;
  options.form = Form::kSeparableTensorTwoPass;
  const Plan two_pass = make_plan(format, long_mask, options, h100()).value();
  EXPECT_DOUBLE_EQ(work_of(two_pass, format, long_mask, 132)[0].regimes[0][kCostLoneWork],
                   2 * 11 * 364 / 64.0 + 3 * 11);
  // On a grid of four pixels, each convolved with 301 / 4 of them; ghosts on both axes.
  options.form = Form::kSeparableSpline;
  const Plan coarse = make_plan(format, long_mask, options, h100()).value();
  EXPECT_DOUBLE_EQ(work_of(coarse, format, long_mask, 132)[0].regimes[0][kCostLoneWork],
                   301 / 16.0 + 4 * (557 / 256.0) * (365 / 64.0));

  const Plan tensor = plan_of(format, "box:5", KernelKind::kTensor).value();
  const std::vector<LaunchWork> one = work_of(tensor, format, mask, 132);
  ASSERT_EQ(one.size(), 1u) << "all planes at once";
  ASSERT_EQ(one[0].regimes.size(), 3u);
  EXPECT_DOUBLE_EQ(full(one[0])[kCostMegabytes], 2 * 256 * 96 / 1e6);
  EXPECT_DOUBLE_EQ(full(one[0])[kCostWork], 3 * 256 * 96 / 1e6) << "pairs, chroma parted";

  // Pictures are taken in whole tiles of 128 x 32.
  const FrameFormat odd = grey(129, 33);
  EXPECT_DOUBLE_EQ(full(work_of(coarsened, odd, mask, 132)[0])[kCostSamples], 4 * 128 * 32 / 1e6);
}

// A launch of tiles in shared memory lasts as long as the processor that has most of them.
TEST(Cost, TheBusiestProcessorsTilesCount) {
  const Mask mask = mask_of("box:17");
  const auto samples = [&mask](const FrameFormat& format, Form form, int processors) {
    Options options;
    options.kernel = KernelKind::kTensor;
    options.form = form;
    const Plan plan = make_plan(format, mask, options, h100()).value();
    const std::vector<LaunchWork> launches = work_of(plan, format, mask, processors);
    return full(launches[0])[kCostSamples] * 1e6 / processors;
  };
  // 255 tiles of luma and twice 72 of chroma.
  EXPECT_DOUBLE_EQ(samples(i420(1920, 1080), Form::kTensorWarpgroups, 132), 4 * 128 * 64);
  EXPECT_DOUBLE_EQ(samples(i420(1920, 1080), Form::kTensorWarpgroups, 133), 3 * 128 * 64);
  EXPECT_DOUBLE_EQ(samples(grey(1920, 1080), Form::kTensorWarpgroups, 132), 2 * 128 * 64);
  EXPECT_DOUBLE_EQ(samples(grey(100, 30), Form::kTensorWarpgroups, 132), 128 * 64);
  // Two components take a tile together: processors 0 to 62 have two of 255, then 72 more.
  EXPECT_DOUBLE_EQ(samples(nv12(1920, 1080), Form::kTensorWarpgroups, 132), (2 + 2) * 128 * 64);
  EXPECT_DOUBLE_EQ(samples(grey(1920, 1080), Form::kTensorTiles, 132), 3 * 256 * 32);
  EXPECT_DOUBLE_EQ(samples(nv12(256, 64), Form::kTensorWarpgroups, 132), 2 * 128 * 64)
      << "the third processor has chroma, the first two a tile of luma each";
}

TEST(Cost, RunningSumsHardlyAskForTheSizeOfTheMask) {
  const FrameFormat format = nv12(256, 64);
  const Plan box = plan_of(format, "box:9,5", KernelKind::kBox).value();
  const std::vector<LaunchWork> launches = work_of(box, format, mask_of("box:9,5"), 132);
  ASSERT_EQ(launches.size(), 2u) << "luma, chroma";
  EXPECT_DOUBLE_EQ(launches[0].regimes[0][kCostLoneWork], 9 + 5);
  EXPECT_DOUBLE_EQ(full(launches[0])[kCostSamples], 256 * 64 / 1e6);
  EXPECT_DOUBLE_EQ(full(launches[0])[kCostWork], 14 * 256 * 64 / 1e6);
  EXPECT_DOUBLE_EQ(full(launches[1])[kCostSpread], 2 * 128 * 32 / 1e6);

  const auto predicted = [](const FrameFormat& of, const char* mask) {
    return plan_of(of, mask, KernelKind::kBox).value().predicted_us;
  };
  EXPECT_NEAR(predicted(grey(3840, 2160), "box:31"), 12.4, 0.1) << "in bands";
  EXPECT_NEAR(predicted(grey(3840, 2160), "box:127"), 12.4, 0.1) << "in bands";
  EXPECT_NEAR(predicted(grey(3840, 2160), "box:401"), 12.6, 0.1) << "in bands";
  EXPECT_NEAR(predicted(grey(3840, 2160, 16), "box:15"), 40.1, 0.1) << "not on tensor cores";
  EXPECT_NEAR(predicted(grey(3840, 2160, 16), "box:127"), 58.8, 0.1);
}

TEST(Cost, PlanesThatAreCopiedCostNothing) {
  FrameFormat format = nv12(256, 64);
  for (int c = 0; c < 2; ++c)
    format.planes[1].components[c].filtered = false;
  for (const KernelKind kernel : {KernelKind::kCoarsened, KernelKind::kTensor}) {
    const Plan plan = plan_of(format, "box:5", kernel).value();
    EXPECT_DOUBLE_EQ(plan.predicted_us,
                     plan_of(grey(256, 64), "box:5", kernel).value().predicted_us);
  }
}

TEST(Cost, TheDearerRegimeDecides) {
  LaunchWork launch;
  launch.regimes.resize(2);
  launch.regimes[0][kCostLoneTile] = 1;
  launch.regimes[1][kCostSamples] = 2;
  CostTerms constants{};
  constants[kCostLoneTile] = 10;
  constants[kCostSamples] = 3;
  EXPECT_DOUBLE_EQ(launch_microseconds(constants, launch), 10);
  constants[kCostSamples] = 6;
  EXPECT_DOUBLE_EQ(launch_microseconds(constants, launch), 12);
}

TEST(Cost, OnlyTheMeasuredRowIsNotDerived) {
  int before = 0;
  for (const CostConstants& row : cost_table()) {
    EXPECT_EQ(row.derived, row.compute_capability != 90) << row.gpu;
    EXPECT_GT(row.compute_capability, before);
    before = row.compute_capability;
  }
}

TEST(Cost, RowsServeTheirNeighbours) {
  const auto row = [](int compute_capability) {
    DeviceCapabilities device = h100();
    device.compute_capability = compute_capability;
    return cost_constants(device).compute_capability;
  };
  EXPECT_EQ(row(90), 90);
  EXPECT_EQ(row(87), 86);
  EXPECT_EQ(row(103), 100);
  EXPECT_EQ(row(121), 120);
  EXPECT_EQ(row(61), 75) << "the oldest";
}

// Half the processors take twice as long where tiles fill the device, and as long for a lone tile.
TEST(Cost, ScalesByWhatIsKnownOfTheDevice) {
  const CostTerms measured = cost_constants(h100()).of(CostClass::kCoarsenedFloat32);
  DeviceCapabilities half = h100();
  half.processors = 66;
  half.clock_mhz = 1980;
  half.gigabytes_a_second = 1676;
  const CostTerms terms = cost_constants(half).of(CostClass::kCoarsenedFloat32);
  EXPECT_DOUBLE_EQ(terms[kCostLaunch], measured[kCostLaunch]);
  EXPECT_DOUBLE_EQ(terms[kCostLoneWork], measured[kCostLoneWork]);
  EXPECT_DOUBLE_EQ(terms[kCostWork], 2 * measured[kCostWork]);
  EXPECT_DOUBLE_EQ(terms[kCostMegabytes], 2 * measured[kCostMegabytes]);
  half.clock_mhz = 990;
  const CostTerms slow = cost_constants(half).of(CostClass::kCoarsenedFloat32);
  EXPECT_DOUBLE_EQ(slow[kCostLoneWork], 2 * measured[kCostLoneWork]);
  EXPECT_DOUBLE_EQ(slow[kCostWork], 4 * measured[kCostWork]);
}

// GeForce cards have 1/64 of the FP64 rate: doubles cost them dearly, floats do not.
TEST(Cost, WorkIsScaledByItsRate) {
  DeviceCapabilities ada = h100();
  ada.compute_capability = 89;
  const CostConstants geforce = cost_constants(ada), h = cost_constants(h100());
  const auto ratio = [&](CostClass cost_class, CostTerm term) {
    return geforce.of(cost_class)[term] / h.of(cost_class)[term];
  };
  const double device = 132.0 * 1980 / (128.0 * 2520);
  EXPECT_NEAR(ratio(CostClass::kCoarsenedFloat32, kCostWork), device, 1e-12);
  EXPECT_NEAR(ratio(CostClass::kCoarsenedFloat64, kCostWork), 32 * device, 1e-12);
  EXPECT_NEAR(ratio(CostClass::kCoarsenedFloat32, kCostDouble), 32 * device, 1e-12);
  EXPECT_NEAR(ratio(CostClass::kTensorColumns, kCostWork), 2730 / 1024.0 * device, 1e-12);
}

TEST(Cost, PlansShowTheirPrediction) {
  Plan plan = plan_of(grey(3840, 2160), "box:5").value();
  const auto shown = [&plan](double us) {
    plan.predicted_us = us;
    const std::string text = plan.to_string();
    const std::size_t at = text.find(", about ");
    return at == std::string::npos ? "" : text.substr(at + 2, text.find(" (") - at - 2);
  };
  EXPECT_GT(plan.predicted_us, 5);
  EXPECT_EQ(shown(0.2), "about 1 us");
  EXPECT_EQ(shown(7.4), "about 7 us");
  EXPECT_EQ(shown(12.4), "about 12 us");
  EXPECT_EQ(shown(99.8), "about 100 us");
  EXPECT_EQ(shown(26927), "about 27000 us");
  EXPECT_EQ(shown(0), "");
}

TEST(Cost, NobodyPredictsWeightedColour) {
  Options premultiplied;
  premultiplied.alpha_mode = AlphaMode::kPremultiplied;
  const Result<Plan> weighted =
      make_plan(rgba(640, 480, true), mask_of("box:5"), premultiplied, h100());
  ASSERT_TRUE(weighted.ok());
  EXPECT_EQ(weighted.value().predicted_us, 0);
}

}  // namespace
}  // namespace convolve
