// SPDX-License-Identifier: LGPL-2.1-or-later
// Colour weighted by alpha: who is concerned, the sums that a mask needs, and the rounding of their
// quotient.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/core/plan/plan.h"
#include "kernels/core/weights/alpha_weighting.h"
#include "kernels/core/weights/weighted_arithmetic.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::cpu;
using unit::grey;
using unit::h100;
using unit::mask_of;
using unit::nv12;
using unit::rgba;

/// NV12 of `width` x `height` with a plane of alpha.
FrameFormat nv12_alpha(int width, int height) {
  FrameFormat format = nv12(width, height);
  format.planes[format.plane_count++] = grey(width, height).planes[0];
  Component& alpha = format.planes[2].components[0];
  alpha.role = Role::kAlpha;
  alpha.filtered = false;
  return format;
}

Options weighted(KernelKind kernel = KernelKind::kAuto) {
  Options options;
  options.alpha_mode = AlphaMode::kPremultiplied;
  options.kernel = kernel;
  return options;
}

TEST(AlphaWeighting, ConcernsFilteredColourOfFormatsWithAlpha) {
  EXPECT_TRUE(has_weighted(rgba(4, 4)));
  EXPECT_TRUE(has_weighted(nv12_alpha(4, 4)));
  EXPECT_FALSE(has_weighted(nv12(4, 4)));
  FrameFormat alpha_only = rgba(4, 4, true);
  for (int c = 0; c < 3; ++c)
    alpha_only.planes[0].components[c].filtered = false;
  EXPECT_FALSE(has_weighted(alpha_only));
}

TEST(AlphaWeighting, GroupsKeepWeightedComponentsApart) {
  ComponentGroup groups[kMaxGroups];
  EXPECT_EQ(component_groups(rgba(4, 4, true), groups), 1);
  ASSERT_EQ(component_groups(rgba(4, 4, true), groups, true), 2);
  EXPECT_TRUE(groups[0].weighted);
  EXPECT_EQ(groups[0].count, 3);
  EXPECT_FALSE(groups[1].weighted);
  EXPECT_EQ(groups[1].component[0], 3);
}

TEST(AlphaWeighting, ChromaTakesTheCoLocatedAlpha) {
  for (int width = 1; width <= 9; ++width)
    for (int height = 1; height <= 9; ++height) {
      const FrameFormat format = nv12_alpha(width, height);
      const Component& alpha = format.planes[2].components[0];
      const GridShift luma = grid_shift(format.planes[0].components[0], alpha);
      const GridShift chroma = grid_shift(format.planes[1].components[0], alpha);
      EXPECT_EQ(luma.x, 0);
      EXPECT_EQ(luma.y, 0);
      EXPECT_EQ(chroma.x, width > 1 ? 1 : 0);
      EXPECT_EQ(chroma.y, height > 1 ? 1 : 0);
      EXPECT_TRUE(alpha_covers(format, format));
    }
}

TEST(AlphaWeighting, FieldsAreCoveredAndShortAlphaIsNot) {
  for (int height = 2; height <= 21; ++height)
    for (int parity = 0; parity < 2; ++parity) {
      const FrameFormat frame = nv12_alpha(6, height);
      FrameFormat field = frame;
      for (PlaneFormat& plane : field.planes) {
        plane.rows = (plane.rows + 1 - parity) / 2;
        for (Component& component : plane.components)
          component.height = (component.height + 1 - parity) / 2;
      }
      EXPECT_TRUE(alpha_covers(frame, field)) << height << " " << parity;
    }
  const FrameFormat frame = nv12_alpha(6, 8);
  FrameFormat shorter = frame;
  shorter.planes[2].components[0].height = 7;
  EXPECT_FALSE(alpha_covers(frame, shorter));
}

TEST(WeightTotals, KnowEdgesAndSigns) {
  const auto totals = [](const char* text) { return weight_totals(mask_of(text)); };
  for (const char* text : {"sobel-x", "laplacian", "log:1.4", "dog:1,2", "0", "2x1: 1e38 -1e38"})
    EXPECT_TRUE(totals(text).zero_sum) << text;
  for (const char* text :
       {"sharpen", "unsharp:2", "emboss", "gaussian:2", "gaussian:500", "box:300"})
    EXPECT_FALSE(totals(text).zero_sum) << text;
  for (const char* text : {"box:3", "gaussian:2", "gaussian:500", "3x1: -1 0 -2"})
    EXPECT_TRUE(totals(text).one_sign) << text;
  for (const char* text : {"sharpen", "unsharp:2", "sobel-y"})
    EXPECT_FALSE(totals(text).one_sign) << text;
  EXPECT_EQ(totals("box:300").integer_sum, 90000);
  EXPECT_EQ(totals("3x1: -1 0 -2 / 5").integer_sum, -3);
}

