// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures so wide that the CPU filters them in strips, and so low that its workers meet at the
// same rows; and masks so high that it splits their rows: against the exact reference, with
// arrangements of components that it parts and puts together in each of its ways, and with each of
// its kernels. The bytes beside the rows must stay.
#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/core/plan/plan.h"
#include "kernels/core/weights/digits.h"
#include "kernels/core/weights/fast_fir.h"
#include "kernels/cpu/workspace.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

/// Whole pixels of two, and a row that ends within one.
constexpr int kWidths[] = {30720, 27001};
constexpr int kHeight = 12;
constexpr int kRounds = 3;

void expect_right_frames(const FrameFormat& format, const TestMask& mask, Border border,
                         int threads = 4, std::uint64_t seed = 5, const Options& options = {}) {
  // With larger caches these pictures would be one strip.
  limit_rings(256 * 1024);
  GuardedFrame source(format, 0, false), wanted(format, 0, false), made(format, 0, false);
  fill_frame(source.view(), seed);
  RunArguments arguments;
  arguments.border = border;
  reference_run(source.view(), wanted.view(), mask.mask, arguments);
  DeviceOptions device_options;
  device_options.threads = threads;
  auto device = open_device(BackendKind::kCpu, device_options);
  ASSERT_TRUE(device.ok());
  auto convolver = Convolver::create(format, mask.mask, options, device.value());
  ASSERT_TRUE(convolver.ok()) << convolver.status().message();
  for (int round = 0; round < kRounds; ++round) {
    made.poison();
    ASSERT_TRUE(convolver.value()->run(source.view(), made.view(), arguments).ok());
    ASSERT_TRUE(made.guards_intact());
    ASSERT_EQ(find_fault(made.view(), wanted.view(), {}), "") << "round " << round;
  }
}

/// With dot products, whose sums of high masks are split, whatever would be faster.
void expect_right_dots(const FrameFormat& format, const TestMask& mask, Border border, int threads,
                       std::uint64_t seed = 5) {
  Options options;
  options.form = Form::kCoarsenedDots;
  expect_right_frames(format, mask, border, threads, seed, options);
}

/// The levels of the fast FIR algorithm, where dot products are of pairs.
int levels_of(const FrameFormat& format, const TestMask& mask) {
  const auto weights = choose_digits(format, mask.mask, 1, true);
  return weights ? choose_fir_levels(mask.mask, *weights, largest_code(format)) : 0;
}

class Strips : public ::testing::TestWithParam<Arrangement> {};

TEST_P(Strips, AreThoseOfTheReference) {
  const std::vector<TestMaskPtr> masks = {
      random_mask(5, 5, Weights::kRational), random_rank1_mask(9, 7, Weights::kRational),
      box_mask(5, 5, Weights::kRational),    box_mask(15, 7, Weights::kRational),
      box_mask(131, 9, Weights::kRational),  tap_mask(5, 3, 1, 2, 3, 4)};
  for (const SampleType& samples : {kU8, kU10High})
    for (const int width : kWidths)
      for (const TestMaskPtr& mask : masks) {
        SCOPED_TRACE(std::string(samples.name) + " " + std::to_string(width) + " " + mask->name);
        expect_right_frames(make_format(GetParam(), samples, Levels::kLimited, width, kHeight),
                            *mask, width % 2 == 0 ? Border::kMirror : Border::kWrap);
        if (HasFailure()) return;
      }
}

TEST_P(Strips, OfHighMasksAreThoseOfTheReference) {
  // Two, three and four levels of the fast FIR algorithm, and rows that fill none of their blocks.
  const std::vector<TestMaskPtr> masks = {
      random_mask(15, 15, Weights::kRational), random_mask(21, 23, Weights::kRational),
      anchored(random_mask(9, 30, Weights::kRational), 8, 1),
      random_mask(31, 31, Weights::kRational), random_mask(64, 57, Weights::kRational)};
  int border = 0;
  for (const SampleType& samples : {kU8, kU10High, kU12Low})
    for (const int threads : {1, 4})
      for (const int height : {2, 44, 151})
        for (const TestMaskPtr& mask : masks) {
          SCOPED_TRACE(std::string(samples.name) + " " + std::to_string(height) + " " + mask->name +
                       " " + std::to_string(threads));
          expect_right_dots(make_format(GetParam(), samples, Levels::kLimited, 50, height), *mask,
                            static_cast<Border>(border++ % kBorderCount), threads);
          if (HasFailure()) return;
        }
}

// Where columns are split a strip may read one more cell than there are, where there is what a
// wider strip left of its picture.
TEST(StripsOfHighMasks, EndAtAnyColumn) {
  for (const SampleType& samples : {kU8, kU10High, kU12Low})
    for (const TestMaskPtr& mask :
         {random_mask(31, 31, Weights::kRational), random_mask(30, 35, Weights::kRational)})
      for (const int width : {801, 802})
        for (unsigned seed = 1; seed <= 4; ++seed) {
          SCOPED_TRACE(std::string(samples.name) + " " + std::to_string(width) + " " + mask->name +
                       " " + std::to_string(seed));
          const FrameFormat format =
              make_format(Arrangement::kPacked1, samples, Levels::kFull, width, 33);
          ASSERT_EQ(levels_of(format, *mask), kMostFirLevels);
          expect_right_dots(format, *mask, Border::kMirror, 1, seed);
        }
}

INSTANTIATE_TEST_SUITE_P(Arrangements, Strips,
                         ::testing::Values(Arrangement::kPacked1, Arrangement::kPacked3,
                                           Arrangement::kRgba, Arrangement::kNv12,
                                           Arrangement::kYuy2, Arrangement::kUyvyLuma,
                                           Arrangement::kYvyuChroma, Arrangement::kUyvy),
                         [](const auto& test) {
                           std::string name;
                           for (const char c : std::string(arrangement_name(test.param)))
                             if (std::isalnum(static_cast<unsigned char>(c)) != 0) name += c;
                           return name;
                         });

}  // namespace
}  // namespace convolve::testing
