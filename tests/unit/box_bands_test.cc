// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel box in bands as wide as the picture: which planes it takes, where sums lie, and its cuts.
#include "kernels/core/shape/box_bands.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "kernels/core/mask/mask_grammar.h"
#include "kernels/core/weights/box.h"
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

/// Samples that the window `x` to the right and `y` below sees and that at (0, 0) does not: in a
/// picture of black and white, as many times 255 is how much more it has.
unsigned samples_beside(int x, int y, int mask_width, int mask_height) {
  const int both = std::max(0, mask_width - std::abs(x)) * std::max(0, mask_height - std::abs(y));
  return static_cast<unsigned>(mask_width * mask_height - both);
}

// Windows are as far from their hub as that, and no further.
TEST(BoxBands, ReachBoundsWindowsOfABatch) {
  for (const int windows : {4, 8, 16})
    for (const int rows : {1, 3, kBandFewBatch, kBandMostBatch})
      for (const int mask_width : {1, 3, 8, 40})
        for (const int mask_height : {1, 3, 17, 60}) {
          unsigned furthest = 0;
          for (int x = 0; x < kBandGroup; ++x)
            for (int y = 0; y < rows; ++y)
              furthest = std::max(furthest,
                                  255 * samples_beside(x - band_hub(x, windows), y - (rows - 1) / 2,
                                                       mask_width, mask_height));
          const unsigned reach = band_reach(windows, rows, mask_height, mask_width);
          EXPECT_LE(furthest, reach) << mask_width << "x" << mask_height;
          if (mask_width >= 40 && mask_height >= 60) {
            EXPECT_GE(4 * furthest, 3 * reach);
          }
        }
}

TEST(BoxBands, HubsStandInTheMiddle) {
  for (const int windows : {4, 8, 16})
    for (int x = 0; x < kBandGroup; ++x) {
      EXPECT_EQ(band_hub(x, windows) / windows, x / windows);
      EXPECT_EQ(band_hub(x, windows) % windows, windows / 2);
    }
}

// Where counting is enough: a hub within half a divisor of a multiple, or one more for ties, has
// all its windows less than a divisor from it, in as many rows as it stays; and a row later lies
// within half a divisor of that multiple or one beside it.
TEST(BoxBands, HubsStepByOne) {
  int by_one = 0, by_pairs = 0;
  for (const int width : {300, 1019, 1020, 1021, 1100, 1529, 1530, 1531, 2041, 4097})
    for (const int height : {1, 200, 254, 255, 256, 257, 300, 400, 766, 1020, 1530, 4097}) {
      const auto divisor = static_cast<unsigned>(width) * static_cast<unsigned>(height);
      if (!band_steps_by_one(height, width, divisor, divisor / 2)) {
        EXPECT_FALSE(band_steps_by_pairs(height, width, divisor) && width > 1100 && height > 300);
        continue;
      }
      ++by_one;
      const std::uint64_t near = divisor / 2 + 1;
      std::uint64_t in_row = 0, in_pair = 0;
      for (int x = 0; x < 4; ++x) {
        const int from_hub = x - band_hub(x, 4);
        in_row = std::max(in_row, std::uint64_t{255} * samples_beside(from_hub, 0, width, height));
        in_pair =
            std::max(in_pair, std::uint64_t{255} * samples_beside(from_hub, 1, width, height));
      }
      EXPECT_LT(near + in_row, divisor) << width << "x" << height;
      const std::uint64_t next_row = std::uint64_t{255} * samples_beside(0, 1, width, height);
      EXPECT_LE(near + next_row, std::uint64_t{divisor} + divisor / 2) << width << "x" << height;
      if (band_steps_by_pairs(height, width, divisor)) {
        ++by_pairs;
        EXPECT_LT(near + in_pair, divisor) << width << "x" << height;
      }
    }
  EXPECT_GT(by_one, 20);
  EXPECT_GT(by_pairs, 5);
  EXPECT_TRUE(band_steps_by_one(1021, 1021, 1021 * 1021, 1021 * 1021 / 2));
  EXPECT_TRUE(band_steps_by_pairs(1531, 1531, 1531 * 1531));
  // Codes above 255 of the nearest multiples.
  EXPECT_FALSE(band_steps_by_one(1021, 1021, 1021 * 1021, 1021 * 1021 / 2 + 1));
}

