// SPDX-License-Identifier: LGPL-2.1-or-later
// Pixels of bytes that the CPU may filter where they lie: of two to four samples, or of luma and
// chroma that take turns, some of them copied, with epilogues that they share or not, in rows of
// any length around whole vectors: against the exact reference. The bytes beside the rows must
// stay.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/core/weights/digits.h"
#include "kernels/cpu/workspace.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

/// Rings of which no line is as long as a row of the wide pictures here.
constexpr std::size_t kSmallRings = 128 * 1024;

enum class Pixel {
  kTwo,
  kThree,
  kFour,
  kAlphaLast,
  kPaddingFirst,
  kLumaAndChroma,
  kLumaAndTwoChroma,
  kLumaAndFilteredAlpha,
  kMacropixel,
  kMacropixelChromaFirst,
  kMacropixelLuma,
  kMacropixelChroma
};

/// Luma of all codes and alpha, both black at 0: a bias is added to luma alone.
FrameFormat luma_and_filtered_alpha(int width, int height) {
  FrameFormat format = make_format(Arrangement::kPacked2, kU8, Levels::kFull, width, height);
  const Role roles[] = {Role::kLuma, Role::kAlpha};
  for (int k = 0; k < 2; ++k) {
    Component& component = format.planes[0].components[k];
    const Component of_role = make_component(roles[k], kU8, Levels::kFull);
    component.role = of_role.role;
    component.black = of_role.black;
    component.range = of_role.range;
    component.filtered = true;
  }
  return format;
}

/// Colours, or luma and chroma, whose black levels differ, with alpha in their midst.
FrameFormat format_of(Pixel pixel, int width, int height) {
  const auto make = [&](Arrangement arrangement) {
    return make_format(arrangement, kU8, Levels::kLimited, width, height);
  };
  switch (pixel) {
    case Pixel::kTwo:
      return make(Arrangement::kPacked2);
    case Pixel::kThree:
      return make(Arrangement::kPacked3);
    case Pixel::kFour:
      return make(Arrangement::kPacked4);
    case Pixel::kAlphaLast:
      return make(Arrangement::kRgba);
    case Pixel::kPaddingFirst:
      return make(Arrangement::kXrgb);
    case Pixel::kMacropixel:
      return make(Arrangement::kYuy2);
    case Pixel::kMacropixelChromaFirst:
      return make(Arrangement::kUyvy);
    case Pixel::kMacropixelLuma:
      return make(Arrangement::kUyvyLuma);
    case Pixel::kMacropixelChroma:
      return make(Arrangement::kYvyuChroma);
    case Pixel::kLumaAndFilteredAlpha:
      return luma_and_filtered_alpha(width, height);
    case Pixel::kLumaAndChroma:
    case Pixel::kLumaAndTwoChroma:
      break;
  }
  const bool four = pixel == Pixel::kLumaAndChroma;
  FrameFormat format = make(four ? Arrangement::kPacked4 : Arrangement::kPacked3);
  const Role roles[] = {Role::kChroma, Role::kLuma, four ? Role::kAlpha : Role::kChroma,
                        Role::kChroma};
  for (int k = 0; k < format.planes[0].component_count; ++k) {
    Component& component = format.planes[0].components[k];
    const Component of_role = make_component(roles[k], kU8, Levels::kLimited);
    component.role = of_role.role;
    component.filtered = of_role.filtered;
    component.black = of_role.black;
    component.range = of_role.range;
  }
  return format;
}

class Pixels : public ::testing::TestWithParam<Pixel> {
 protected:
  Pixels() {
    DeviceOptions options;
    options.threads = 2;
    device_ = open_device(BackendKind::kCpu, options).value();
  }

  void expect_right_frame(int width, int height, const TestMask& mask,
                          const RunArguments& arguments) {
    SCOPED_TRACE(mask.name + " " + std::to_string(width) + "x" + std::to_string(height) +
                 " border " + std::to_string(static_cast<int>(arguments.border)));
    const FrameFormat format = format_of(GetParam(), width, height);
    Options options;
    options.form = form_;
    options.scale = arguments.scale;
    options.bias = arguments.bias;
    auto convolver = Convolver::create(format, mask.mask, options, device_);
    ASSERT_TRUE(convolver.ok()) << convolver.status().message();
    expect_right_run(*convolver.value(), format, mask, arguments);
  }

