// SPDX-License-Identifier: LGPL-2.1-or-later
// Luma and chroma that lie side by side: vectors of either are written with the bytes of the other
// between, so that only one worker may be at a row. Frames that several threads filter must be
// those of one thread, again and again, and bytes around the rows must stay. Two workers seldom
// meet at a row, so it is the thread sanitizer, which runs this, that sees whether they could.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "kernels/convolver.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/named_formats.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr int kRounds = 40;

/// A convolver for `threads` threads. A frame has one for each 16 us that it takes.
std::unique_ptr<Convolver> make_convolver(const FrameFormat& format, const TestMask& mask,
                                          int threads) {
  DeviceOptions device_options;
  device_options.threads = threads;
  auto device = open_device(BackendKind::kCpu, device_options);
  if (!device.ok()) return nullptr;
  auto made = Convolver::create(format, mask.mask, {}, device.value());
  return made.ok() ? std::move(made.value()) : nullptr;
}

void expect_same_frames(const NamedFormat& named, Channels channels, int width,
                        const TestMask& mask) {
  SCOPED_TRACE(std::string(named.name) + " " + channels_name(channels) + " " +
               std::to_string(width) + " " + mask.name);
  const FrameFormat format = make_format(named, width, 16, channels);
  const auto alone = make_convolver(format, mask, 1), shared = make_convolver(format, mask, 4);
  ASSERT_NE(alone, nullptr);
  ASSERT_NE(shared, nullptr);
  ASSERT_GT(shared->plan().threads, 1);
  GuardedFrame source(format, 0, false), wanted(format, 0, false), made(format, 0, false);
  fill_frame(source.view(), 5);
  ASSERT_TRUE(alone->run(source.view(), wanted.view(), {}).ok());
  for (int round = 0; round < kRounds; ++round) {
    made.poison();
    ASSERT_TRUE(shared->run(source.view(), made.view(), {}).ok());
    ASSERT_TRUE(made.guards_intact());
    ASSERT_TRUE(made.bytes() == wanted.bytes()) << "round " << round;
  }
}

TEST(SharedRows, ThreadsLeaveEachOthersBytes) {
  const TestMaskPtr dense = random_mask(5, 5, Weights::kRational);
  const TestMaskPtr box = box_mask(5, 5, Weights::kRational);
  const TestMaskPtr factors = parsed_mask("gaussian:2");
  for (const char* name : {"YUY2", "UYVY"})
    for (const Channels channels : {Channels::kAllButAlpha, Channels::kLuma, Channels::kChroma})
      for (const int width : {15360, 9999})
        for (const TestMaskPtr& mask : {dense, box, factors})
          expect_same_frames(named_format(name), channels, width, *mask);
}

}  // namespace
}  // namespace convolve::testing
