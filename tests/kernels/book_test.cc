// SPDX-License-Identifier: LGPL-2.1-or-later
// The worked numbers of PMPP chapter 7 and of the ECE408 lectures, given by every kernel of every
// backend. Zero ghost cells throughout, as in the book; weights are taken as typed (no
// normalisation), and 16-bit samples hold results above 255.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/access_count.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/runner.h"

namespace convolve::testing {
namespace {

Mask plain_mask(int width, int height, std::vector<double> weights, double divisor = 1) {
  MaskSource source;
  source.width = width;
  source.height = height;
  source.anchor_x = width / 2;
  source.anchor_y = height / 2;
  source.weights = std::move(weights);
  source.divisor = divisor;
  Result<Mask> mask = Mask::make(source, Normalize::kNone);
  EXPECT_TRUE(mask.ok()) << mask.status().message();
  return mask.ok() ? std::move(mask.value()) : Mask();
}

Picture picture_of(int width, int height, std::vector<int> codes) {
  return {width, height, std::move(codes)};
}

Picture transposed(const Picture& picture) {
  Picture result{picture.height, picture.width, {}};
  for (int x = 0; x < picture.width; ++x)
    for (int y = 0; y < picture.height; ++y)
      result.codes.push_back(picture.codes[static_cast<std::size_t>(y) * picture.width + x]);
  return result;
}

class Book : public ::testing::TestWithParam<KernelOn> {
 protected:
  void SetUp() override {
    Result<std::shared_ptr<Device>> device = open_device(GetParam().backend, {});
    if (device.ok())
      device_ = std::move(device.value());
    else if (gpu_required() || GetParam().backend == BackendKind::kCpu)
      FAIL() << device.status().message();
    else
      GTEST_SKIP() << device.status().message();
  }

  /// The kernel's output; empty if it refuses, which only separable may, for a mask's rank.
  /// `bias` counts in hundredths: the nominal range of the samples is 100 codes.
  std::vector<int> filtered(const Picture& input, const Mask& mask, double bias = 0) {
    FrameFormat format =
        make_format(Arrangement::kPacked1, kU16, Levels::kFull, input.width, input.height);
    format.planes[0].components[0].range = 100;
    Options options;
    options.kernel = GetParam().kernel;
    options.bias = bias;
    auto convolver = Convolver::create(format, mask, options, device_);
    if (!convolver.ok()) {
      EXPECT_EQ(GetParam().kernel, KernelKind::kSeparable) << convolver.status().message();
      EXPECT_EQ(refusal_ground(convolver.status()), "rank") << convolver.status().message();
      EXPECT_FALSE(mask.rank1);
      return {};
    }
    EXPECT_EQ(convolver.value()->plan().kernel(), GetParam().kernel);
    GuardedFrame source(format, 0, false);
    GuardedFrame output(format, 0, false);
    encode_component(input, source.view(), 0, 0);
    Status status = convolver.value()->run(source.view(), output.view(), {1, bias, Border::kZero});
    EXPECT_TRUE(status.ok()) << status.message();
    status = device_->finish();
    EXPECT_TRUE(status.ok()) << status.message();
    return decode_component(output.view(), 0, 0).codes;
  }

  /// The chapter's 1D convolution, along a row and along a column.
  void expect_1d(const std::vector<int>& n, const std::vector<double>& m, double divisor,
                 const std::vector<int>& p, double bias = 0) {
    const Picture row = picture_of(static_cast<int>(n.size()), 1, n);
    const int taps = static_cast<int>(m.size());
    EXPECT_EQ(filtered(row, plain_mask(taps, 1, m, divisor), bias), p) << "along the row";
    EXPECT_EQ(filtered(transposed(row), plain_mask(1, taps, m, divisor), bias), p)
        << "along the column";
  }

  /// A 2D example: every output, or a refusal by rank.
  void expect_2d(const Picture& n, const Mask& m, const std::vector<int>& p) {
    const std::vector<int> given = filtered(n, m);
    if (!given.empty()) {
      EXPECT_EQ(given, p);
    }
  }

