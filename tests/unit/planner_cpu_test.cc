// SPDX-License-Identifier: LGPL-2.1-or-later
// What the planner chooses among the forms of the CPU: dot products, running sums and two passes.
#include <gtest/gtest.h>

#include "kernels/core/plan/plan.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::cpu;
using unit::forced;
using unit::grey;
using unit::h100;
using unit::mask_of;
using unit::plan_text;

// Where one pass of dot products costs less than two passes over a mask of rank 1.
TEST(CpuPlanner, TableOfDotProducts) {
  DeviceCapabilities device = cpu();
  device.name = "AVX3_DL";
  const struct {
    const char* mask;
    const char* plan;
  } table[] = {
      {"laplacian", "cpu coarsened-dots 1 digit int32 rational host-memory (3x3, dot products)"},
      {"sobel-x",
       "cpu coarsened-dots 1 digit int32 rational host-memory (3x3, rank 1 but small: dot "
       "products)"},
      {"disk:7.5", "cpu coarsened-dots 2 digits int32 real host-memory (15x15, dot products)"},
      {"3x1: 1000 1 -200",
       "cpu coarsened-dots 2 digits int32 rational host-memory (3x1, rank 1 but small: dot "
       "products)"},
      {"2x2: 70000 1 3 100000",
       "cpu coarsened-dots 3 digits int32 rational host-memory (2x2, dot products)"},
      {"2x2: 70000000 1 3 100000",
       "cpu coarsened float64 rational host-memory (2x2, several outputs per thread)"},
      {"box:11", "cpu box-runs int32 rational host-memory (11x11, equal weights: running sums)"},
      {"gaussian:0.3",
       "cpu coarsened-dots 2 digits int32 real host-memory (3x3, rank 1 but small: dot products)"},
      {"gaussian:1",
       "cpu separable-dots int32 real host-memory (7x7, rank 1: 14 taps instead of 49)"},
      {"binomial:7",
       "cpu separable-dots int32 rational host-memory (7x7, rank 1: 14 taps instead of 49)"},
      {"gaussian:2",
       "cpu separable-dots int32 real host-memory (13x13, rank 1: 26 taps instead of 169)"},
      {"identity", "cpu shift float32 rational host-memory (1x1, one tap: samples are moved)"},
  };
  for (const auto& choice : table)
    EXPECT_EQ(plan_text(choice.mask, device), choice.plan);
  EXPECT_EQ(plan_text("laplacian", device, {}, 10),
            "cpu coarsened-dots 1 digit int32 rational host-memory (3x3, dot products)");
  EXPECT_EQ(plan_text("laplacian", cpu(), {}, 10),
            "cpu coarsened-dots 1 digit int32 rational host-memory (3x3, dot products)");
  // Sums of codes of 16 bits leave 32 bits where weights are not small, and floats where there are
  // many, too.
  EXPECT_EQ(plan_text("2x2: 70000 1 3 100000", device, {}, 16),
            "cpu coarsened-dots 3 digits float64 rational host-memory (2x2, dot products)");
  EXPECT_EQ(plan_text("disk:2", device, {}, 16),
            "cpu coarsened float32 real host-memory (5x5, several outputs per thread)");
  EXPECT_EQ(plan_text("disk:5.5", device, {}, 16),
            "cpu coarsened-dots 2 digits float64 real host-memory (11x11, dot products)");
}

// Sums of bytes beat all else at any size; those of wider samples take more.
TEST(CpuPlanner, RunningSumsOfWiderSamplesAreForLargeBoxes) {
  EXPECT_EQ(plan_text("box:3", cpu()),
            "cpu box-runs int32 rational host-memory (3x3, equal weights: running sums)");
  EXPECT_EQ(
      plan_text("box:7", cpu(), {}, 10),
      "cpu separable-areas float32 rational host-memory (7x7, rank 1: 14 taps instead of 49)");
  FrameFormat shifted = grey(64, 48);
  shifted.planes[0].components[0].depth = 6;
  shifted.planes[0].components[0].shift = 2;
  EXPECT_NE(make_plan(shifted, mask_of("box:7"), {}, cpu()).value().form, Form::kBoxRuns);
  EXPECT_EQ(plan_text("box:16", cpu(), {}, 10),
            "cpu box-runs int32 rational host-memory (16x16, equal weights: running sums)");
}

TEST(CpuPlanner, PairsOfLinesAreForMasksThatFitTheCache) {
  Options options;
  options.form = Form::kSeparableDots;
  options.scale = 0.7234567891;  // So that the mask is real.
  const auto serves = [&](const char* mask) {
    return make_plan(grey(64, 48), mask_of(mask), options, cpu()).ok();
  };
  EXPECT_TRUE(serves("box:3,512"));
  EXPECT_FALSE(serves("box:3,513"));
}