  void expect_right_run(Convolver& convolver, const FrameFormat& format, const TestMask& mask,
                        const RunArguments& arguments) {
    GuardedFrame source(format, 1, false), wanted(format, 0, false), made(format, 3, false);
    fill_frame(source.view(), static_cast<std::uint64_t>(format.planes[0].row_bytes));
    reference_run(source.view(), wanted.view(), mask.mask, arguments);
    made.poison();
    ASSERT_TRUE(convolver.run(source.view(), made.view(), arguments).ok());
    ASSERT_TRUE(made.guards_intact());
    Tolerance tolerance;
    tolerance.neighbours = !mask.mask.rational;
    tolerance.exact = [&](int plane, int component) {
      return reference_filter(decode_component(source.view(), plane, component),
                              format.planes[plane].components[component], mask.mask, arguments)
          .samples;
    };
    ASSERT_EQ(find_fault(made.view(), wanted.view(), tolerance), "");
  }

  Form form_ = Form::kCoarsenedDots;
  std::shared_ptr<Device> device_;
};

TEST_P(Pixels, AreThoseOfTheReference) {
  // Of one, two and more quads a row, of two digits, of sums that take a double, and wide ones.
  const std::vector<TestMaskPtr> masks = {
      random_mask(3, 3, Weights::kRational),
      random_mask(5, 5, Weights::kRational),
      random_mask(7, 7, Weights::kRational),
      anchored(random_mask(9, 4, Weights::kRational), 8, 0),
      random_mask(31, 2, Weights::kRational),
      typed_mask("large", 3, 3, {300, -7, 900, 22, 1000, 41, -350, 8, 77}, 2000),
      typed_mask("doubles", 4, 2, {30000, -7, 29000, 22, 31000, 41, -350, 32000}, 4000000),
      typed_mask("wide", 4, 2, {8000000, -7, 8300000, 22, 31000, 41, -350, 32000}, 20000000)};
  ASSERT_TRUE(choose_wide_digits(format_of(GetParam(), 5, 5), masks.back()->mask, 1, true));
  const int widths[] = {1, 2, 5, 15, 16, 21, 22, 31, 32, 33, 43, 64, 65, 85, 86, 130, 201};
  int border = 0;
  for (const TestMaskPtr& mask : masks)
    for (const int width : widths)
      for (const int height : {1, 7, 20}) {
        RunArguments arguments;
        arguments.border = static_cast<Border>(border++ % kBorderCount);
        if (border % 3 == 0) arguments.bias = 0.125;
        if (border % 5 == 0) arguments.scale = 0.75;
        expect_right_frame(width, height, *mask, arguments);
        if (HasFailure()) return;
      }
}

TEST_P(Pixels, OfUnitGainAreThoseOfTheReference) {
  std::vector<TestMaskPtr> masks;
  for (int width = 1; width <= 9; ++width)
    for (const int height : {1, 3, 5, 7, 12})
      for (const int largest : {7, 900}) {
        const TestMaskPtr mask = unit_gain_mask(width, height, largest);
        masks.push_back(mask);
        masks.push_back(anchored(mask, width - 1, 0));
        masks.push_back(anchored(mask, 0, height - 1));
      }
  int border = 0;
  for (const TestMaskPtr& mask : masks)
    for (const int width : {1, 2, 4, 6, 8, 14, 16, 30, 31, 32, 34, 62, 64, 66, 68, 74, 131, 514}) {
      RunArguments arguments;
      arguments.border = static_cast<Border>(border++ % kBorderCount);
      expect_right_frame(width, 1 + border % 14, *mask, arguments);
      if (HasFailure()) return;
    }
}

TEST_P(Pixels, OfSeveralStripsAreThoseOfTheReference) {
  limit_rings(kSmallRings);
  for (const int side : {3, 5, 7})
    expect_right_frame(9000, 5, *unit_gain_mask(side, side, 100), {});
}

class PixelsOfTwoPasses : public Pixels {
 protected:
  PixelsOfTwoPasses() { form_ = Form::kSeparableDots; }
};