  std::shared_ptr<Device> device_;
};

/// Figs. 7.1 - 7.3: N = 1 .. 7, M = 3 4 5 4 3.
///   P[0] = 0*3 + 0*4 + 1*5 + 2*4 + 3*3 = 22 (exercise 1), P[1] = 0*3 + 1*4 + 2*5 + 3*4 + 4*3 = 38,
///   P[2] = 3 + 8 + 15 + 16 + 15 = 57, P[3] = 6 + 12 + 20 + 20 + 18 = 76,
///   P[4] = 9 + 16 + 25 + 24 + 21 = 95, P[5] = 12 + 20 + 30 + 28 + 0 = 90,
///   P[6] = 15 + 24 + 35 + 0 + 0 = 74.
TEST_P(Book, OneDimensionalExample) {
  expect_1d({1, 2, 3, 4, 5, 6, 7}, {3, 4, 5, 4, 3}, 1, {22, 38, 57, 76, 95, 90, 74});
}

/// Figs. 7.4 and 7.5, and the 7x7 picture of the ECE408 lecture on 2D convolution.
///   P(2,2) = 1+4+9+8+5 + 4+9+16+15+12 + 9+16+25+24+21 + 8+15+24+21+16 + 5+12+21+16+5 = 321.
///   P(1,0), row 1 column 0, has ghost cells above and to the left:
///     0 + (4*1 + 3*2 + 2*3) + (5*2 + 4*3 + 3*4) + (4*3 + 3*4 + 2*5) + (3*4 + 2*5 + 1*6)
///     = 16 + 34 + 34 + 28 = 112.
/// N and M are symmetric, so P is.
TEST_P(Book, TwoDimensionalExample) {
  const Picture n = picture_of(7, 7, {1, 2, 3, 4, 5, 6, 7,  //
                                      2, 3, 4, 5, 6, 7, 8,  //
                                      3, 4, 5, 6, 7, 8, 9,  //
                                      4, 5, 6, 7, 8, 5, 6,  //
                                      5, 6, 7, 8, 5, 6, 7,  //
                                      6, 7, 8, 9, 0, 1, 2,  //
                                      7, 8, 9, 0, 1, 2, 3});
  const Mask m = plain_mask(5, 5, {1, 2, 3, 2, 1,  //
                                   2, 3, 4, 3, 2,  //
                                   3, 4, 5, 4, 3,  //
                                   2, 3, 4, 3, 2,  //
                                   1, 2, 3, 2, 1});
  expect_2d(n, m, {69,  112, 158, 200, 242, 232, 189,  //
                   112, 176, 242, 294, 342, 316, 252,  //
                   158, 242, 321, 370, 411, 374, 294,  //
                   200, 298, 372, 393, 396, 340, 256,  //
                   242, 344, 393, 374, 347, 282, 204,  //
                   232, 316, 342, 302, 254, 186, 126,  //
                   189, 242, 252, 206, 156, 104, 75});
}

/// Exercise 2: N = 4 1 3 2 3, M = 2 1 4.
///   0*2 + 4*1 + 1*4 = 8, 4*2 + 1*1 + 3*4 = 21, 1*2 + 3*1 + 2*4 = 13, 3*2 + 2*1 + 3*4 = 20,
///   2*2 + 3*1 + 0*4 = 7.
TEST_P(Book, ExerciseTwo) {
  expect_1d({4, 1, 3, 2, 3}, {2, 1, 4}, 1, {8, 21, 13, 20, 7});
}

/// Exercise 3: what do these masks do?
TEST_P(Book, ExerciseThreeIdentityAndShifts) {
  expect_1d({4, 1, 3, 2, 3}, {0, 1, 0}, 1, {4, 1, 3, 2, 3});  // a: nothing
  expect_1d({4, 1, 3, 2, 3}, {0, 0, 1}, 1, {1, 3, 2, 3, 0});  // b: a shift to the left
  expect_1d({4, 1, 3, 2, 3}, {1, 0, 0}, 1, {0, 4, 1, 3, 2});  // c: a shift to the right
}

/// Exercise 3 d: -1/2 0 1/2, the slope. A bias of 20 codes keeps falling slopes above 0:
///   (10 - 0)/2 = 5, (30 - 40)/2 = -5, (20 - 10)/2 = 5, (30 - 30)/2 = 0, (0 - 20)/2 = -10.
TEST_P(Book, ExerciseThreeSlope) {
  expect_1d({40, 10, 30, 20, 30}, {-0.5, 0, 0.5}, 1, {25, 15, 25, 20, 10}, 0.2);
}

/// Exercise 3 e: 1/3 1/3 1/3, the average: 5/3, 8/3, 6/3, 8/3, 5/3, rounded.
TEST_P(Book, ExerciseThreeAverage) {
  expect_1d({4, 1, 3, 2, 3}, {1, 1, 1}, 3, {2, 3, 2, 3, 2});
  expect_1d({4, 1, 3, 2, 3}, {1. / 3, 1. / 3, 1. / 3}, 1, {2, 3, 2, 3, 2});
}

/// The lecture's Gaussian over 273. A spot of 273 on black shows the weights themselves; a step
/// from 0 to 273 shows the running sums of its columns 17 66 107 66 17: 17, 83, 190, 256, 273.
TEST_P(Book, GaussianOver273) {
  const std::vector<double> weights = {1, 4,  7,  4,  1,  //
                                       4, 16, 26, 16, 4,  //
                                       7, 26, 41, 26, 7,  //
                                       4, 16, 26, 16, 4,  //
                                       1, 4,  7,  4,  1};
  const Mask gaussian = plain_mask(5, 5, weights, 273);
  Picture spot = picture_of(5, 5, std::vector<int>(25, 0));
  spot.codes[12] = 273;
  expect_2d(spot, gaussian, std::vector<int>(weights.begin(), weights.end()));

  Picture step = picture_of(10, 5, {});
  for (int k = 0; k < 50; ++k)
    step.codes.push_back(k % 10 < 4 ? 0 : 273);
  const std::vector<int> given = filtered(step, gaussian);
  if (given.empty()) return;
  // The middle row sees no ghost cells above or below, and columns 2 .. 7 none at the sides.
  const std::vector<int> middle(given.begin() + 22, given.begin() + 28);
  EXPECT_EQ(middle, (std::vector<int>{17, 83, 190, 256, 273, 273}));
}

/// Integers as in the book need Normalize::kNone: left to itself the engine divides by the sum.
TEST_P(Book, PlainIntegersNeedNoNormalisation) {
  MaskSource source;
  source.width = 5;
  source.anchor_x = 2;
  source.weights = {3, 4, 5, 4, 3};
  const Picture n = picture_of(7, 1, {1, 2, 3, 4, 5, 6, 7});
  const Result<Mask> averaged = Mask::make(source, Normalize::kAuto);
  ASSERT_TRUE(averaged.ok());
  EXPECT_TRUE(averaged.value().divided_by_sum);
  EXPECT_EQ(filtered(n, averaged.value())[2], 3);  // 57 / 19
  const Result<Mask> plain = Mask::make(source, Normalize::kNone);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(filtered(n, plain.value())[2], 57);
}

/// All but tensor, which takes samples of 8 bits (the book's numbers are larger), box, which takes
/// equal weights, and shift, which takes one.
std::vector<KernelOn> kernels_of_numbers() {
  std::vector<KernelOn> kernels = all_kernels();
  kernels.erase(std::remove_if(kernels.begin(), kernels.end(),
                               [](const KernelOn& which) {
                                 return which.kernel == KernelKind::kTensor ||
                                        which.kernel == KernelKind::kBox ||
                                        which.kernel == KernelKind::kShift;
                               }),
                kernels.end());
  return kernels;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Book, ::testing::ValuesIn(kernels_of_numbers()),
                         [](const auto& row) { return test_name(row.param); });

/// Fig. 7.22 prints one digit, cut or rounded: 19.753 as 19.7, 20.25 as 20.3.
constexpr double kPrintedDigit = 0.06;

struct TableEntry {
  int tile;
  int mask;
  double reduction;
};

class AccessTable : public ::testing::TestWithParam<TableEntry> {};

/// Fig. 7.22: square output tiles. The loads are counted while the loops run.
TEST_P(AccessTable, CountedLoads) {
  const auto [tile, mask, reduction] = GetParam();
  const AccessCount count = count_accesses({tile, tile, mask, mask});
  EXPECT_TRUE(count.same_sums);
  EXPECT_NEAR(count.reduction(), reduction, kPrintedDigit);
}

INSTANTIATE_TEST_SUITE_P(Figure722, AccessTable,
                         ::testing::Values(TableEntry{8, 5, 11.1}, TableEntry{16, 5, 16},
                                           TableEntry{32, 5, 19.7}, TableEntry{64, 5, 22.1},
                                           TableEntry{8, 9, 20.3}, TableEntry{16, 9, 36},
                                           TableEntry{32, 9, 51.8}, TableEntry{64, 9, 64}));

/// The tiles that tiled-output is planned with: those of the figure.
TEST(PlannedTiles, ReduceLoadsLikeTheTable) {
  const TableEntry wanted[] = {{8, 5, 11.1}, {16, 5, 16}, {32, 5, 19.7}, {64, 5, 22.1},
                               {8, 9, 20.3}, {16, 9, 36}, {32, 9, 51.8}, {64, 9, 64}};
  DeviceCapabilities device;
  device.backend = BackendKind::kCuda;
  device.compute_capability = 90;
  device.shared_bytes = 227 * 1024;
  for (const auto& row : wanted) {
    const Mask mask = plain_mask(row.mask, row.mask, std::vector<double>(row.mask * row.mask, 1));
    const FrameFormat format = make_format(Arrangement::kPacked1, kU8, Levels::kFull, 1920, 1080);
    Options options;
    options.kernel = KernelKind::kTiledOutput;
    options.tile_width = row.tile;
    const Result<Plan> plan = make_plan(format, mask, options, device);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan.value().tile_height, row.tile);
    const AccessCount count =
        count_accesses({plan.value().tile_width, plan.value().tile_height, row.mask, row.mask});
    EXPECT_TRUE(count.same_sums);
    EXPECT_NEAR(count.reduction(), row.reduction, kPrintedDigit);
  }
}

}  // namespace
}  // namespace convolve::testing
