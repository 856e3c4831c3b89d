// SPDX-License-Identifier: LGPL-2.1-or-later
// The CPU's cost model by hand: what is counted, which row a machine gets, and what follows.
#include "kernels/core/plan/cpu_cost.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::cpu;
using unit::grey;
using unit::mask_of;
using unit::nv12;

Plan plan_of_form(const FrameFormat& format, const char* mask, Form form,
                  const DeviceCapabilities& device = cpu()) {
  Options options;
  options.form = form;
  const Result<Plan> plan = make_plan(format, mask_of(mask), options, device);
  EXPECT_TRUE(plan.ok()) << mask << ": " << plan.status().message();
  return plan.ok() ? plan.value() : Plan();
}

CostTerms work_of_form(const FrameFormat& format, const char* mask, Form form, int threads = 1) {
  return cpu_work_of(cpu_cost_constants(cpu()), plan_of_form(format, mask, form), format,
                     mask_of(mask), threads);
}

TEST(CpuCost, CountsRowsBytesAndSamples) {
  const CostTerms work = work_of_form(nv12(2000, 1000), "laplacian", Form::kCoarsened);
  EXPECT_DOUBLE_EQ(work[kCpuFrame], 1);
  EXPECT_DOUBLE_EQ(work[kCpuRows], 2) << "luma, and two components of chroma";
  EXPECT_DOUBLE_EQ(work[kCpuMegabytes], 6);
  EXPECT_DOUBLE_EQ(work[kCpuSamples], 3);
  EXPECT_DOUBLE_EQ(work[kCpuApart], 1);
  EXPECT_DOUBLE_EQ(work[kCpuWork], 27);
  const CostTerms words = work_of_form(grey(1000, 1000, 16), "laplacian", Form::kCoarsened);
  EXPECT_DOUBLE_EQ(words[kCpuMegabytes], 4);
}

TEST(CpuCost, CountsUnitsOfWork) {
  const FrameFormat format = grey(1000, 1000);
  const auto work = [&](const char* mask, Form form, int threads = 1) {
    return work_of_form(format, mask, form, threads)[kCpuWork];
  };
  EXPECT_DOUBLE_EQ(work("box:5,7", Form::kSeparableDots), 12);
  const char* const skewed = "3x2: 1 2 3; 2 4 6";
  EXPECT_DOUBLE_EQ(work(skewed, Form::kSeparableAreas), 3 * 1.001 + 2);
  EXPECT_DOUBLE_EQ(work(skewed, Form::kSeparableTwoPass), 5);
  // Taps that share a product.
  constexpr double kFolded = 2 / 3.0;
  EXPECT_DOUBLE_EQ(work("box:5,11", Form::kSeparableAreas), kFolded * (5 * 1.01 + 11));
  EXPECT_DOUBLE_EQ(work("box:5,11", Form::kSeparableAreas, 10), kFolded * (5 * 1.1 + 11));
  EXPECT_DOUBLE_EQ(work("box:5,11", Form::kSeparableTwoPass), kFolded * 16);
  EXPECT_DOUBLE_EQ(work("3x2: 1 2 1; 2 4 2", Form::kSeparableTwoPass), kFolded * 3 + 2);
  EXPECT_DOUBLE_EQ(work("box:5,11", Form::kBoxRuns), 0.005 + 0.011);
  EXPECT_DOUBLE_EQ(work("identity", Form::kShift), 0);
  EXPECT_DOUBLE_EQ(work("box:5", Form::kBasic), 25);
  EXPECT_DOUBLE_EQ(work("gaussian:100", Form::kSeparableSpline),
                   (601 / 256.0 + 8 * 16 + 601 / 32.0) / 32 + 8);
}

TEST(CpuCost, CountsDotProductsAsTheInstructionSetHasThem) {
  const auto work = [](const char* mask, const char* instruction_set, int depth = 8) {
    DeviceCapabilities device = cpu();
    device.name = instruction_set;
    const FrameFormat format = grey(1000, 1000, depth);
    return cpu_work_of(cpu_cost_constants(device),
                       plan_of_form(format, mask, Form::kCoarsenedDots, device), format,
                       mask_of(mask), 1)[kCpuWork];
  };
  EXPECT_DOUBLE_EQ(work("box:5", "AVX3_DL"), 10) << "two quads a row";
  EXPECT_DOUBLE_EQ(work("2x2: 70000 1 3 100000", "AVX3_DL"), 6) << "three digits";
  EXPECT_DOUBLE_EQ(work("box:5", "AVX2"), 15) << "three pairs a row";
  EXPECT_DOUBLE_EQ(work("2x2: 7000 1 3 10000", "AVX2"), 2) << "two digits in a pair";
  EXPECT_DOUBLE_EQ(work("2x2: 70000 1 3 100000", "AVX2"), 4) << "three digits";
  EXPECT_DOUBLE_EQ(work("box:5", "AVX2", 16), 15) << "two bytes of a sample, too";
}