// Of rows and columns with fewer taps than rows are computed together, of high masks, whose lines
// are parted, and in rows that end with whole pairs of pixels or within one.
TEST_P(PixelsOfTwoPasses, AreThoseOfTheReference) {
  const std::vector<TestMaskPtr> masks = {random_rank1_mask(7, 5, Weights::kRational),
                                          random_rank1_mask(2, 1, Weights::kRational),
                                          random_rank1_mask(1, 3, Weights::kReal),
                                          anchored(random_rank1_mask(12, 4, Weights::kReal), 11, 0),
                                          anchored(random_rank1_mask(4, 9, Weights::kReal), 0, 8),
                                          parsed_mask("gaussian:3"),
                                          parsed_mask("gaussian:8")};
  std::vector<int> widths = {127, 128, 129, 201, 402};
  for (int width = 1; width <= 66; ++width)
    widths.push_back(width);
  int border = 0;
  for (const TestMaskPtr& mask : masks)
    for (const int width : widths) {
      RunArguments arguments;
      arguments.border = static_cast<Border>(border++ % kBorderCount);
      if (border % 3 == 0) arguments.bias = 0.125;
      expect_right_frame(width, 1 + border % 19, *mask, arguments);
      if (HasFailure()) return;
    }
}

// A row of sums takes most room under a mask of few rows and many columns.
TEST_P(PixelsOfTwoPasses, UnderWideMasksAreThoseOfTheReference) {
  const TestMaskPtr mask = random_rank1_mask(101, 3, Weights::kRational);
  for (const int anchor : {0, 50, 100})
    for (const int width : {2, 50, 384, 768})
      for (int border = 0; border < kBorderCount; ++border) {
        RunArguments arguments;
        arguments.border = static_cast<Border>(border);
        expect_right_frame(width, 9, *anchored(mask, anchor, 1), arguments);
        if (HasFailure()) return;
      }
}

TEST_P(PixelsOfTwoPasses, OfSeveralStripsAreThoseOfTheReference) {
  limit_rings(kSmallRings);
  int border = 0;
  for (const int side : {3, 20})
    for (const int width : {9000, 4608}) {
      RunArguments arguments;
      arguments.border = static_cast<Border>(border++ % kBorderCount);
      expect_right_frame(width, 9, *random_rank1_mask(side, side, Weights::kReal), arguments);
    }
}

// Reals that add up to 1 may round the other way near a tie alone.
TEST_P(Pixels, OfRealsOfUnitGainAreNearThoseOfTheReference) {
  const TestMaskPtr mask = parsed_mask("motion:5,30");
  ASSERT_FALSE(mask->mask.rational);
  for (const int width : {2, 31, 66, 130, 514})
    expect_right_frame(width, 9, *mask, {});
}

// From one way to filter them to the other and back, in the same memory.
TEST_P(Pixels, OutliveAnotherScale) {
  const FrameFormat format = format_of(GetParam(), 200, 20);
  const TestMaskPtr mask = unit_gain_mask(5, 5, 100);
  Options options;
  options.form = Form::kCoarsenedDots;
  auto convolver = Convolver::create(format, mask->mask, options, device_);
  ASSERT_TRUE(convolver.ok()) << convolver.status().message();
  for (const double scale : {1.0, 0.75, 1.0}) {
    SCOPED_TRACE(scale);
    RunArguments arguments;
    arguments.scale = scale;
    expect_right_run(*convolver.value(), format, *mask, arguments);
  }
}

INSTANTIATE_TEST_SUITE_P(OfBytes, Pixels,
                         ::testing::Values(Pixel::kTwo, Pixel::kThree, Pixel::kFour,
                                           Pixel::kAlphaLast, Pixel::kPaddingFirst,
                                           Pixel::kLumaAndChroma, Pixel::kLumaAndTwoChroma,
                                           Pixel::kLumaAndFilteredAlpha, Pixel::kMacropixel,
                                           Pixel::kMacropixelChromaFirst, Pixel::kMacropixelLuma,
                                           Pixel::kMacropixelChroma));
INSTANTIATE_TEST_SUITE_P(OfBytes, PixelsOfTwoPasses,
                         ::testing::Values(Pixel::kTwo, Pixel::kThree, Pixel::kFour,
                                           Pixel::kAlphaLast, Pixel::kLumaAndChroma,
                                           Pixel::kLumaAndTwoChroma, Pixel::kLumaAndFilteredAlpha,
                                           Pixel::kMacropixel, Pixel::kMacropixelChromaFirst,
                                           Pixel::kMacropixelLuma, Pixel::kMacropixelChroma));

}  // namespace
}  // namespace convolve::testing
