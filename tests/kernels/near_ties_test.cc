// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks of many rows of large integers, whose sums the CPU approximates and makes exact near ties:
// against the exact reference, with pictures of which some, all or none of the sums are near a tie.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/core/weights/approximate_fir.h"
#include "kernels/core/weights/digits.h"
#include "kernels/core/weights/fast_fir.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

/// Numbers from `least` to `most`, divided by `shares` of their sum.
TestMaskPtr large_mask(int width, int height, int least, int most, double shares = 1) {
  std::mt19937 random(static_cast<unsigned>(width * height));
  std::uniform_int_distribution<int> number(least, most);
  std::vector<double> weights;
  double sum = 0;
  for (int i = 0; i < width * height; ++i)
    sum += weights.emplace_back(number(random));
  return typed_mask("large-" + std::to_string(most) + "/" + std::to_string(shares), width, height,
                    std::move(weights), shares * sum);
}

/// Makes the frame of a convolver and the reference's, and says what differs.
class Case {
 public:
  explicit Case(const FrameFormat& format)
      : source(format, 0, false), made_(format, 0, false), wanted_(format, 0, false) {}

  /// `planned`: the scale of the plan, if it is not that of the frame.
  std::string fault(const TestMask& mask, const RunArguments& arguments, int threads = 1,
                    std::optional<double> planned = {}) {
    DeviceOptions device_options;
    device_options.threads = threads;
    auto device = open_device(BackendKind::kCpu, device_options);
    if (!device.ok()) return device.status().message();
    Options options;
    options.form = Form::kCoarsenedDots;
    options.scale = planned.value_or(arguments.scale);
    options.bias = arguments.bias;
    auto convolver = Convolver::create(source.view().format, mask.mask, options, device.value());
    if (!convolver.ok()) return convolver.status().message();
    made_.poison();
    const Status status = convolver.value()->run(source.view(), made_.view(), arguments);
    if (!status.ok()) return status.message();
    if (!made_.guards_intact()) return "bytes beside the rows";
    reference_run(source.view(), wanted_.view(), mask.mask, arguments);
    return find_fault(made_.view(), wanted_.view(), {});
  }

  GuardedFrame source;

 private:
  GuardedFrame made_, wanted_;
};

FrameFormat format_of(Arrangement arrangement, int width, int height) {
  return make_format(arrangement, kU8, Levels::kLimited, width, height);
}

/// True if sums of the mask are approximated, where there are products of pairs alone.
bool is_approximated(const FrameFormat& format, const TestMask& mask) {
  auto weights = choose_digits(format, mask.mask, 1, true);
  if (!weights) weights = choose_wide_digits(format, mask.mask, 1, true);
  return weights && choose_fir_levels(mask.mask, *weights, 255) == 0 &&
         choose_approximate_weights(mask.mask, *weights).has_value();
}

constexpr int kPartlyWhiteWidth = 481, kPartlyWhiteHeight = 94;

class NearTies : public ::testing::TestWithParam<Arrangement> {};

TEST_P(NearTies, OfNoiseAreExact) {
  // The first is narrow, and the residuals of that of millions are two digits.
  const std::vector<TestMaskPtr> masks = {large_mask(15, 25, -20000, 32000),
                                          large_mask(31, 31, -7500, 30000),
                                          anchored(large_mask(24, 40, 1, 65535), 20, 3),
                                          large_mask(47, 23, -9000, 700000),
                                          large_mask(31, 30, -1000000, 3000000),
                                          large_mask(33, 63, -30000, 32767, 4),
                                          large_mask(64, 57, 1000, 30000)};
  int border = 0;
  for (const TestMaskPtr& mask : masks) {
    ASSERT_TRUE(is_approximated(format_of(GetParam(), 75, 43), *mask)) << mask->name;
    for (const int threads : {1, 3})
      for (const int height : {2, 43, 130}) {
        SCOPED_TRACE(mask->name + " " + std::to_string(height) + " " + std::to_string(threads));
        Case test(format_of(GetParam(), 75, height));
        fill_frame(test.source.view(), 11);
        RunArguments arguments;
        arguments.border = static_cast<Border>(border++ % kBorderCount);
        ASSERT_EQ(test.fault(*mask, arguments, threads), "");
      }
  }
}

