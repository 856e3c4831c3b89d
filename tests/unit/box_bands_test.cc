// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel box in bands as wide as the picture: which planes it takes, where sums lie, and its cuts.
#include "kernels/core/box_bands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::grey;

TEST(BoxBands, TakesLoneBytes) {
  EXPECT_TRUE(box_bands_serve(grey(8, 8).planes[0]));
  EXPECT_FALSE(box_bands_serve(grey(8, 8, 16).planes[0]));
  FrameFormat copied = grey(8, 8);
  copied.planes[0].components[0].filtered = false;
  EXPECT_FALSE(box_bands_serve(copied.planes[0]));
}

// Every column has a place of its own, and what the last outputs read ends in the row.
TEST(BoxBands, RowsHoldWhatWindowsSee) {
  for (const bool repeats : {false, true})
    for (const int width : {1, 8, 16, 17, 640, 1920, 3840, 4096})
      for (const int side : {1, 2, 3, 31, 255, 1001, 4097})
        for (const int anchor : {0, side / 2, side - 1}) {
          SCOPED_TRACE(std::to_string(width) + " " + std::to_string(side) + " " +
                       std::to_string(anchor) + (repeats ? " repeats" : ""));
          const BandLayout layout = band_layout(width, side, anchor, repeats);
          EXPECT_EQ(layout.lead % kBandQuad, 0);
          EXPECT_EQ(layout.lead - anchor, layout.shift);
          EXPECT_GE(layout.shift, 0);
          EXPECT_LT(layout.shift, kBandQuad);
          if (layout.pitch == 0) continue;
          EXPECT_LT(layout.last - layout.first, layout.pitch);
          std::set<int> words;
          for (int place = layout.first * kBandGroup; place < (layout.last + 1) * kBandGroup;
               ++place)
            words.insert(layout.word_at(place));
          EXPECT_EQ(static_cast<int>(words.size()), (layout.last - layout.first + 1) * kBandGroup);
          EXPECT_GE(*words.begin(), 0);
          EXPECT_LT(*words.rbegin(), band_slot_quads(layout.pitch) * kBandQuad);
          // What a thread writes.
          EXPECT_GE(layout.lead, layout.first * kBandGroup);
          EXPECT_LE(layout.lead + round_up(width, kBandWord), (layout.last + 1) * kBandGroup);
          const int read = layout.shift + side + round_up(width, kBandGroup) + kBandQuad;
          if (!repeats) {
            EXPECT_EQ(layout.first, 0);
            EXPECT_GE(layout.last, (read - 1) / kBandGroup);
          }
        }
}

// Where groups stand for others, the first and last ones are ghosts as far as any are seen: those
// beside them are as they are. A warp has a lane for each ghost on either side.
TEST(BoxBands, OutermostGroupsStandForOthers) {
  for (const int width : {1, 16, 17, 640, 3840})
    for (const int side : {1, 3, 31, 63, 255, 1001})
      for (const int anchor : {0, side / 2, side - 1}) {
        const BandLayout layout = band_layout(width, side, anchor, true);
        if (layout.first > 0) {
          EXPECT_LE((layout.first + 1) * kBandGroup, layout.lead);
        }
        const int end = layout.lead + width;
        const int read = layout.shift + side + round_up(width, kBandGroup) + kBandQuad;
        if (layout.last < (read - 1) / kBandGroup) {
          EXPECT_GE(layout.last * kBandGroup, end);
        }
        EXPECT_LE(layout.lead - layout.first * kBandGroup, 32);
        EXPECT_LE((layout.last + 1) * kBandGroup - end, 32);
      }
}

// Threads that write their two quads, and threads that read one each, meet every bank once: eight
// threads at a time, as quads are four banks wide.
TEST(BoxBands, PlanesLieInDifferentBanks) {
  for (int i = 0; i < kBandPitches; ++i) {
    BandLayout layout;
    layout.pitch = band_pitch(i);
    for (int begin = 0; begin < 32; begin += 8)
      for (int quad = 0; quad < 2; ++quad) {
        unsigned banks = 0;
        for (int thread = begin; thread < begin + 8; ++thread)
          banks |= 1u << (layout.quad_at(2 * thread + quad) % 8);
        EXPECT_EQ(banks, 0xFFu) << layout.pitch;
      }
  }
}

// One makes rows above the middle one, the other those below.
TEST(BoxBands, TwoWarpsForEachPiece) {
  for (int width = 1; width <= kBandMostThreads * kBandWord; ++width) {
    const int threads = band_block_threads(width);
    ASSERT_EQ(threads % 32, 0);
    ASSERT_GE(threads * kBandWord, width);
    ASSERT_LE(threads, kBandMostThreads);
    ASSERT_GE(threads / 32, 2 * divide_up(width, kBandPiece)) << width;
  }
}

// Windows of a batch are as far apart as that, and no further, in pictures of black and white: all
// that the hub of a thread sees is black, all else white; or the other way round.
TEST(BoxBands, ReachBoundsWindowsOfABatch) {
  for (const int rows : {kBandFewBatch, kBandMostBatch})
    for (const int mask_width : {1, 3, 8, 40})
      for (const int mask_height : {1, 3, 17, 60}) {
        const int middle = (rows - 1) / 2;
        const auto in = [](int at, int begin, int count) {
          return at >= begin && at < begin + count;
        };
        unsigned furthest = 0;
        for (int x = 0; x < kBandGroup; ++x)
          for (int y = 0; y < rows; ++y) {
            // Samples that window (x, y) sees and the hub does not.
            unsigned others = 0;
            for (int i = y; i < y + mask_height; ++i)
              for (int j = x; j < x + mask_width; ++j)
                others += !in(j, kBandHub, mask_width) || !in(i, middle, mask_height);
            furthest = std::max(furthest, 255 * others);
          }
        const unsigned reach = band_reach(rows, mask_height, mask_width);
        EXPECT_LE(furthest, reach) << mask_width << "x" << mask_height;
        if (mask_width >= 40 && mask_height >= 60) {
          EXPECT_GE(4 * furthest, 3 * reach);
        }
      }
}

