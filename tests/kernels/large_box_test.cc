// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes far larger than the exact reference has time for: kernel box in bands against the CPU's
// running sums, to the byte, under every border.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "tests/kernels/chains.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

struct Shape {
  int width;
  int height;
};

// Quotients by floats (to about a thousand columns), by signs (1020 columns and 255 rows at least),
// by scaled numbers (long and flat ones, or tall ones), and as they come; odd ones and such with
// ties; windows of a few and of many panels, wider than the picture, taller, or both.
constexpr Shape kBoxes[] = {
    {289, 289},   {300, 300},   {601, 600},   {1019, 1019}, {1020, 255},
    {1024, 1024}, {1027, 1027}, {1200, 1200}, {1499, 1499}, {1530, 1530},
    {2001, 2001}, {2002, 2002}, {3841, 300},  {4096, 4096}, {4097, 4097},
    {4001, 3},    {4000, 24},   {2001, 101},  {301, 4001},  {3, 4001},
};
// A band of the first has 17 rows, as many as a batch. Columns of the second are aslant.
constexpr Shape kPictures[] = {{3840, 2160}, {1931, 717}};

enum class Fill : int { kNoise, kPatches };

/// Noise, or patches of black and white, which windows differ most between.
void fill(Fill how, const FrameView& frame) {
  Random random(11);
  for (int y = 0; y < frame.format.planes[0].rows; ++y)
    for (int x = 0; x < frame.format.planes[0].row_bytes; ++x)
      frame.data[0][y * frame.pitch[0] + x] = static_cast<std::uint8_t>(
          how == Fill::kNoise ? random.integer(0, 255) : (x / 611 + y / 307) % 2 * 255);
}

/// Compares what both devices make of a picture, under every border. The convolvers are for frames
/// of `format`, and what they get is `height` rows of them.
void compare(const TestMaskPtr& mask, const FrameFormat& format, int height,
             const std::shared_ptr<Device>& cpu, const std::shared_ptr<Device>& gpu) {
  const int width = format.planes[0].row_bytes;
  SCOPED_TRACE(std::to_string(width) + "x" + std::to_string(height));
  Options options;
  options.kernel = KernelKind::kBox;
  auto wanted = Convolver::create(format, mask->mask, options, cpu);
  ASSERT_TRUE(wanted.ok()) << wanted.status().message();
  options.form = Form::kBoxBands;
  auto bands = Convolver::create(format, mask->mask, options, gpu);
  ASSERT_TRUE(bands.ok()) << bands.status().message();
  const FrameFormat rows = make_format(Arrangement::kPacked1, kU8, Levels::kFull, width, height);
  GuardedFrame source(rows, 0, false), truth(rows, 0, false), answer(rows, 0, false);
  for (const Fill how : {Fill::kNoise, Fill::kPatches}) {
    fill(how, source.view());
    for (const Border border :
         {Border::kReplicate, Border::kZero, Border::kMirror, Border::kReflect, Border::kWrap}) {
      SCOPED_TRACE("border " + std::to_string(static_cast<int>(border)) +
                   (how == Fill::kNoise ? ", noise" : ", patches"));
      RunArguments arguments;
      arguments.border = border;
      ASSERT_TRUE(wanted.value()->run(source.view(), truth.view(), arguments).ok());
      ASSERT_TRUE(cpu->finish().ok());
      answer.poison();
      const Status status = bands.value()->run(source.view(), answer.view(), arguments);
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(gpu->finish().ok());
      EXPECT_EQ(differing_bytes(answer.view(), truth.view()), 0u);
    }
  }
}

class LargeBoxes : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    auto gpu = open_device(BackendKind::kCuda, {});
    if (!gpu.ok() && !gpu_required()) GTEST_SKIP() << gpu.status().message();
    ASSERT_TRUE(gpu.ok()) << gpu.status().message();
    auto cpu = open_device(BackendKind::kCpu, {});
    ASSERT_TRUE(cpu.ok()) << cpu.status().message();
    gpu_ = gpu.value();
    cpu_ = cpu.value();
  }

  std::shared_ptr<Device> gpu_, cpu_;
};

TEST_P(LargeBoxes, AreThoseOfTheCpu) {
  const Shape box = GetParam();
  const TestMaskPtr mask =
      parsed_mask("box:" + std::to_string(box.width) + "," + std::to_string(box.height));
  for (const Shape& picture : kPictures)
    compare(mask,
            make_format(Arrangement::kPacked1, kU8, Levels::kFull, picture.width, picture.height),
            picture.height, cpu_, gpu_);
}

INSTANTIATE_TEST_SUITE_P(Boxes, LargeBoxes, ::testing::ValuesIn(kBoxes), [](const auto& row) {
  return "of_" + std::to_string(row.param.width) + "x" + std::to_string(row.param.height);
});

