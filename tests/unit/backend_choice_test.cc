// SPDX-License-Identifier: LGPL-2.1-or-later
// Which backend `auto` takes for frames in system memory.
#include "kernels/core/plan/backend_choice.h"

#include <gtest/gtest.h>

#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::grey;
using unit::nv12;

Plan taking(double us) {
  Plan plan;
  plan.predicted_us = us;
  return plan;
}

// Measured figures: what a 9x9 mask took in page-locked pools on an H100.
TEST(BackendChoice, FramesOnCudaCostWhatWasMeasured) {
  const FrameCost small = cuda_frame_cost(nv12(640, 480), taking(5));
  EXPECT_NEAR(small.frame_us, 35, 1);
  EXPECT_NEAR(small.processor_us, 45, 1);
  const FrameCost hd = cuda_frame_cost(nv12(1920, 1080), taking(7));
  EXPECT_NEAR(hd.frame_us, 66, 2);
  EXPECT_NEAR(hd.processor_us, 48, 2);
  const FrameCost uhd = cuda_frame_cost(nv12(3840, 2160), taking(13));
  EXPECT_NEAR(uhd.frame_us, 266, 3);
  EXPECT_NEAR(uhd.processor_us, 63, 2);
  EXPECT_EQ(cuda_frame_cost(grey(640, 480), taking(1000)).frame_us, 1000) << "a kernel that binds";
}

TEST(BackendChoice, TheCpuMustBeAheadInTimeAndInWork) {
  EXPECT_TRUE(costs_less({30, 30}, {35, 44}));
  EXPECT_FALSE(costs_less({36, 36}, {35, 44})) << "slower";
  EXPECT_FALSE(costs_less({30, 60}, {35, 44})) << "two threads";
  EXPECT_TRUE(costs_less({40, 40}, {1000, 44})) << "a kernel that takes long";
  EXPECT_FALSE(costs_less({0, 0}, {35, 44})) << "nobody knows";
}

TEST(BackendChoice, ThreadsShareTheWorkAndDoNotAddToIt) {
  const FrameFormat format = grey(640, 480);
  const Mask mask = unit::mask_of("laplacian");
  DeviceCapabilities one = unit::cpu(), many = unit::cpu();
  one.threads = 1;
  many.threads = 64;
  const auto cost = [&](const DeviceCapabilities& device) {
    return cpu_frame_cost(format, mask, make_plan(format, mask, {}, device).value(), device);
  };
  EXPECT_DOUBLE_EQ(cost(one).frame_us, cost(one).processor_us);
  EXPECT_LT(cost(many).frame_us, cost(one).frame_us);
  EXPECT_DOUBLE_EQ(cost(many).processor_us, cost(one).processor_us);
}

// What sixteen threads of a Xeon took beside an H100, one of them where that was less: 38 us for
// NV12 of 160x120 at 3x3, for 31 on CUDA.
TEST(BackendChoice, TheCpuIsForThumbnails) {
  DeviceCapabilities device = unit::cpu();
  device.name = "AVX3_DL";
  device.threads = 16;
  const Mask mask = unit::mask_of("laplacian");
  const auto cheaper = [&](int width, int height) {
    const FrameFormat format = nv12(width, height);
    return costs_less(
        cpu_frame_cost(format, mask, make_plan(format, mask, {}, device).value(), device),
        cuda_frame_cost(format, taking(5)));
  };
  EXPECT_TRUE(cheaper(32, 24));
  EXPECT_TRUE(cheaper(64, 48));
  EXPECT_FALSE(cheaper(160, 120));
  EXPECT_FALSE(cheaper(640, 480));
}

TEST(BackendChoice, LargeFramesNeedNoPlanOfTheCpu) {
  EXPECT_TRUE(cpu_may_cost_less(nv12(640, 480)));
  EXPECT_FALSE(cpu_may_cost_less(nv12(1280, 720)));
}

}  // namespace
}  // namespace convolve
