// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums next to the ends of 32 bits: white and black pictures under masks whose weights, and what
// the epilogue adds to their products, just fit there or just do not; and boxes whose sums floats
// do not hold.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/chains.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr int kWidth = 70, kHeight = 9;
constexpr SampleType kBytes = {"u8", 1, false, 8, 0};

/// A mask of weights that are all `weight` but for one, which keeps the fraction from being reduced
/// to one of smaller numbers.
TestMaskPtr even_mask(int width, int height, double weight, double divisor) {
  std::vector<double> weights(static_cast<std::size_t>(width * height), weight);
  weights[100] += weight < 0 ? 1 : -1;
  return typed_mask("even-" + std::to_string(weight) + "/" + std::to_string(divisor), width, height,
                    std::move(weights), divisor);
}

/// Wrong samples of a frame whose rows have bytes `code` and `other` in turn.
int wrong_samples(const TestMask& mask, int code, int other, double bias) {
  const FrameFormat format =
      make_format(Arrangement::kPacked1, kBytes, Levels::kFull, kWidth, kHeight);
  GuardedFrame source(format, 0, false), made(format, 0, false), wanted(format, 0, false);
  const auto row = [](const GuardedFrame& frame, int y) {
    return frame.view().data[0] + y * frame.view().pitch[0];
  };
  for (int y = 0; y < kHeight; ++y)
    std::memset(row(source, y), y % 2 == 0 ? code : other, kWidth);
  auto device = open_device(BackendKind::kCpu, {});
  EXPECT_TRUE(device.ok());
  Options options;
  options.form = Form::kCoarsenedDots;
  options.bias = bias;
  auto convolver = Convolver::create(format, mask.mask, options, device.value());
  EXPECT_TRUE(convolver.ok()) << convolver.status().message();
  RunArguments arguments;
  arguments.bias = bias;
  EXPECT_TRUE(convolver.value()->run(source.view(), made.view(), arguments).ok());
  EXPECT_TRUE(device.value()->finish().ok());
  reference_run(source.view(), wanted.view(), mask.mask, arguments);
  int wrong = 0;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x)
      wrong += row(made, y)[x] != row(wanted, y)[x];
  return wrong;
}

// 255 x 272 x 30961 is the last such sum below 2^31; quotients by 130000 that are made less half of
// the codes want 128 x 130000 beside it, so that they end at 30721.
TEST(LargeSums, NothingWraps) {
  for (const double weight : {30600.0, 30700.0, 30730.0, 30850.0, 30960.0, 31100.0})
    for (const double sign : {1.0, -1.0})
      for (const double divisor : {130000.0, 74506.0, 99991.0, 9000.0, 2000000.0}) {
        const TestMaskPtr mask = even_mask(17, 16, sign * weight, divisor);
        for (const int code : {0, 1, 255})
          for (const double bias : {0.0, 0.5, -0.5, 1.0})
            EXPECT_EQ(wrong_samples(*mask, code, code, bias), 0)
                << mask->name << " code " << code << " bias " << bias;
      }
}

// 128 x 527 x 31835 is the last such sum below 2^31: of bytes less half of their codes.
TEST(LargeSums, LessHalfOfTheCodesDoNotWrap) {
  for (const double weight : {31834.0, 31835.0, 31836.0, 31900.0, 32767.0})
    for (const double sign : {1.0, -1.0})
      for (const double divisor : {130000.0, 16777259.0}) {
        const TestMaskPtr mask = even_mask(31, 17, sign * weight, divisor);
        for (const int code : {0, 1, 128, 255})
          for (const double bias : {0.0, 0.5})
            EXPECT_EQ(wrong_samples(*mask, code, code, bias), 0)
                << mask->name << " code " << code << " bias " << bias;
      }
}

struct BoxFrames {
  const char* name;
  Arrangement arrangement;
  Levels levels;
};

// Sums of boxes that floats do not hold, by odd and even divisors and under every border.
class LargeBoxSums : public ::testing::TestWithParam<BoxFrames> {
 protected:
  explicit LargeBoxSums(int width = kWidth, int height = kHeight)
      : format_(make_format(GetParam().arrangement, kBytes, GetParam().levels, width, height)) {}

  /// Filters `source` by `box`.
  void filter(const TestMask& box, double scale, Border border, const FrameView& source,
              const FrameView& made) {
    auto device = open_device(BackendKind::kCpu, {});
    ASSERT_TRUE(device.ok());
    Options options;
    options.kernel = KernelKind::kBox;
    options.scale = scale;
    auto convolver = Convolver::create(format_, box.mask, options, device.value());
    ASSERT_TRUE(convolver.ok()) << convolver.status().message();
    arguments_.scale = scale;
    arguments_.border = border;
    ASSERT_TRUE(convolver.value()->run(source, made, arguments_).ok());
    ASSERT_TRUE(device.value()->finish().ok());
  }

  /// Each byte of the picture becomes what `code` returns.
  template <class Code>
  static void fill(const FrameView& frame, const Code& code) {
    for (int y = 0; y < frame.format.planes[0].rows; ++y)
      for (int x = 0; x < frame.format.planes[0].row_bytes; ++x)
        frame.data[0][y * frame.pitch[0] + x] = static_cast<std::uint8_t>(code());
  }

  const FrameFormat format_;
  RunArguments arguments_;
};

