// SPDX-License-Identifier: LGPL-2.1-or-later
// separable's sums of floats and doubles with factors that are symmetric, whose taps are added in
// pairs, and with such as are not: factors of every length up to beyond what a step adds, against
// the exact reference. The pictures' last rows and columns fill no tile.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/core/plan/plan.h"
#include "kernels/cpu/workspace.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr int kLongestFactor = 21;

/// Integers, the last of which is as the first if `symmetric`, and so on to the middle.
std::vector<double> random_factor(int length, int most, bool symmetric, std::mt19937& random) {
  std::uniform_int_distribution<int> number(-most, most);
  std::vector<double> factor;
  for (int i = 0; i < length; ++i)
    factor.push_back(number(random));
  // Ends that are not 0, and differ where they shall; and no common divisor.
  factor.front() = most;
  if (length > 2) factor[1] = 1;
  factor.back() = symmetric || length == 1 ? most : most - 1;
  for (int i = 0; symmetric && i < length / 2; ++i)
    factor[static_cast<std::size_t>(length - 1 - i)] = factor[static_cast<std::size_t>(i)];
  return factor;
}

/// A column of `height` times a row of `width`, over what keeps most sums in a picture's range.
TestMaskPtr product_mask(int width, int height, int most, bool row_symmetric,
                         bool column_symmetric) {
  std::mt19937 random(static_cast<unsigned>(width * 100 + height));
  const std::vector<double> row = random_factor(width, most, row_symmetric, random);
  const std::vector<double> column = random_factor(height, most, column_symmetric, random);
  std::vector<double> weights;
  for (const double down : column)
    for (const double across : row)
      weights.push_back(down * across);
  const std::string name = std::to_string(width) + "x" + std::to_string(height) + " to " +
                           std::to_string(most) + (row_symmetric ? " even row" : "") +
                           (column_symmetric ? " even column" : "");
  return typed_mask(name, width, height, std::move(weights),
                    2.0 * most * most * std::max(1, std::min(width, height)));
}

/// Makes a frame with sums in `accumulator`, and compares it with the reference's.
void expect_right_frame(Form form, Accumulator accumulator, const FrameFormat& format,
                        const TestMask& mask, Border border, int threads,
                        const Tolerance& tolerance = {}) {
  GuardedFrame source(format, 0, false), wanted(format, 0, false), made(format, 0, false);
  fill_frame(source.view(), 17);
  RunArguments arguments;
  arguments.border = border;
  reference_run(source.view(), wanted.view(), mask.mask, arguments);
  DeviceOptions device_options;
  device_options.threads = threads;
  auto device = open_device(BackendKind::kCpu, device_options);
  ASSERT_TRUE(device.ok());
  Options options;
  options.form = form;
  auto convolver = Convolver::create(format, mask.mask, options, device.value());
  ASSERT_TRUE(convolver.ok()) << convolver.status().message();
  ASSERT_EQ(convolver.value()->plan().accumulator, accumulator);
  made.poison();
  ASSERT_TRUE(convolver.value()->run(source.view(), made.view(), arguments).ok());
  ASSERT_TRUE(made.guards_intact());
  ASSERT_EQ(find_fault(made.view(), wanted.view(), tolerance), "");
}

class Folded : public ::testing::TestWithParam<Form> {};

/// Every length of either factor, with lengths of the other in turn. Factors in double have more
/// than two taps: those of one or two that are equal are whole numbers that a float holds.
void expect_right_lengths(Form form, Accumulator accumulator, int most, bool row_symmetric,
                          bool column_symmetric) {
  constexpr Arrangement kArrangements[] = {Arrangement::kPacked1, Arrangement::kNv12,
                                           Arrangement::kYuy2, Arrangement::kRgba};
  const int shortest = accumulator == Accumulator::kFloat64 ? 3 : 1;
  int turn = 0;
  for (int length = shortest; length <= kLongestFactor; ++length)
    for (const SampleType& samples : {kU8, kU10High})
      for (const bool high : {false, true}) {
        const int other = std::max(shortest, 8 * length % 23);
        const TestMaskPtr mask = product_mask(high ? other : length, high ? length : other, most,
                                              row_symmetric, column_symmetric);
        SCOPED_TRACE(std::string(samples.name) + " " + mask->name);
        const FrameFormat format =
            make_format(kArrangements[turn % 4], samples, Levels::kLimited, 2 * (52 + length), 23);
        expect_right_frame(form, accumulator, format, *mask,
                           static_cast<Border>(turn % kBorderCount), 1 + turn % 2);
        if (::testing::Test::HasFailure()) return;
        turn += 1 + turn % 3;
      }
}