// Scaled numerators are below 2^32, their quotients the bytes above, and what a multiple has more
// than a quotient's end is below one of them: one less borrows from it where nothing is left.
TEST(BoxBands, ScaledNumeratorsGiveBytes) {
  int served = 0;
  for (const int width : {301, 500, 2000, 2001, 4000, 4097})
    for (const int height : {3, 24, 101, 300, 4001, 4096}) {
      const FrameFormat format = grey(8, 8);
      const MaskSource source =
          parse_mask("box:" + std::to_string(width) + "," + std::to_string(height)).value();
      const Mask mask = Mask::make(source).value();
      const BoxDivision d =
          make_box_division(format.planes[0].components[0], mask, *box_weight(mask), 1, 0, true);
      if (!d.direct) continue;
      const unsigned reach = band_reach(kBandGroup, kBandMostBatch, height, width);
      if (!band_scale_serves(d.shift, reach, d.divisor, d.ties)) {
        EXPECT_TRUE(d.ties) << width << "x" << height;
        continue;
      }
      ++served;
      const int bits = band_scale_bits(d.shift), byte = d.shift + bits;
      EXPECT_EQ(byte % 8, 0);
      const std::uint64_t most = 2ull * reach + 2ull * d.divisor;
      for (std::uint64_t multiple = 0; multiple <= most; multiple += d.divisor)
        for (std::uint64_t n = multiple > 0 ? multiple - 1 : 0; n <= multiple + 1; ++n) {
          ASSERT_LT(n << bits, std::uint64_t{1} << 32);
          const std::uint64_t high = (n << bits) * d.reciprocal >> 32;
          ASSERT_EQ(high >> byte, n / d.divisor) << n << " by " << d.divisor;
          if (d.ties && n > 0) {
            ASSERT_EQ((high - 1) >> byte != high >> byte, n % d.divisor == 0) << n;
          }
        }
    }
  EXPECT_GT(served, 20);
}

// Every band has a block, the outermost ones the first.
TEST(BoxBands, OutermostBandsBeginFirst) {
  for (const int bands : {1, 2, 5, 132}) {
    std::set<int> seen;
    int nearest = 0;
    for (int block = 0; block < bands; ++block) {
      const int band = band_of_block(block, bands), from_edge = std::min(band, bands - 1 - band);
      EXPECT_TRUE(seen.insert(band).second);
      EXPECT_GE(from_edge, nearest);
      nearest = from_edge;
    }
    EXPECT_EQ(*seen.begin(), 0);
    EXPECT_EQ(*seen.rbegin(), bands - 1);
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
  for (const std::size_t shared_bytes : {64 * 1024, 99 * 1024, 227 * 1024})
    for (const int width : {1, 7, 640, 1280, 1920, 3840, 4096})
      for (const int height : {1, 48, 480, 720, 1080, 2160, 32768})
        for (const int side : {1, 3, 31, 63, 255, 257, 401, 1001}) {
          SCOPED_TRACE(std::to_string(width) + "x" + std::to_string(height) + " " +
                       std::to_string(side));
          work.shared_bytes = shared_bytes;
          work.width = width;
          work.height = height;
          work.mask_width = work.mask_height = side;
          const std::optional<BoxTile> tile = choose_box_bands(work, side / 2);
          if (!tile) {
            EXPECT_LT(shared_bytes, 227u * 1024);
            EXPECT_TRUE(side > 255 || shared_bytes == 64 * 1024);
            continue;
          }
          EXPECT_EQ(tile->form, BoxForm::kBands);
          EXPECT_LE(tile->width, work.processors);
          for (const bool repeats : {false, true}) {
            const BandLayout layout = band_layout(width, side, side / 2, repeats);
            const std::size_t bytes =
                band_bytes(layout, width, side, repeats, tile->rows, tile->height);
            EXPECT_LE(bytes, shared_bytes);
            EXPECT_LE(band_block_threads(width), band_threads_most(layout.pitch));
            for (const int field : {height, (height + 1) / 2})
              EXPECT_LE(band_step_bytes(field, band_step_stages(field, bytes)), shared_bytes);
          }
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
  work.mask_width = 63;
  work.shared_bytes = 48 * 1024;
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too tall for a block of steps";
  work.shared_bytes = 66 * 1024;
  work.width = 640;
  work.mask_height = 63;
  work.height = 584;
  EXPECT_LT(band_step_bytes(work.height, kBandWarpSteps),
            band_step_bytes(work.height / 2, kBandWarpSteps));
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too tall for steps of a field";
}

// A block that sums steps finds room beside a band, whose threads hold all of its rows: with fewer
// steps underway where the band has ghosts of its own.
TEST(BoxBands, OneForEachProcessorBesideSteps) {
  BoxWork work;
  work.width = 3840;
  work.height = 2160;
  work.processors = 132;
  work.shared_bytes = 227 * 1024;
  for (const bool repeats : {true, false})
    for (const int side : {63, 401, 1001, 4097}) {
      if (!repeats && side > 3840) continue;
      work.mask_width = work.mask_height = side;
      const BoxTile tile = choose_box_bands(work, side / 2).value();
      EXPECT_EQ(tile.width, 132);
      const BandLayout layout = band_layout(3840, side, side / 2, repeats);
      const int rows = band_rows(layout.pitch, tile.rows);
      EXPECT_EQ(rows == tile.height, repeats || side <= 401) << "a batch";
      EXPECT_EQ(band_threads_most(layout.pitch), kBandFewThreads);
      const std::size_t bytes =
          band_bytes(layout, work.width, side, repeats, tile.rows, tile.height);
      const int stages = band_step_stages(work.height, bytes);
      EXPECT_EQ(stages, repeats || side == 63 ? kBandWarpSteps : kBandFewStages);
      EXPECT_LE(bytes + band_step_bytes(work.height, stages),
                kBandProcessorBytes - 2 * kBandReserved);
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