TEST(CpuCost, CountsRowSumsThatAreWrittenAndReadAgain) {
  const FrameFormat format = grey(1000, 1000);
  EXPECT_DOUBLE_EQ(work_of_form(format, "box:5", Form::kSeparableAreas)[kCpuMegabytes], 2);
  EXPECT_DOUBLE_EQ(work_of_form(format, "box:5", Form::kSeparableTwoPass)[kCpuMegabytes], 10);
}

TEST(CpuCost, CodesByDivisionAreCounted) {
  const FrameFormat format = grey(1000, 1000);
  EXPECT_DOUBLE_EQ(work_of_form(format, "box:6", Form::kCoarsened)[kCpuDivided], 1);
  EXPECT_DOUBLE_EQ(work_of_form(format, "box:5", Form::kCoarsened)[kCpuDivided], 0);
  EXPECT_DOUBLE_EQ(work_of_form(format, "box:63", Form::kBoxRuns)[kCpuDivided], 0);
  EXPECT_DOUBLE_EQ(work_of_form(format, "box:255", Form::kBoxRuns)[kCpuDouble], 0);
  EXPECT_DOUBLE_EQ(work_of_form(format, "box:66,62", Form::kBoxRuns)[kCpuDivided], 1) << "ties";
  EXPECT_DOUBLE_EQ(work_of_form(format, "box:258,256", Form::kBoxRuns)[kCpuDouble], 1) << "ties";
}

TEST(CpuCost, EveryClassHasItsConstantsInEveryRow) {
  ASSERT_FALSE(cpu_cost_table().empty());
  for (const CpuCostConstants& row : cpu_cost_table())
    for (int c = 0; c < kCpuCostClassCount; ++c) {
      double sum = 0;
      for (const double constant : row.terms[static_cast<std::size_t>(c)]) {
        EXPECT_GE(constant, 0);
        sum += constant;
      }
      EXPECT_GT(sum, 0) << row.instruction_set << ", "
                        << cpu_cost_class_name(static_cast<CpuCostClass>(c));
      EXPECT_STRNE(cpu_cost_class_name(static_cast<CpuCostClass>(c)), "?");
    }
}

TEST(CpuCost, RowsAreOfTheDevicesInstructions) {
  DeviceCapabilities device = cpu();
  for (const char* name : {"AVX3_DL", "AVX3", "AVX2", "SSE4", "SCALAR"}) {
    device.name = name;
    EXPECT_STREQ(cpu_cost_constants(device).instruction_set, name);
    EXPECT_FALSE(cpu_cost_constants(device).derived);
  }
  device.name = "NEON";
  EXPECT_TRUE(cpu_cost_constants(device).derived);
  device.name = "of tomorrow";
  EXPECT_EQ(&cpu_cost_constants(device), &cpu_cost_table().back());
}

TEST(CpuCost, ThreadsShareAllButTheFrame) {
  const FrameFormat format = grey(1920, 1080);
  const Mask mask = mask_of("laplacian");
  const Plan plan = plan_of_form(format, "laplacian", Form::kCoarsened);
  CpuCostConstants constants;
  CostTerms& terms = constants.terms[static_cast<std::size_t>(cpu_cost_class(plan, format))];
  terms[kCpuFrame] = 10;
  terms[kCpuRows] = 1;
  const auto predicted = [&](int threads) {
    return cpu_predicted_microseconds(constants, plan, format, mask, threads);
  };
  EXPECT_DOUBLE_EQ(predicted(1), 10 + 1.08);
  EXPECT_DOUBLE_EQ(predicted(4), 10 + 1.08 / 4);
}

TEST(CpuCost, PlansSayWhatTheyTake) {
  for (const KernelKind kernel : {KernelKind::kAuto, KernelKind::kCoarsened}) {
    Options options;
    options.kernel = kernel;
    const Plan plan = make_plan(grey(640, 480), mask_of("box:5"), options, cpu()).value();
    EXPECT_GT(plan.predicted_us, 1);
    EXPECT_NE(plan.to_string().find(", about "), std::string::npos);
  }
}

}  // namespace
}  // namespace convolve