TEST_P(Folded, FactorsInFloatAreThoseOfTheReference) {
  expect_right_lengths(GetParam(), Accumulator::kFloat32, 3, true, true);
}

TEST_P(Folded, FactorsInDoubleAreThoseOfTheReference) {
  expect_right_lengths(GetParam(), Accumulator::kFloat64, 2000, true, true);
}

TEST_P(Folded, RowsAndColumnsAreFoldedEachForItself) {
  expect_right_lengths(GetParam(), Accumulator::kFloat32, 3, true, false);
  expect_right_lengths(GetParam(), Accumulator::kFloat32, 3, false, true);
}

// Pictures that fill no vector, and of several strips with the higher masks, whose ghost cells lie
// at the other end.
TEST_P(Folded, PicturesOfAnyWidthAreThoseOfTheReference) {
  limit_rings(96 * 1024);
  for (const SampleType& samples : {kU8, kU10High})
    for (const Arrangement arrangement :
         {Arrangement::kPacked1, Arrangement::kPacked2, Arrangement::kYuy2, Arrangement::kRgba})
      for (const int width : {1, 3, 7, 801}) {
        SCOPED_TRACE(std::string(samples.name) + " " + std::to_string(width));
        const FrameFormat format = make_format(arrangement, samples, Levels::kLimited, width, 9);
        for (const int height : {5, 21})
          for (const int taps : {7, 8})
            expect_right_frame(GetParam(), Accumulator::kFloat32, format,
                               *product_mask(taps, height, 3, true, true), Border::kWrap, 2);
        if (HasFailure()) return;
      }
}

// The widest Gaussian whose sums of codes of 16 bits are floats.
TEST_P(Folded, RealsInFloatAreNearThoseOfTheReference) {
  Tolerance tolerance;
  tolerance.neighbours = true;
  tolerance.share = 0.05;
  expect_right_frame(GetParam(), Accumulator::kFloat32,
                     make_format(Arrangement::kPacked1, kU16, Levels::kFull, 301, 40),
                     *parsed_mask("gaussian:15"), Border::kMirror, 1, tolerance);
}

// Pixels of two words are filtered as one line only where that gives both their codes.
TEST_P(Folded, PixelsOfTwoMayHaveBlackLevelsThatDiffer) {
  for (const SampleType& samples : {kU8, kU10High, kU16Big}) {
    SCOPED_TRACE(samples.name);
    FrameFormat format = make_format(Arrangement::kPacked2, samples, Levels::kLimited, 131, 26);
    Component& second = format.planes[0].components[1];
    const Component chroma = make_component(Role::kChroma, samples, Levels::kLimited);
    second.role = chroma.role;
    second.black = chroma.black;
    second.range = chroma.range;
    ASSERT_NE(second.black, format.planes[0].components[0].black);
    for (const Border border : {Border::kZero, Border::kMirror})
      expect_right_frame(GetParam(), Accumulator::kFloat32, format,
                         *product_mask(7, 9, 3, true, true), border, 1);
  }
}

// Components that are copied lie between those that are filtered.
TEST_P(Folded, FramesKeepWhatIsNotFiltered) {
  const TestMaskPtr mask = product_mask(7, 9, 3, true, true);
  for (const SampleType& samples : {kU8, kU10High})
    for (const Arrangement arrangement :
         {Arrangement::kNv12, Arrangement::kYuy2, Arrangement::kRgba})
      for (int copied = 0; copied < 3; ++copied) {
        SCOPED_TRACE(std::string(samples.name) + " " + std::to_string(copied));
        FrameFormat format = make_format(arrangement, samples, Levels::kFull, 130, 26);
        PlaneFormat& last = format.planes[format.plane_count - 1];
        last.components[copied % last.component_count].filtered = false;
        expect_right_frame(GetParam(), Accumulator::kFloat32, format, *mask, Border::kWrap, 2);
        if (HasFailure()) return;
      }
}

INSTANTIATE_TEST_SUITE_P(Forms, Folded,
                         ::testing::Values(Form::kSeparableAreas, Form::kSeparableTwoPass),
                         [](const auto& test) {
                           std::string name = form_info(test.param).name;
                           name.erase(std::remove_if(name.begin(), name.end(),
                                                     [](unsigned char c) { return !isalnum(c); }),
                                      name.end());
                           return name;
                         });

}  // namespace
}  // namespace convolve::testing
