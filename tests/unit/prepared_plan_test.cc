// SPDX-License-Identifier: LGPL-2.1-or-later
// What a mask becomes for a plan: made once, what the form computes with, and proven for its scale.
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "kernels/core/plan/planner_kernels.h"
#include "kernels/core/plan/prepared_plan.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::cpu;
using unit::grey;
using unit::h100;
using unit::mask_of;

constexpr const char* kMasks[] = {
    "identity",   "box:5",  "box:31",  "laplacian",    "sobel-x",    "disk:3",        "gaussian:2",
    "gaussian:5", "disk:9", "box:301", "gaussian:100", "3x1: 0 0 1", "5x1: 1 2 3 2 1"};

/// The options under which a mask is planned: every kernel, and every form.
std::vector<Options> all_options() {
  std::vector<Options> all;
  for (const KernelInfo& info : kKernels) {
    Options options;
    options.kernel = info.kind;
    all.push_back(options);
  }
  for (const FormInfo& info : kForms) {
    Options options;
    options.form = info.form;
    all.push_back(options);
  }
  return all;
}

template <class T>
std::string name_if(const PreparedWeights& weights, const char* name) {
  return weights.as<T>() != nullptr ? name : "";
}

std::string representation_name(const PreparedWeights& weights) {
  return name_if<std::monostate>(weights, "none") + name_if<DigitWeights>(weights, "digits") +
         name_if<SplitDigits>(weights, "split digits") +
         name_if<SeparableDigits>(weights, "separable digits") +
         name_if<SeparableIntegers>(weights, "separable integers") +
         name_if<SplineMask>(weights, "spline mask") + name_if<BoxWeight>(weights, "box weight") +
         name_if<Shift>(weights, "shift");
}

/// What the chosen form on an H100 computes with.
std::string prepared_for(const char* mask, int depth = 8, Options options = {}) {
  const auto planned = prepare_plan(grey(3840, 2160, depth), mask_of(mask), options, h100());
  return planned.ok() ? representation_name(*planned.value().weights) : planned.status().message();
}

// Whatever is planned again from the same preparation finds all that it asks for.
TEST(WeightPreparation, MakesEachRepresentationOnce) {
  for (const DeviceCapabilities& device : {h100(), cpu()})
    for (const int depth : {8, 16})
      for (const char* text : kMasks) {
        const FrameFormat format = grey(3840, 2160, depth);
        const Mask mask = mask_of(text);
        WeightPreparation weights(format, mask, 1);
        for (const Options& options : all_options())
          (void)choose_plan({format, mask, options, device, weights});
        const int made = weights.made();
        for (const Options& options : all_options())
          (void)choose_plan({format, mask, options, device, weights});
        EXPECT_EQ(weights.made(), made) << text;
        EXPECT_LE(made, 7)
            << "digits, two numbers of split ones, separable ones, splines, box, shift";
      }
}

TEST(WeightPreparation, MakesNothingThatNobodyAsksFor) {
  const FrameFormat format = grey(640, 480);
  const auto made_for = [&format](const char* text, KernelKind kernel,
                                  const DeviceCapabilities& device) {
    const Mask mask = mask_of(text);
    Options options;
    options.kernel = kernel;
    WeightPreparation weights(format, mask, options.scale);
    EXPECT_TRUE(choose_plan({format, mask, options, device, weights}).ok());
    return weights.made();
  };
  EXPECT_EQ(made_for("gaussian:2", KernelKind::kCoarsened, h100()), 0);
  EXPECT_EQ(made_for("gaussian:2", KernelKind::kTensor, h100()), 1);
  EXPECT_EQ(made_for("box:5", KernelKind::kBox, h100()), 1);
  EXPECT_EQ(made_for("gaussian:2", KernelKind::kSeparable, h100()), 2) << "digits and splines";
  EXPECT_EQ(made_for("gaussian:2", KernelKind::kAuto, h100()), 5) << "no split ones: 32 bits do";
  EXPECT_EQ(made_for("gaussian:2", KernelKind::kSeparable, cpu()), 2) << "pairs and splines";
  EXPECT_EQ(made_for("gaussian:2", KernelKind::kCoarsened, cpu()), 1) << "digits";
}