TEST_P(NearTies, OfStripsAreExact) {
  Case test(format_of(GetParam(), 1501, 20));
  fill_frame(test.source.view(), 12);
  EXPECT_EQ(test.fault(*large_mask(31, 31, -7500, 30000), {}, 2), "");
}

INSTANTIATE_TEST_SUITE_P(Arrangements, NearTies,
                         ::testing::Values(Arrangement::kPacked1, Arrangement::kRgba,
                                           Arrangement::kNv12, Arrangement::kYuy2),
                         [](const auto& test) { return "A" + std::to_string(test.index); });

// Codes of half of the sum are ties where they are odd; with another scale or bias it is others, or
// so many that exact sums of all are faster.
TEST(NearTiesOfFlatPictures, AreExact) {
  const TestMaskPtr mask = large_mask(31, 33, -7500, 30000, 2);
  // Only sums of codes less half of them fit 32 bits.
  const TestMaskPtr large = large_mask(64, 57, 1000, 30000);
  Case test(make_format(Arrangement::kPacked1, kU8, Levels::kFull, 70, 40));
  const FrameView source = test.source.view();
  for (const int code : {0, 1, 2, 127, 254, 255}) {
    for (const double scale : {1.0, 0.25, 3.0, -1.0, 200.0})
      for (const double bias : {0.0, 0.5}) {
        for (int y = 0; y < 40; ++y)
          std::memset(source.data[0] + y * source.pitch[0], code, 70);
        RunArguments arguments;
        arguments.scale = scale;
        arguments.bias = bias;
        ASSERT_EQ(test.fault(*mask, arguments), "") << code << " x " << scale << " + " << bias;
      }
    EXPECT_EQ(test.fault(*large, {}), "") << code;
  }
}

/// Noise, but white in columns 40 .. `white` - 1, and in 40 more from row 44 on, of 481.
void fill_partly_white(const FrameView& frame, int white) {
  fill_frame(frame, 14);
  for (int p = 0; p < frame.format.plane_count; ++p) {
    const PlaneFormat& plane = frame.format.planes[p];
    for (int y = 0; y < plane.rows; ++y) {
      const int end = y < 44 * plane.rows / kPartlyWhiteHeight ? white : white + 40;
      const int first = plane.row_bytes * 40 / kPartlyWhiteWidth;
      const int last = plane.row_bytes * std::min(end, kPartlyWhiteWidth) / kPartlyWhiteWidth;
      std::memset(frame.data[p] + y * frame.pitch[p] + first, 255,
                  static_cast<std::size_t>(last - first));
    }
  }
}

// Where most samples are near a tie steps of columns go by whole weights, more and more at once,
// and then by approximate sums again. Below the whole blocks of rows is one of 30 of 32 or 64.
TEST_P(NearTies, OfPartlyWhitePicturesAreExact) {
  // The first has weights of one part, the second of two, sums of the third fit 32 bits, and the
  // last has four levels.
  const std::vector<TestMaskPtr> masks = {
      large_mask(31, 33, -7500, 30000, 2), large_mask(24, 40, 1, 65535, 2),
      large_mask(25, 25, -20000, 32000, 2), large_mask(64, 57, 1000, 30000, 2)};
  for (const TestMaskPtr& mask : masks)
    for (const int white : {300, 460}) {
      // Sanitizers take long: the other masks once.
      if (mask != masks[0] && (white != 300 || GetParam() != Arrangement::kPacked1)) continue;
      Case test(make_format(GetParam(), kU8, Levels::kFull, kPartlyWhiteWidth, kPartlyWhiteHeight));
      fill_partly_white(test.source.view(), white);
      RunArguments arguments;
      arguments.border = Border::kMirror;
      EXPECT_EQ(test.fault(*mask, arguments), "") << mask->name << " " << white;
    }
}

// The error grows with the scale, for which the weights were not taken apart.
TEST(NearTiesOfAnotherScale, AreExact) {
  const TestMaskPtr mask = large_mask(31, 33, -7500, 30000);
  Case test(make_format(Arrangement::kPacked1, kU8, Levels::kFull, 70, 40));
  fill_frame(test.source.view(), 13);
  for (const double scale : {0.5, -1.0, 3.0, 20.0, 200.0}) {
    RunArguments arguments;
    arguments.scale = scale;
    arguments.bias = 0.25;
    EXPECT_EQ(test.fault(*mask, arguments, 1, 1.0), "") << scale;
  }
}

}  // namespace
}  // namespace convolve::testing