// A field may take other stages of steps than its frame: more of 4096x800, fewer of 3840x584.
class BoxesOfFields : public LargeBoxes {};

TEST_P(BoxesOfFields, AreThoseOfTheCpu) {
  const Shape picture = GetParam();
  for (const char* mask : {"box:31", "box:401"})
    compare(parsed_mask(mask),
            make_format(Arrangement::kPacked1, kU8, Levels::kFull, picture.width, picture.height),
            picture.height / 2, cpu_, gpu_);
}

INSTANTIATE_TEST_SUITE_P(Fields, BoxesOfFields,
                         ::testing::Values(Shape{4096, 800}, Shape{3840, 584}, Shape{3840, 2160}),
                         [](const auto& row) {
                           return "of_" + std::to_string(row.param.width) + "x" +
                                  std::to_string(row.param.height);
                         });

// Interleaved components go in runs, whose blocks keep the sums of ghosts that repeat columns of
// their own: at every distance of the picture's border from a block's first column.
class BoxesOfComponents : public LargeBoxes {};

TEST_P(BoxesOfComponents, AreThoseOfTheCpu) {
  const Shape picture = GetParam();
  const FrameFormat format =
      make_format(Arrangement::kPacked3, kU8, Levels::kFull, picture.width, picture.height);
  const GuardedFrame source(format, 0, false);
  fill(Fill::kNoise, source.view());
  for (const char* text : {"box:494", "box:301,20", "box:700,9"}) {
    const TestMaskPtr mask = parsed_mask(text);
    Options options;
    options.kernel = KernelKind::kBox;
    auto wanted = Convolver::create(format, mask->mask, options, cpu_);
    auto given = Convolver::create(format, mask->mask, options, gpu_);
    ASSERT_TRUE(wanted.ok() && given.ok());
    for (const Border border :
         {Border::kReplicate, Border::kZero, Border::kMirror, Border::kReflect, Border::kWrap}) {
      SCOPED_TRACE(std::string(text) + " border " + std::to_string(static_cast<int>(border)));
      GuardedFrame truth(format, 0, false), answer(format, 0, false);
      RunArguments arguments;
      arguments.border = border;
      ASSERT_TRUE(wanted.value()->run(source.view(), truth.view(), arguments).ok());
      ASSERT_TRUE(given.value()->run(source.view(), answer.view(), arguments).ok());
      ASSERT_TRUE(gpu_->finish().ok());
      EXPECT_EQ(differing_bytes(answer.view(), truth.view()), 0u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, BoxesOfComponents,
                         ::testing::Values(Shape{570, 47}, Shape{571, 47}, Shape{572, 47},
                                           Shape{573, 47}, Shape{574, 47}, Shape{575, 47},
                                           Shape{576, 47}, Shape{577, 47}, Shape{370, 24}),
                         [](const auto& row) { return "of_" + std::to_string(row.param.width); });

// A plane that is only copied may be wider than any band is.
class BoxesBesideCopies : public LargeBoxes {};

TEST_P(BoxesBesideCopies, AreThoseOfTheCpu) {
  const Shape picture = GetParam();
  FrameFormat format =
      make_format(Arrangement::kI420, kU8, Levels::kFull, picture.width, picture.height);
  format.planes[0].components[0].filtered = false;
  GuardedFrame source(format, 0, false), truth(format, 0, false), answer(format, 0, false);
  Random random(12);
  const FrameView& view = source.view();
  for (int p = 0; p < format.plane_count; ++p)
    for (int y = 0; y < format.planes[p].rows; ++y)
      for (int x = 0; x < format.planes[p].row_bytes; ++x)
        view.data[p][y * view.pitch[p] + x] = static_cast<std::uint8_t>(random.integer(0, 255));
  const TestMaskPtr mask = parsed_mask("box:31");
  Options options;
  options.kernel = KernelKind::kBox;
  auto wanted = Convolver::create(format, mask->mask, options, cpu_);
  ASSERT_TRUE(wanted.ok()) << wanted.status().message();
  options.form = Form::kBoxBands;
  auto bands = Convolver::create(format, mask->mask, options, gpu_);
  ASSERT_TRUE(bands.ok()) << bands.status().message();
  ASSERT_TRUE(wanted.value()->run(source.view(), truth.view(), {}).ok());
  ASSERT_TRUE(bands.value()->run(source.view(), answer.view(), {}).ok());
  ASSERT_TRUE(gpu_->finish().ok());
  EXPECT_EQ(differing_bytes(answer.view(), truth.view()), 0u);
}

INSTANTIATE_TEST_SUITE_P(Widths, BoxesBesideCopies,
                         ::testing::Values(Shape{8192, 40}, Shape{8194, 40}, Shape{12000, 40}),
                         [](const auto& row) { return "of_" + std::to_string(row.param.width); });

}  // namespace
}  // namespace convolve::testing
