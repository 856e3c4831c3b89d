// SPDX-License-Identifier: LGPL-2.1-or-later
// How many frames are in flight in a stream of which this and that is known.
#include <gst/gst.h>
#include <gtest/gtest.h>

#include "plugin/frames/depth.h"

namespace {

using cudaconvolve::chosen_depth;
using cudaconvolve::StreamKind;

constexpr int kChosen = -1;

/// A file of 1080p that is filtered in system memory.
StreamKind file() {
  StreamKind stream;
  stream.known = true;
  stream.frame_duration = GST_SECOND / 30;
  stream.frame_bytes = 1920 * 1080 * 3 / 2;
  return stream;
}

TEST(ChosenDepth, KeepsTheBusBusy) {
  StreamKind stream = file();
  EXPECT_EQ(chosen_depth(kChosen, stream), 3);
  stream.frame_bytes = 7680 * 4320 * 3 / 2;
  EXPECT_EQ(chosen_depth(kChosen, stream), 2);
}

TEST(ChosenDepth, IsNoneWhereFramesAreAwaited) {
  StreamKind live = file();
  live.live = true;
  EXPECT_EQ(chosen_depth(kChosen, live), 0);
  EXPECT_EQ(chosen_depth(kChosen, StreamKind()), 0);
}

TEST(ChosenDepth, IsNoneWhereFramesAreHandedOver) {
  StreamKind stream = file();
  stream.handed_over = true;
  EXPECT_EQ(chosen_depth(kChosen, stream), 0);
}

TEST(ChosenDepth, IsWhatIsAskedFor) {
  StreamKind stream = file();
  stream.live = stream.handed_over = true;
  for (const int depth : {0, 1, 8})
    EXPECT_EQ(chosen_depth(depth, stream), depth);
}

}  // namespace