TEST(WeightedSums, FloatWhereItIsExactOrGoodEnough) {
  const auto chosen = [](const char* text, int depth, double scale = 1) {
    FrameFormat format = rgba(8, 8);
    for (Component& c : format.planes[0].components)
      c.depth = depth;
    if (depth > 8) format.planes[0].sample_bytes = 2;
    const Mask mask = mask_of(text);
    return choose_weighted_accumulator(format, mask, weight_totals(mask), scale,
                                       is_rational(format, mask, scale), Passes::kDirect);
  };
  // 258 x 255 x 255 is below 2^24, 259 x 255 x 255 is not.
  EXPECT_EQ(chosen("2x1: 257 1", 8), Accumulator::kFloat32);
  EXPECT_EQ(chosen("2x1: 257 2", 8), Accumulator::kFloat64);
  EXPECT_EQ(chosen("box:3", 10), Accumulator::kFloat32);
  EXPECT_EQ(chosen("box:3", 16), Accumulator::kFloat64);
  EXPECT_EQ(chosen("gaussian:1", 8), Accumulator::kFloat32);
  EXPECT_EQ(chosen("gaussian:1", 8, 1024), Accumulator::kFloat64);
  EXPECT_EQ(chosen("gaussian:1", 16), Accumulator::kFloat64);
  EXPECT_EQ(chosen("unsharp:1", 8), Accumulator::kFloat64);
}

/// The epilogue of an 8-bit colour under a mask, with sums in double.
WeightedEpilogue epilogue_of(const char* text, double scale = 1) {
  const Mask mask = mask_of(text);
  const bool rational = is_rational(mask, scale, 255);
  return make_weighted_epilogue(Component{}, 255, mask, weight_totals(mask), scale, 0,
                                {rational, Passes::kDirect, Accumulator::kFloat64});
}

TEST(WeightedCode, TiesGoToEven) {
  const WeightedEpilogue box = epilogue_of("2x1: 1 1");
  // Values t / s.
  EXPECT_EQ(weighted_code(2, 1, box), 0);
  EXPECT_EQ(weighted_code(2, 3, box), 2);
  EXPECT_EQ(weighted_code(2, 5, box), 2);
  EXPECT_EQ(weighted_code(510, 509 * 255.0, box), 254) << "254.5";
  EXPECT_EQ(weighted_code(1, 300, box), 255);
  EXPECT_EQ(weighted_code(1, -1, box), 0);
}

TEST(WeightedCode, NothingOpaqueKeepsTheSample) {
  EXPECT_EQ(weighted_code(0, 0, epilogue_of("2x1: 1 1")), kKeepSample);
  EXPECT_EQ(weighted_code(-1, 77, epilogue_of("sharpen")), kKeepSample);
  EXPECT_EQ(weighted_code(1, 77, epilogue_of("3x1: -1 -1 -1")), kKeepSample);
  EXPECT_EQ(weighted_code(-1, -77, epilogue_of("3x1: -1 -1 -1 / 3")), 0) << "-77, oriented";
  EXPECT_EQ(weighted_code(0, 255 * 5.0, epilogue_of("sobel-x")), 5) << "edges divide by M";
  EXPECT_EQ(weighted_code(0, 0, epilogue_of("gaussian:1")), kKeepSample);
}

TEST(WeightedCode, SaysWhenTheSumsCannotTell) {
  const WeightedEpilogue unsharp = epilogue_of("unsharp:1");
  EXPECT_EQ(weighted_code(1e-15, 1e-13, unsharp), kKeepSample) << "a rounding error of 0";
  EXPECT_EQ(weighted_code(unsharp.floor, 100 * unsharp.floor, unsharp), kUndecided);
  EXPECT_EQ(weighted_code(2 * unsharp.floor, 200 * unsharp.floor, unsharp), kUndecided);
  EXPECT_EQ(weighted_code(255, 255 * 42.0, unsharp), 42);
  WeightedEpilogue inexact = epilogue_of("2x1: 1 1");
  inexact.exact_sums = false;
  inexact.product_error = 1e-6;
  EXPECT_EQ(weighted_code(2, 1, inexact), kUndecided);
  EXPECT_EQ(weighted_code(2, 1.1, inexact), 1);
}