TEST(CpuPlanner, DotProductsServeWhereTheyAreAskedFor) {
  Options options;
  options.form = Form::kCoarsenedDots;
  EXPECT_EQ(plan_text("laplacian", cpu(), options),
            "cpu coarsened-dots 1 digit int32 rational host-memory (3x3, as asked)");
  EXPECT_EQ(plan_text("laplacian", cpu(), options, 16),
            "cpu coarsened-dots 1 digit int32 rational host-memory (3x3, as asked)");
  EXPECT_NE(plan_text("laplacian", cpu(), options, 6).find("size: samples of less than 8 bits"),
            std::string::npos);
  EXPECT_NE(plan_text("laplacian", h100(), options).find("device: the cuda backend does not have"),
            std::string::npos);
  FrameFormat shifted = grey(64, 48);
  shifted.planes[0].components[0].depth = 6;
  shifted.planes[0].components[0].shift = 2;
  EXPECT_FALSE(make_plan(shifted, mask_of("laplacian"), options, cpu()).ok());
  // Alpha is filtered by another form than the colour that it weights.
  DeviceCapabilities device = cpu();
  device.name = "AVX3_DL";
  Options weighted;
  weighted.alpha_mode = AlphaMode::kPremultiplied;
  EXPECT_EQ(make_plan(unit::rgba(64, 48), mask_of("laplacian"), weighted, device).value().form,
            Form::kCoarsened);
}

// Forms round differently, and threads must not change a code.
TEST(CpuPlanner, TheChoiceDoesNotDependOnThreads) {
  DeviceCapabilities one = cpu(), many = cpu();
  one.threads = 1;
  many.threads = 64;
  for (const char* mask : {"gaussian:1", "gaussian:3", "gaussian:8", "box:5", "disk:2", "disk:9"})
    for (const char* instructions : {"AVX3_DL", "AVX2", "SSE4", "SCALAR"})
      for (const int depth : {8, 16}) {
        one.name = many.name = instructions;
        const FrameFormat format = grey(127, 65, depth);
        const Plan a = make_plan(format, mask_of(mask), {}, one).value();
        const Plan b = make_plan(format, mask_of(mask), {}, many).value();
        EXPECT_EQ(a.kernel(), b.kernel()) << mask << ", " << instructions << ", " << depth;
        EXPECT_EQ(a.accumulator, b.accumulator) << mask << ", " << instructions << ", " << depth;
        EXPECT_EQ(a.digits, b.digits) << mask << ", " << instructions << ", " << depth;
      }
}

TEST(CpuPlanner, SmallFramesHaveFewThreads) {
  DeviceCapabilities device = cpu();
  device.threads = 16;
  const auto threads = [&](int width, int height, const char* mask) {
    return make_plan(grey(width, height), mask_of(mask), {}, device).value().threads;
  };
  EXPECT_EQ(threads(64, 48, "laplacian"), 1);
  EXPECT_GT(threads(640, 480, "laplacian"), 1);
  EXPECT_LT(threads(640, 480, "laplacian"), 16);
  EXPECT_EQ(threads(1920, 1080, "disk:3"), 16);
  device.threads = 2;
  EXPECT_EQ(threads(1920, 1080, "disk:3"), 2);
  // A day of one thread.
  device.name = "SCALAR";
  Options basic = forced(KernelKind::kBasic);
  EXPECT_EQ(make_plan(grey(32000, 32000), mask_of("disk:127"), basic, device).value().threads, 2);
}

// What an area adds to the row sums of others decides: its share of the rows against the mask's.
TEST(CpuPlanner, AreasOnTheCpuUntilTheirHalosCostHalf) {
  DeviceCapabilities device = cpu();
  const auto form_of = [&](int height, const char* mask, std::optional<Form> asked = {}) {
    Options options = forced(KernelKind::kSeparable);
    options.form = asked;
    return make_plan(grey(640, height, 10), mask_of(mask), options, device).value().form;
  };
  EXPECT_EQ(form_of(480, "box:5,61"), Form::kSeparableAreas);
  EXPECT_EQ(form_of(480, "box:5,62"), Form::kSeparableTwoPass);
  EXPECT_EQ(form_of(476, "box:5,61"), Form::kSeparableTwoPass);
  device.threads = 1;
  EXPECT_EQ(form_of(480, "box:5,241"), Form::kSeparableAreas);
  EXPECT_EQ(form_of(480, "box:5,242"), Form::kSeparableTwoPass);
  for (const Form asked : {Form::kSeparableAreas, Form::kSeparableTwoPass})
    for (const char* mask : {"box:5", "gaussian:100"})
      EXPECT_EQ(form_of(16, mask, asked), asked) << "both serve all masks of rank 1";
  // Chroma has half the rows, and colour that is weighted by alpha a kernel of its own.
  FrameFormat not_bytes = unit::nv12(64, 480);
  not_bytes.planes[1].components[0].depth = 7;
  EXPECT_EQ(make_plan(not_bytes, mask_of("box:5,241"), forced(KernelKind::kSeparable), device)
                .value()
                .form,
            Form::kSeparableAreas);
}

}  // namespace
}  // namespace convolve