TEST(WeightPreparation, KeepsWhatItHasMade) {
  const FrameFormat format = grey(640, 480);
  const Mask mask = mask_of("gaussian:2");
  WeightPreparation weights(format, mask, 1);
  ASSERT_TRUE(weights.digits());
  EXPECT_EQ(weights.digits()->values, choose_digits(format, mask, 1, false)->values);
  const std::int32_t* values = weights.digits()->values.data();
  EXPECT_EQ(weights.digits()->values.data(), values);
  EXPECT_FALSE(weights.shift());
  EXPECT_FALSE(weights.shift());
  EXPECT_EQ(weights.made(), 2) << "that there is none is found once, too";
}

TEST(PreparedPlan, HoldsWhatTheFormComputesWith) {
  EXPECT_EQ(prepared_for("identity"), "shift");
  EXPECT_EQ(prepared_for("laplacian"), "digits");
  EXPECT_EQ(prepared_for("gaussian:5"), "separable digits");
  EXPECT_EQ(prepared_for("gaussian:100"), "spline mask");
  EXPECT_EQ(prepared_for("box:101"), "box weight");
  EXPECT_EQ(prepared_for("disk:3", 16), "split digits");
  Options coarsened;
  coarsened.kernel = KernelKind::kCoarsened;
  EXPECT_EQ(prepared_for("laplacian", 8, coarsened), "none");
}

// Nobody asks again whether a new plan serves what it was made for.
TEST(PreparedPlan, ServesTheScaleOfItsPlan) {
  for (const DeviceCapabilities& device : {h100(), cpu()})
    for (const int depth : {8, 10, 16})
      for (const double scale : {1.0, 0.5, -0.7234567891, 3.0})
        for (const char* text : kMasks)
          for (Options options : all_options()) {
            options.scale = scale;
            const FrameFormat format = grey(640, 480, depth);
            const auto planned = prepare_plan(format, mask_of(text), options, device);
            if (!planned.ok()) continue;
            const PreparedPlan& made = planned.value();
            EXPECT_TRUE(plan_serves(format, made.plan, *made.weights, scale, 0))
                << text << " " << scale << " " << made.plan.to_string();
          }
}

TEST(PreparedPlan, KnowsTheTotalsOfWeightedColour) {
  Options options;
  options.alpha_mode = AlphaMode::kPremultiplied;
  const FrameFormat format = unit::rgba(64, 48, true);
  const auto weighted = prepare_plan(format, mask_of("gaussian:2"), options, h100());
  ASSERT_TRUE(weighted.ok());
  ASSERT_TRUE(weighted.value().weights->totals);
  const PreparedPlan& made = weighted.value();
  EXPECT_TRUE(plan_serves(format, made.plan, *made.weights, 1, 0));
  const auto straight = prepare_plan(format, mask_of("gaussian:2"), {}, h100());
  ASSERT_TRUE(straight.ok());
  EXPECT_FALSE(straight.value().weights->totals);
}

TEST(PreparedPlan, IsThatOfMakePlan) {
  for (const char* text : kMasks)
    for (const Options& options : all_options()) {
      const FrameFormat format = grey(640, 480);
      const auto planned = prepare_plan(format, mask_of(text), options, h100());
      const auto plan = make_plan(format, mask_of(text), options, h100());
      ASSERT_EQ(planned.ok(), plan.ok());
      if (!plan.ok())
        EXPECT_EQ(planned.status().message(), plan.status().message());
      else
        EXPECT_EQ(planned.value().plan, plan.value());
    }
}

}  // namespace
}  // namespace convolve