/// The epilogue of a 16-bit colour in two passes.
WeightedEpilogue rows_epilogue(const char* text, Accumulator accumulator = Accumulator::kFloat64) {
  Component component;
  component.depth = 16;
  const Mask mask = mask_of(text);
  const bool rational = is_rational(mask, 1, 65535);
  return make_weighted_epilogue(component, 65535, mask, weight_totals(mask), 1, 0,
                                {rational, Passes::kRowColumn, accumulator});
}

TEST(WeightedCode, RowSumsDecideWhileTheyAreWhole) {
  EXPECT_TRUE(rows_epilogue("box:3683").exact_rows);
  EXPECT_FALSE(rows_epilogue("box:3683").exact_sums);
  // 2097216 x 65535 x 65535 is the last below 2^53.
  EXPECT_TRUE(rows_epilogue("2x1: 2097215 1").exact_rows);
  EXPECT_FALSE(rows_epilogue("2x1: 2097215 2").exact_rows);
  EXPECT_FALSE(rows_epilogue("2x1: 2097215 -2").exact_rows);
  EXPECT_FALSE(rows_epilogue("gaussian:3").exact_rows) << "real";
  EXPECT_FALSE(rows_epilogue("box:3", Accumulator::kFloat32).exact_rows);
}

TEST(WholeSums, GiveTheCodeOfTheirQuotient) {
  std::mt19937_64 random(11);
  const WeightedEpilogue epilogues[] = {rows_epilogue("box:3683"),
                                        rows_epilogue("3x1: -1 -2 -1 / 4")};
  for (int k = 0; k < 20000; ++k) {
    const WeightedEpilogue& e = epilogues[k % 2];
    const int code = static_cast<int>(random() % 65535);
    // Sums whose quotient is code + 1/2, give or take the least that whole numbers can.
    const std::int64_t half = static_cast<std::int64_t>(random() % (std::uint64_t{1} << 54)) + 1;
    const int off = static_cast<int>(random() % 3) - 1;
    const Int128 s = 2 * static_cast<Int128>(half);
    WholeSums sums{s, s * code + half + off};
    if (e.orientation < 0) sums = {-sums.s, sums.t};
    const int expected = off != 0 ? code + (off + 1) / 2 : code + code % 2;
    EXPECT_EQ(code_of_whole_sums(sums, e), std::min(expected, 65535)) << k;
  }
  WholeSums sums;
  sums.add(3, 0x1p52, -0x1p52);
  sums.add(-5, 7, 0);
  EXPECT_TRUE(sums.s == (Int128{3} << 52) - 35 && sums.t == -(Int128{3} << 52));
  EXPECT_EQ(code_of_whole_sums({0, 5}, rows_epilogue("box:3")), kKeepSample);
}

TEST(WholeSums, BelowBlackAreAsGood) {
  WeightedEpilogue e = rows_epilogue("box:3683");
  e.base = 32768;
  EXPECT_EQ(code_of_whole_sums({2, -101}, e), 32718) << "-50.5";
  EXPECT_EQ(code_of_whole_sums({2, -103}, e), 32716) << "-51.5";
  std::mt19937_64 random(5);
  for (int k = 0; k < 20000; ++k) {
    const int below = static_cast<int>(random() % 32000);
    const Int128 s = 1 + static_cast<std::int64_t>(random() >> (3 + k % 61));
    EXPECT_EQ(code_of_whole_sums({s, -s * below}, e), 32768 - below) << k;
  }
}

TEST(WholeSums, AreTheNearestDoublesOrTheirNeighbours) {
  std::mt19937_64 random(9);
  for (int k = 0; k < 20000; ++k) {
    const auto high = static_cast<std::int64_t>(random()) >> (k % 64);
    const Int128 v =
        static_cast<Int128>(high) * (std::int64_t{1} << (k % 3 == 0 ? 60 : 0)) + k % 5 - 2;
    const auto exact = static_cast<long double>(v);
    EXPECT_LE(std::fabs(to_double(v) - exact), std::fabs(exact) * 0x1p-52L) << k;
  }
  for (const int small : {0, 1, -1, -5, -3000})
    EXPECT_EQ(to_double(small), small);
}