TEST_P(LargeBoxSums, AreThoseOfTheReference) {
  GuardedFrame source(format_, 0, false), made(format_, 0, false), wanted(format_, 0, false);
  Random random(5);
  fill(source.view(), [&random] { return random.integer(0, 255); });
  struct Case {
    const char* box;
    Border border;
    double scale;
  };
  // No float divides 1185 x 87.
  for (const Case& c :
       {Case{"box:257", Border::kReplicate, 1}, Case{"box:257", Border::kZero, 1},
        Case{"box:257", Border::kReflect, 1}, Case{"box:257", Border::kWrap, 1},
        Case{"box:257", Border::kMirror, 1.0 / 3}, Case{"box:258,257", Border::kMirror, 1},
        Case{"box:301,901", Border::kMirror, 1}, Case{"box:1185,87", Border::kReplicate, 1}}) {
    const TestMaskPtr box = parsed_mask(c.box);
    filter(*box, c.scale, c.border, source.view(), made.view());
    reference_run(source.view(), wanted.view(), box->mask, arguments_);
    EXPECT_EQ(differing_bytes(made.view(), wanted.view()), 0u)
        << c.box << ", border " << static_cast<int>(c.border) << ", scale " << c.scale;
  }
}

// 255 x 2901 x 2901 and half a divisor are more than 2^31, and so are 255 x 999 x 4001 and the bits
// of a float.
TEST_P(LargeBoxSums, OfWhiteAreWhite) {
  GuardedFrame source(format_, 0, false), made(format_, 0, false);
  fill(source.view(), [] { return 255; });
  for (const char* box : {"box:2901", "box:999,4001"}) {
    filter(*parsed_mask(box), 1, Border::kReplicate, source.view(), made.view());
    EXPECT_EQ(differing_bytes(made.view(), source.view()), 0u) << box;
  }
}

// Black rows below white ones and the other way round, so that windows change as fast as they can
// for many rows in turn.
class StripedBoxSums : public LargeBoxSums {
 protected:
  StripedBoxSums() : LargeBoxSums(kWidth, 40) {}
};

TEST_P(StripedBoxSums, AreThoseOfTheReference) {
  GuardedFrame source(format_, 0, false), made(format_, 0, false), wanted(format_, 0, false);
  Random random(7);
  const int bytes = format_.planes[0].row_bytes;
  for (const int stripe : {8, 12}) {
    int at = 0;
    fill(source.view(), [&] {
      const int row = at++ / bytes;
      return random.integer(0, 400) == 0 ? 99 : row / stripe % 2 * 255;
    });
    for (const char* text : {"box:4001,9", "box:2801,13"}) {
      const TestMaskPtr box = parsed_mask(text);
      filter(*box, 1, Border::kReplicate, source.view(), made.view());
      reference_run(source.view(), wanted.view(), box->mask, arguments_);
      EXPECT_EQ(differing_bytes(made.view(), wanted.view()), 0u) << text << ", " << stripe;
    }
  }
}

// Rows that are longer than the mask, so that cells are read in the picture.
class WideBoxSums : public LargeBoxSums {
 protected:
  WideBoxSums() : LargeBoxSums(450, 13) {}
};

TEST_P(WideBoxSums, AreThoseOfTheReference) {
  GuardedFrame source(format_, 0, false), made(format_, 0, false), wanted(format_, 0, false);
  Random random(9);
  fill(source.view(), [&random] { return random.integer(0, 255); });
  for (const char* text : {"box:257,129", "box:301,111"})
    for (const Border border :
         {Border::kReplicate, Border::kZero, Border::kReflect, Border::kMirror, Border::kWrap}) {
      const TestMaskPtr box = parsed_mask(text);
      filter(*box, 1, border, source.view(), made.view());
      reference_run(source.view(), wanted.view(), box->mask, arguments_);
      EXPECT_EQ(differing_bytes(made.view(), wanted.view()), 0u)
          << text << ", border " << static_cast<int>(border);
    }
}

constexpr BoxFrames kFullLevels = {"full_levels", Arrangement::kPacked1, Levels::kFull};
constexpr BoxFrames kLimitedLevels = {"limited_levels", Arrangement::kPacked1, Levels::kLimited};
const auto name_of = [](const auto& row) { return row.param.name; };
INSTANTIATE_TEST_SUITE_P(Boxes, LargeBoxSums,
                         ::testing::Values(kFullLevels, kLimitedLevels,
                                           BoxFrames{"copied_alpha", Arrangement::kRgba,
                                                     Levels::kFull}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Boxes, StripedBoxSums, ::testing::Values(kFullLevels), name_of);
INSTANTIATE_TEST_SUITE_P(Boxes, WideBoxSums, ::testing::Values(kLimitedLevels), name_of);

// Sums of four, eight and sixteen weights at the ends of 16 bits, and rows that differ most.
TEST(LargeSums, SplitRowsDoNotWrap) {
  for (const double weight : {2047.0, 2048.0, 4095.0, 4096.0, 8191.0, 8192.0})
    for (const double sign : {1.0, -1.0})
      for (const int height : {16, 32, 64}) {
        const TestMaskPtr mask = even_mask(33, height, sign * weight, 33.0 * height * 1777);
        for (const int code : {0, 255})
          for (const int other : {0, 1, 255})
            EXPECT_EQ(wrong_samples(*mask, code, other, 0), 0)
                << mask->name << " codes " << code << " and " << other;
      }
}

}  // namespace
}  // namespace convolve::testing
