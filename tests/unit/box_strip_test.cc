// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel box on tensor cores: which planes it takes, what its windows see, and how it cuts them.
#include "kernels/core/shape/box_strip.h"

#include <gtest/gtest.h>

#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::grey;
using unit::mask_of;

TEST(BoxStrip, TakesLoneBytesWhoseColumnsFit16Bits) {
  EXPECT_TRUE(box_strips_serve(grey(8, 8).planes[0], mask_of("box:1000,257")));
  EXPECT_FALSE(box_strips_serve(grey(8, 8).planes[0], mask_of("box:1,258")));
  EXPECT_FALSE(box_strips_serve(grey(8, 8, 16).planes[0], mask_of("box:3")));
  FrameFormat copied = grey(8, 8);
  copied.planes[0].components[0].filtered = false;
  EXPECT_FALSE(box_strips_serve(copied.planes[0], mask_of("box:3")));
}

// A window that begins in a chunk of its own for some outputs must be in the first two, one that
// ends so in the last two: what lies between is taken as a whole.
TEST(BoxStrip, ChunksInTheMiddleArePartOfAllWindows) {
  for (int width = 1; width <= 300; ++width)
    for (int anchor = 0; anchor < width; anchor += width / 7 + 1) {
      const BoxReach reach = box_reach(width, anchor);
      EXPECT_EQ((reach.skip + reach.first + anchor) % 16, 0);
      EXPECT_EQ(reach.skip % 8, 0);
      EXPECT_LT(reach.first, 8);
      EXPECT_GE(32 * reach.chunks, reach.first + 31 + width) << "the last output's window";
      EXPECT_LE(reach.first + 31, 64);
      if (reach.chunks > 2) {
        EXPECT_LE(32 * (reach.chunks - 2), reach.first + width);
      }
    }
}

TEST(BoxStrip, CutsFitTheDevice) {
  BoxWork work;
  work.processors = 132;
  work.shared_bytes = 227 * 1024;
  work.packed = true;
  for (const int width : {1, 7, 64, 1920, 3840, 32768})
    for (const int height : {1, 48, 2160, 32768})
      for (const int side : {1, 3, 26, 65, 66, 127, 255, 257}) {
        work.width = width;
        work.height = height;
        work.mask_width = work.mask_height = side;
        for (const int anchor : {0, side / 2, side - 1}) {
          const std::optional<BoxTile> tile = choose_box_strip(work, anchor);
          ASSERT_TRUE(tile) << width << "x" << height << " " << side;
          EXPECT_EQ(tile->form, BoxForm::kStrips);
          EXPECT_EQ(tile->width % kStripWarpTile, 0);
          EXPECT_EQ(tile->height % kStripBatch, 0);
          EXPECT_LE((height + tile->height - 1) / tile->height, 65535);
          const StripLayout layout = strip_layout(tile->width, side, side, anchor);
          EXPECT_TRUE(strip_fits(layout));
          EXPECT_LE(static_cast<std::size_t>(layout.bytes), work.shared_bytes);
          EXPECT_LE(strip_threads(tile->width, layout), strip_most_threads(layout.wide));
          const BoxReach reach = box_reach(side, anchor);
          EXPECT_LE(reach.skip + tile->width - kStripWarpTile + 32 * (reach.chunks + 1),
                    strip_sum_pitch(layout.wide));
          EXPECT_LE(layout.columns, strip_sum_pitch(layout.wide));
        }
      }
  // Windows as wide as this fit no row of the ring; the other form of the kernel has them.
  work.mask_width = 1000;
  EXPECT_FALSE(choose_box_strip(work, 0));
}

// What lies beyond the end of the ring is what its beginning has: rows that leave with a batch are
// side by side, and nothing is overwritten that a batch still sees.
TEST(BoxStrip, RingHoldsWhatABatchSees) {
  for (int side = 1; side <= 257; ++side) {
    const StripLayout layout = strip_layout(64, 1, side, 0);
    EXPECT_EQ(layout.rows % kStripBatch, 0);
    EXPECT_EQ((side - 1 + layout.pad) % kStripBatch, 0);
    EXPECT_LT(layout.pad, kStripBatch);
    EXPECT_GE(layout.rows, side - 1 + (1 + kStripPrefetch) * kStripBatch);
  }
}

}  // namespace
}  // namespace convolve
