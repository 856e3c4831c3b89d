// SPDX-License-Identifier: LGPL-2.1-or-later
// Named masks against their definitions.
#include "kernels/core/mask/named_masks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::mask_of;
using Weights = std::vector<double>;

double at(const Mask& mask, int x, int y) {
  return mask
      .weights[static_cast<std::size_t>((y + mask.anchor_y) * mask.width + x + mask.anchor_x)];
}

std::string error_of(std::string_view name, const std::vector<double>& arguments) {
  const Result<MaskSource> mask = make_named_mask(name, arguments);
  return mask.ok() ? "" : mask.status().message();
}

TEST(NamedMasks, Constants) {
  EXPECT_EQ(mask_of("identity").weights, (Weights{1}));
  EXPECT_EQ(mask_of("laplacian").weights, (Weights{0, -1, 0, -1, 4, -1, 0, -1, 0}));
  EXPECT_EQ(mask_of("laplacian8").weights, (Weights{-1, -1, -1, -1, 8, -1, -1, -1, -1}));
  EXPECT_EQ(mask_of("sobel-x").weights, (Weights{-1, 0, 1, -2, 0, 2, -1, 0, 1}));
  EXPECT_EQ(mask_of("sobel-y").weights, (Weights{-1, -2, -1, 0, 0, 0, 1, 2, 1}));
  EXPECT_EQ(mask_of("prewitt-x").weights, (Weights{-1, 0, 1, -1, 0, 1, -1, 0, 1}));
  EXPECT_EQ(mask_of("prewitt-y").weights, (Weights{-1, -1, -1, 0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(mask_of("scharr-x").weights, (Weights{-3, 0, 3, -10, 0, 10, -3, 0, 3}));
  EXPECT_EQ(mask_of("scharr-y").weights, (Weights{-3, -10, -3, 0, 0, 0, 3, 10, 3}));
  EXPECT_EQ(mask_of("emboss").weights, (Weights{-2, -1, 0, -1, 1, 1, 0, 1, 2}));
}

TEST(NamedMasks, SumToOneOrZero) {
  for (const char* text :
       {"identity",       "box:7",        "box:3,300",     "gaussian:0",   "gaussian:0.3",
        "gaussian:2",     "gaussian:2,5", "gaussian:500",  "binomial:1",   "binomial:5",
        "binomial:27",    "binomial:28",  "binomial:4097", "disk:0.1",     "disk:0.5",
        "disk:3",         "disk:127.5",   "motion:1",      "motion:15,30", "motion:254,45",
        "motion:254,0.5", "sharpen",      "sharpen:0.3",   "unsharp:2",    "unsharp:42,3",
        "unsharp:1,0",    "emboss"})
    EXPECT_NEAR(mask_of(text).sum, 1, 1e-11) << text;
  for (const char* text : {"laplacian", "laplacian8", "log:0.3", "log:1.4", "log:31", "dog:1,2",
                           "dog:2,1", "dog:42,0", "sobel-x", "sobel-y", "scharr-x", "prewitt-y"})
    EXPECT_NEAR(mask_of(text).sum, 0, 1e-12) << text;
}

TEST(NamedMasks, Box) {
  const Mask mask = mask_of("box:4,2");
  EXPECT_EQ(mask.width, 4);
  EXPECT_EQ(mask.height, 2);
  EXPECT_EQ(mask.anchor_x, 2);
  EXPECT_EQ(mask.anchor_y, 1);
  EXPECT_EQ(mask.weights, Weights(8, 0.125));
  EXPECT_EQ(mask_of("box:3").height, 3);
}

TEST(NamedMasks, Gaussian) {
  const Mask mask = mask_of("gaussian:2,0.7");
  EXPECT_EQ(mask.width, 13);
  EXPECT_EQ(mask.height, 7);
  EXPECT_NEAR(at(mask, 3, 0) / at(mask, 0, 0), std::exp(-9.0 / 8), 1e-15);
  EXPECT_NEAR(at(mask, 0, -1) / at(mask, 0, 0), std::exp(-1 / 0.98), 1e-15);
  EXPECT_EQ(at(mask, 3, 2), at(mask, -3, -2));
  EXPECT_EQ(mask_of("gaussian:0").weights, (Weights{1}));
  EXPECT_EQ(mask_of("gaussian:1,0").height, 1);
  EXPECT_EQ(mask_of("gaussian:500").width, 3001);
}

// The radius is ceil(3 sigma) of what was typed: 3 x 0.7 is above 2, 3 x 1/3 is 1 and not a hair
// more.
TEST(NamedMasks, GaussianRadius) {
  EXPECT_EQ(mask_of("gaussian:1/3").width, 3);
  EXPECT_EQ(mask_of("gaussian:0.34").width, 5);
  EXPECT_EQ(mask_of("gaussian:0.7").width, 7);
  for (int k = 1; k < 1500; ++k)
    ASSERT_EQ(mask_of("gaussian:" + std::to_string(k) + "/3,0").width, 2 * k + 1);
}

TEST(NamedMasks, Binomial) {
  const Mask mask = mask_of("binomial:3");
  EXPECT_TRUE(mask.rational);
  EXPECT_EQ(mask.integers, (std::vector<std::int64_t>{1, 2, 1, 2, 4, 2, 1, 2, 1}));
  EXPECT_EQ(mask.gain, (Ratio{1, 16}));
  EXPECT_EQ(mask_of("binomial:27").row_integers[13], 10400600);
  // Where the exact form ends, the real one goes on: 40 choose 20 over 2^40.
  EXPECT_NEAR(mask_of("binomial:41").row[20] / 0.12537068761957926, 1, 1e-13);
}

TEST(NamedMasks, DiskByArea) {
  const double pi = std::acos(-1.0);
  const Mask small = mask_of("disk:0.4");
  EXPECT_EQ(small.weights, (Weights{1})) << "within one pixel";
  // Radius 1/2 to 1: the middle pixel whole but for its corners, the sides by circular segments.
  const double radius = 0.6;
  const double segment =
      radius * radius * std::acos(0.5 / radius) - 0.5 * std::sqrt(radius * radius - 0.25);
  const Mask mask = mask_of("disk:0.6");
  ASSERT_EQ(mask.width, 3);
  EXPECT_NEAR(at(mask, 1, 0), segment / (pi * radius * radius), 1e-15);
  EXPECT_NEAR(at(mask, 0, 0), 1 - 4 * segment / (pi * radius * radius), 1e-15);
  EXPECT_EQ(at(mask, 1, 1), 0);
  EXPECT_EQ(mask_of("disk:2.5").width, 5);
  EXPECT_EQ(mask_of("disk:2.51").width, 7);
  EXPECT_EQ(mask_of("disk:127.5").width, 255);
}

// Exact areas against counting points of a fine grid.
TEST(NamedMasks, DiskAgainstCounting) {
  const double radius = 3.3;
  const Mask mask = mask_of("disk:3.3");
  ASSERT_EQ(mask.width, 7);
  constexpr int kPoints = 400;
  for (int y = -3; y <= 3; ++y)
    for (int x = -3; x <= 3; ++x) {
      int inside = 0;
      for (int j = 0; j < kPoints; ++j)
        for (int i = 0; i < kPoints; ++i)
          inside +=
              std::hypot(x - 0.5 + (i + 0.5) / kPoints, y - 0.5 + (j + 0.5) / kPoints) <= radius;
      const double area = static_cast<double>(inside) / (kPoints * kPoints);
      EXPECT_NEAR(at(mask, x, y) * std::acos(-1.0) * radius * radius, area, 1e-4) << x << " " << y;
      EXPECT_EQ(at(mask, x, y), at(mask, y, -x)) << "symmetric to the bit";
    }
}

TEST(NamedMasks, MotionAlongTheAxes) {
  EXPECT_EQ(mask_of("motion:1").weights, (Weights{1}));
  const Mask flat = mask_of("motion:15");
  EXPECT_EQ(flat.width, 15);
  EXPECT_EQ(flat.height, 1);
  EXPECT_EQ(flat.weights, Weights(15, 1.0 / 15));
  EXPECT_EQ(mask_of("motion:15,180").weights, flat.weights);
  const Mask upright = mask_of("motion:4,-270");
  EXPECT_EQ(upright.width, 1);
  EXPECT_EQ(upright.weights, (Weights{0.125, 0.25, 0.25, 0.25, 0.125})) << "even lengths";
}

TEST(NamedMasks, MotionTurnsCounterClockwise) {
  const Mask mask = mask_of("motion:9,30");
  EXPECT_GT(at(mask, 3, -2), 0.05) << "up on the right";
  EXPECT_EQ(at(mask, 3, 2), 0);
  for (int y = -mask.anchor_y; y <= mask.anchor_y; ++y)
    for (int x = -mask.anchor_x; x <= mask.anchor_x; ++x)
      EXPECT_EQ(at(mask, x, y), at(mask, -x, -y)) << "the same turned by half";
  // Diagonals: each pixel of the middle loses the same to its neighbours.
  const Mask diagonal = mask_of("motion:20,45");
  EXPECT_NEAR(at(diagonal, 2, -2), at(diagonal, 0, 0), 1e-15);
  EXPECT_NEAR(at(diagonal, 1, 0), at(diagonal, 0, -1), 1e-15);
  // A bar of width 1 misses two corners of a pixel on its diagonal: right triangles of height
  // sqrt(2)/2 - 1/2 and a base of twice that.
  const double corner = std::pow(std::sqrt(0.5) - 0.5, 2);
  EXPECT_NEAR(at(diagonal, 0, 0) * 20, 1 - 2 * corner, 1e-14);
}

TEST(NamedMasks, Sharpen) {
  EXPECT_EQ(mask_of("sharpen").weights, (Weights{0, -1, 0, -1, 5, -1, 0, -1, 0}));
  const Mask mask = mask_of("sharpen:0.15");
  EXPECT_TRUE(mask.rational);
  EXPECT_EQ(mask.gain, (Ratio{1, 20}));
  EXPECT_EQ(mask.integers[4], 32);
  EXPECT_FALSE(mask_of("sharpen:0.123456789012").rational);
  EXPECT_EQ(mask_of("sharpen:0").weights[4], 1);
}

TEST(NamedMasks, UnsharpLogDog) {
  const Mask gaussian = mask_of("gaussian:1.5"), unsharp = mask_of("unsharp:1.5,2");
  ASSERT_EQ(unsharp.width, gaussian.width);
  EXPECT_NEAR(at(unsharp, 1, 2), -2 * at(gaussian, 1, 2), 1e-16);
  EXPECT_NEAR(at(unsharp, 0, 0), 3 - 2 * at(gaussian, 0, 0), 1e-15);

  const Mask dog = mask_of("dog:1,2"), narrow = mask_of("gaussian:1"), wide = mask_of("gaussian:2");
  ASSERT_EQ(dog.width, 13);
  EXPECT_NEAR(at(dog, 1, 1), at(narrow, 1, 1) - at(wide, 1, 1), 1e-15);
  EXPECT_NEAR(at(dog, 5, 0), -at(wide, 5, 0), 1e-15);

  // A laplacian that is positive in the middle; on a parabola it gives minus its curvature.
  const Mask log = mask_of("log:2");
  EXPECT_EQ(log.width, 17);
  EXPECT_GT(at(log, 0, 0), 0);
  EXPECT_LT(at(log, 4, 0), 0);
  double response = 0;
  for (int y = -8; y <= 8; ++y)
    for (int x = -8; x <= 8; ++x)
      response += at(log, x, y) * x * x / 2;
  EXPECT_NEAR(response, -1, 0.05);
}

TEST(NamedMasks, Refusals) {
  EXPECT_NE(error_of("box", {0}).find("'0' as size of box:W[,H] is not a whole number within 1 .."),
            std::string::npos);
  EXPECT_NE(error_of("box", {2.5}), "");
  EXPECT_NE(error_of("box", {4098}), "");
  EXPECT_NE(error_of("gaussian", {-1}).find("0 .. 500"), std::string::npos);
  EXPECT_NE(error_of("gaussian", {std::nan("")}), "");
  EXPECT_NE(error_of("binomial", {0}), "");
  EXPECT_NE(error_of("disk", {128}).find("0.1 .. 127.5"), std::string::npos);
  EXPECT_NE(error_of("motion", {255}).find("1 .. 254"), std::string::npos);
  EXPECT_NE(error_of("unsharp", {43}), "");
  EXPECT_NE(error_of("log", {32}), "");
  EXPECT_NE(error_of("dog", {1}).find("dog:S1,S2, not with 1 argument"), std::string::npos);
  EXPECT_NE(error_of("sobel", {}).find("did you mean 'sobel-x'"), std::string::npos);
  EXPECT_NE(error_of("", {}).find("Known:"), std::string::npos);
}

TEST(NamedMasks, ErrorsPointAtTheArgument) {
  int wrong = 7;
  EXPECT_FALSE(make_named_mask("motion", {5, 1000}, &wrong).ok());
  EXPECT_EQ(wrong, 1);
  EXPECT_FALSE(make_named_mask("motion", {}, &wrong).ok());
  EXPECT_EQ(wrong, -1);
}

// The ends of all ranges give masks within the limits.
TEST(NamedMasks, ListIsComplete) {
  EXPECT_EQ(named_masks().size(), 19u);
  for (const NamedMask& mask : named_masks()) {
    EXPECT_NE(std::string(mask.formula), "") << mask.name;
    const std::string error = error_of(mask.name, std::vector<double>(9, 1));
    EXPECT_NE(error.find(std::string(mask.name) + mask.arguments), std::string::npos) << error;
  }
  for (double angle = 0; angle <= 90; angle += 0.37) {
    const Result<MaskSource> source = make_named_mask("motion", {254, angle});
    ASSERT_TRUE(source.ok());
    EXPECT_LE(source.value().width, kMaxMaskSide) << angle;
    EXPECT_LE(source.value().height, kMaxMaskSide) << angle;
  }
}

}  // namespace
}  // namespace convolve