/// Whatever the kernel's errors within its bounds, a code that weighted_code() gives is right.
TEST(WeightedCode, IsRightWheneverItAnswers) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> unit(-1, 1);
  int undecided = 0;
  for (int k = 0; k < 200000; ++k) {
    WeightedEpilogue e = epilogue_of("2x1: 1 1");
    const auto s = static_cast<std::int64_t>(random() % 600 + 1);
    const auto t = static_cast<std::int64_t>(random() % (256 * 600));
    e.exact_sums = false;
    e.sum_error = std::pow(2, -10 - static_cast<int>(random() % 20));
    e.product_error = e.sum_error * 255;
    const double sum = static_cast<double>(s) + unit(random) * e.sum_error;
    const double product = static_cast<double>(t) + unit(random) * e.product_error;
    const int code = weighted_code(sum, product, e);
    if (code == kUndecided) {
      ++undecided;
      continue;
    }
    const std::int64_t twice = 2 * t - 2 * s * code;
    if (code == 255 && twice > 0) continue;
    EXPECT_LE(std::abs(twice), s) << t << " / " << s << " is not " << code;
  }
  EXPECT_GT(undecided, 100);
  EXPECT_LT(undecided, 100000);
}

TEST(DoubleDouble, LosesNothingOfWholeNumbers) {
  std::mt19937_64 random(1);
  DoubleDouble sum;
  Int128 exact = 0;
  for (int k = 0; k < 20000; ++k) {
    const auto weight =
        static_cast<std::int64_t>(random() % (std::uint64_t{1} << 40)) - (1ll << 39);
    const auto cell = static_cast<std::int64_t>(random() % (std::uint64_t{1} << 32)) - (1ll << 31);
    sum.add_product(static_cast<double>(weight), static_cast<double>(cell));
    exact += static_cast<Int128>(weight) * cell;
  }
  EXPECT_TRUE(whole(sum.high) + whole(sum.low) == exact);
}

TEST(DoubleDouble, KeepsWhatCancellationLeaves) {
  DoubleDouble sum;
  sum.add_product(1e25, 3);
  sum.add_product(0.25, 3);
  sum.add_product(-1e25, 3);
  EXPECT_EQ(sum.high + sum.low, 0.75);
}

TEST(WeightedPlan, SaysHowColourIsSummed) {
  const auto text = [](const char* mask, const DeviceCapabilities& device, const Options& options) {
    const Result<Plan> plan = make_plan(rgba(64, 48), mask_of(mask), options, device);
    return plan.ok() ? plan.value().to_string() : plan.status().message();
  };
  EXPECT_EQ(text("sharpen", cpu(), weighted()),
            "cpu coarsened float32 rational host-memory, colour alpha-weighted float32 one-pass "
            "(3x3, several outputs per thread)");
  EXPECT_EQ(text("gaussian:2", h100(), weighted()),
            "cuda separable-fused tile 64x32 float32 real constant-memory, colour alpha-weighted "
            "float32 two-pass (13x13, rank 1: 26 taps instead of 169)");
  EXPECT_EQ(text("gaussian:2", cpu(), weighted(KernelKind::kBasic)),
            "cpu basic float32 real host-memory, colour alpha-weighted float32 one-pass (13x13, as "
            "asked)");
  EXPECT_EQ(text("box:5", cpu(), weighted(KernelKind::kSeparable)),
            "kernel=separable cannot serve this mask: alpha: it cannot weight colour by alpha as "
            "alpha-mode=premultiplied asks, which kernel=auto can; on the cpu backend these can: "
            "basic");
}

TEST(WeightedPlan, IsTheStraightOneWithoutAlpha) {
  for (const KernelKind kernel : {KernelKind::kAuto, KernelKind::kCoarsened}) {
    Options straight;
    straight.kernel = kernel;
    const Result<Plan> a = make_plan(nv12(8, 8), mask_of("box:5"), straight, cpu());
    const Result<Plan> b = make_plan(nv12(8, 8), mask_of("box:5"), weighted(kernel), cpu());
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_TRUE(a.value() == b.value());
  }
}

TEST(WeightedPlan, ServesEveryMask) {
  for (const char* mask : {"gaussian:500", "box:4097", "disk:127.5", "1e38 -1e38; 1e38 1", "0"})
    for (const double scale : {1.0, 1024.0, 1e-9, 0.0})
      for (const DeviceCapabilities& device : {h100(), cpu()}) {
        Options options = weighted();
        options.scale = scale;
        const Result<Plan> plan = make_plan(rgba(8, 8), mask_of(mask), options, device);
        ASSERT_TRUE(plan.ok()) << mask << ": " << plan.status().message();
        EXPECT_TRUE(plan.value().weighted.has_value());
      }
}

}  // namespace
}  // namespace convolve