// Sums of a run fit 16 bits, and no launch needs more blocks than it has to.
TEST(BoxBands, RunsHoldAllSteps) {
  for (const int height : {1, 7, 8, 255, 256, 257, 271, 272, 480, 1080, 2160, 32768}) {
    const int block = band_block_steps(height), run = band_run_steps(height);
    EXPECT_GE(run, 1);
    EXPECT_EQ(run * 2, block);
    EXPECT_EQ(block % kBandStepWarps, 0);
    EXPECT_LE(block, kBandStepWarps * kBandWarpSteps);
    EXPECT_LE(run * kBandStep * 255, 65535);
  }
  EXPECT_EQ(divide_up(band_steps(2160), band_block_steps(2160)) * divide_up(3840, kBandStepColumns),
            120)
      << "no more than processors";
}

TEST(BoxBands, CutsFitTheDevice) {
  BoxWork work;
  work.processors = 132;
  for (const std::size_t shared_bytes : {99 * 1024, 227 * 1024})
    for (const int width : {1, 7, 640, 1920, 3840, 4096})
      for (const int height : {1, 48, 2160, 32768})
        for (const int side : {1, 3, 63, 255, 257, 1001}) {
          SCOPED_TRACE(std::to_string(width) + "x" + std::to_string(height) + " " +
                       std::to_string(side));
          work.shared_bytes = shared_bytes;
          work.width = width;
          work.height = height;
          work.mask_width = work.mask_height = side;
          const std::optional<BoxTile> tile = choose_box_bands(work, side / 2);
          if (!tile) {
            EXPECT_LT(shared_bytes, 227u * 1024);
            EXPECT_GT(side, 255);
            continue;
          }
          EXPECT_EQ(tile->form, BoxForm::kBands);
          EXPECT_LE(tile->width, work.processors);
          for (const bool repeats : {false, true}) {
            const BandLayout layout = band_layout(width, side, side / 2, repeats);
            const int rows = band_rows(layout.pitch, tile->rows);
            EXPECT_LE(
                band_bytes(layout.pitch, rows, tile->height, band_ghosts(layout, width, repeats)),
                shared_bytes);
            EXPECT_LE(band_block_threads(width), band_threads_most(layout.pitch));
          }
          EXPECT_LE(band_step_bytes(height), shared_bytes);
          for (const int rows : {height, (height + 1) / 2}) {
            const int bands = std::min(tile->width, rows);
            EXPECT_EQ(band_top(rows, bands, bands), rows);
            for (int b = 0; b < bands; ++b) {
              const int count = band_top(rows, b + 1, bands) - band_top(rows, b, bands);
              EXPECT_GE(count, 1);
              EXPECT_LE(count, tile->height);
            }
          }
        }
  work.shared_bytes = 227 * 1024;
  work.width = 8 * kBandMostThreads + 1;
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too wide for a block";
  work.width = 3840;
  work.mask_width = 8000;
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too wide for a row";
  work.mask_width = 4090;
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too wide for sums of 16 bits";
  work.mask_width = 63;
  work.shared_bytes = 48 * 1024;
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too tall for a block of steps";
  work.shared_bytes = 66 * 1024;
  work.width = 640;
  work.mask_height = 63;
  work.height = 584;
  EXPECT_LT(band_step_bytes(work.height), band_step_bytes(work.height / 2));
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too tall for steps of a field";
}

// A block that sums steps finds room beside a band, whose threads hold all of its rows.
TEST(BoxBands, OneForEachProcessorBesideSteps) {
  BoxWork work;
  work.width = 3840;
  work.height = 2160;
  work.processors = 132;
  work.shared_bytes = 227 * 1024;
  for (const int side : {63, 401, 1001}) {
    work.mask_width = work.mask_height = side;
    const BoxTile tile = choose_box_bands(work, side / 2).value();
    EXPECT_EQ(tile.width, 132);
    const BandLayout layout = band_layout(3840, side, side / 2, true);
    const int rows = band_rows(layout.pitch, tile.rows);
    EXPECT_EQ(rows, tile.height) << "a batch";
    EXPECT_EQ(band_threads_most(layout.pitch), kBandFewThreads);
    EXPECT_LE(band_bytes(layout.pitch, rows, tile.height, 0) + band_step_bytes(work.height),
              work.shared_bytes - 2 * 3 * 1024);
  }
  work.shared_bytes = 99 * 1024;
  work.mask_width = work.mask_height = 63;
  EXPECT_EQ(choose_box_bands(work, 31).value().rows, kBandFewBatch) << "in two batches";
  work.width = 4104;
  work.shared_bytes = 227 * 1024;
  EXPECT_EQ(band_threads_most(band_layout(4104, 31, 15, true).pitch), kBandMostThreads)
      << "a thread for each eight columns";
}

}  // namespace
}  // namespace convolve
