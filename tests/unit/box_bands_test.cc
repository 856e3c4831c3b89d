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

// Every position has a word of its own, and what the last outputs read ends in the line.
TEST(BoxBands, LinesHoldWhatWindowsSee) {
  for (const bool repeats : {false, true})
    for (const int width : {1, 8, 16, 17, 640, 1920, 3840, 4096})
      for (const int side : {1, 2, 3, 31, 255, 1001, 4097})
        for (const int anchor : {0, side / 2, side - 1}) {
          SCOPED_TRACE(std::to_string(width) + " " + std::to_string(side) + " " +
                       std::to_string(anchor) + (repeats ? " repeats" : ""));
          const BandLayout layout = band_layout(width, side, anchor, repeats);
          EXPECT_EQ(layout.lead % kBandVector, 0);
          EXPECT_EQ(layout.lead - anchor, layout.shift);
          EXPECT_GE(layout.shift, 0);
          EXPECT_LT(layout.shift, kBandVector);
          if (layout.pitch == 0) continue;
          EXPECT_LT(layout.last - layout.first, layout.pitch);
          std::set<int> words;
          for (int position = layout.first * kBandPanel; position < (layout.last + 1) * kBandPanel;
               ++position)
            words.insert(layout.word_at(position));
          EXPECT_EQ(static_cast<int>(words.size()), (layout.last - layout.first + 1) * kBandPanel);
          EXPECT_GE(*words.begin(), 0);
          EXPECT_LT(*words.rbegin(), band_line_vectors(layout.pitch) * kBandVector);
          // What a thread writes.
          EXPECT_GE(layout.lead, layout.first * kBandPanel);
          EXPECT_LE(layout.lead + round_up(width, kBandColumnsAThread),
                    (layout.last + 1) * kBandPanel);
          const int read = layout.shift + side + round_up(width, kBandPanel) + kBandVector;
          if (!repeats) {
            EXPECT_EQ(layout.first, 0);
            EXPECT_GE(layout.last, (read - 1) / kBandPanel);
          }
        }
}

// Where one panel is read for all ghosts on a side, the outermost panels that are stored are such
// ghosts, if any are seen at all. A warp has a lane for each ghost on either side.
TEST(BoxBands, OutermostPanelsStandForOthers) {
  for (const int width : {1, 16, 17, 640, 3840})
    for (const int side : {1, 3, 31, 63, 255, 1001})
      for (const int anchor : {0, side / 2, side - 1}) {
        const BandLayout layout = band_layout(width, side, anchor, true);
        if (layout.first > 0) {
          EXPECT_LE((layout.first + 1) * kBandPanel, layout.lead);
        }
        const int end = layout.lead + width;
        const int read = layout.shift + side + round_up(width, kBandPanel) + kBandVector;
        if (layout.last < (read - 1) / kBandPanel) {
          EXPECT_GE(layout.last * kBandPanel, end);
        }
        EXPECT_LE(layout.lead - layout.first * kBandPanel, 32);
        EXPECT_LE((layout.last + 1) * kBandPanel - end, 32);
      }
}

// Threads that write their two vectors, and threads that read one each, use every bank once: eight
// threads at a time, as vectors are four banks wide.
TEST(BoxBands, PhasesLieInDifferentBanks) {
  for (int i = 0; i < kBandPitches; ++i) {
    BandLayout layout;
    layout.pitch = band_pitch(i);
    for (int begin = 0; begin < 32; begin += 8)
      for (int vector = 0; vector < 2; ++vector) {
        unsigned banks = 0;
        for (int thread = begin; thread < begin + 8; ++thread)
          banks |= 1u << (layout.vector_at(2 * thread + vector) % 8);
        EXPECT_EQ(banks, 0xFFu) << layout.pitch;
      }
  }
}

// One makes the rows from the middle one up, the other those below it.
TEST(BoxBands, TwoWarpsForEachWarpTile) {
  for (int width = 1; width <= kBandMostThreads * kBandColumnsAThread; ++width) {
    const int threads = band_block_threads(width);
    ASSERT_EQ(threads % 32, 0);
    ASSERT_GE(threads * kBandColumnsAThread, width);
    ASSERT_LE(threads, kBandMostThreads);
    ASSERT_GE(threads / 32, 2 * divide_up(width, kBandWarpTile)) << width;
  }
}

/// How many samples the window at (x, y) sees that the one at (0, 0) does not. In a picture of
/// black and white their sums differ by at most 255 times as much.
unsigned samples_beside(int x, int y, int mask_width, int mask_height) {
  const int both = std::max(0, mask_width - std::abs(x)) * std::max(0, mask_height - std::abs(y));
  return static_cast<unsigned>(mask_width * mask_height - both);
}

// Windows differ from their pivot by as much as the bound says, and by no more.
TEST(BoxBands, DifferenceBoundsWindowsOfABatch) {
  for (const int windows : {4, 8, 16})
    for (const int rows : {1, 3, kBandFewBatch, kBandMostBatch})
      for (const int mask_width : {1, 3, 8, 40})
        for (const int mask_height : {1, 3, 17, 60}) {
          unsigned furthest = 0;
          for (int x = 0; x < kBandPanel; ++x)
            for (int y = 0; y < rows; ++y)
              furthest = std::max(
                  furthest, 255 * samples_beside(x - band_pivot(x, windows), y - (rows - 1) / 2,
                                                 mask_width, mask_height));
          const unsigned bound = band_max_difference(windows, rows, mask_height, mask_width);
          EXPECT_LE(furthest, bound) << mask_width << "x" << mask_height;
          if (mask_width >= 40 && mask_height >= 60) {
            EXPECT_GE(4 * furthest, 3 * bound);
          }
        }
}

TEST(BoxBands, PivotsStandInTheMiddle) {
  for (const int windows : {4, 8, 16})
    for (int x = 0; x < kBandPanel; ++x) {
      EXPECT_EQ(band_pivot(x, windows) / windows, x / windows);
      EXPECT_EQ(band_pivot(x, windows) % windows, windows / 2);
    }
}

// Where signs suffice, a pivot within half a divisor of a multiple, or one more for ties, has all
// of its windows less than a divisor from that multiple, in as many rows as the multiple stays; and
// a row later the pivot lies within half a divisor of that multiple or of a neighbouring one.
TEST(BoxBands, SignsTellQuotients) {
  int in_one_row = 0, in_two_rows = 0;
  for (const int width : {300, 1019, 1020, 1021, 1100, 1529, 1530, 1531, 2041, 4097})
    for (const int height : {1, 200, 254, 255, 256, 257, 300, 400, 766, 1020, 1530, 4097}) {
      const auto divisor = static_cast<unsigned>(width) * static_cast<unsigned>(height);
      if (!band_signs_suffice(height, width, divisor, divisor / 2)) {
        EXPECT_FALSE(band_signs_suffice_for_two_rows(height, width, divisor) && width > 1100 &&
                     height > 300);
        continue;
      }
      ++in_one_row;
      const std::uint64_t near = divisor / 2 + 1;
      std::uint64_t in_row = 0, in_pair = 0;
      for (int x = 0; x < 4; ++x) {
        const int from_pivot = x - band_pivot(x, 4);
        in_row =
            std::max(in_row, std::uint64_t{255} * samples_beside(from_pivot, 0, width, height));
        in_pair =
            std::max(in_pair, std::uint64_t{255} * samples_beside(from_pivot, 1, width, height));
      }
      EXPECT_LT(near + in_row, divisor) << width << "x" << height;
      const std::uint64_t next_row = std::uint64_t{255} * samples_beside(0, 1, width, height);
      EXPECT_LE(near + next_row, std::uint64_t{divisor} + divisor / 2) << width << "x" << height;
      if (band_signs_suffice_for_two_rows(height, width, divisor)) {
        ++in_two_rows;
        EXPECT_LT(near + in_pair, divisor) << width << "x" << height;
      }
    }
  EXPECT_GT(in_one_row, 20);
  EXPECT_GT(in_two_rows, 5);
  EXPECT_TRUE(band_signs_suffice(1021, 1021, 1021 * 1021, 1021 * 1021 / 2));
  EXPECT_TRUE(band_signs_suffice_for_two_rows(1531, 1531, 1531 * 1531));
  // Code values above 255.
  EXPECT_FALSE(band_signs_suffice(1021, 1021, 1021 * 1021, 1021 * 1021 / 2 + 1));
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
      const unsigned bound = band_max_difference(kBandPanel, kBandMostBatch, height, width);
      if (!band_scale_serves(d.shift, bound, d.divisor, d.ties)) {
        EXPECT_TRUE(d.ties) << width << "x" << height;
        continue;
      }
      ++served;
      const int bits = band_scale_bits(d.shift), byte = d.shift + bits;
      EXPECT_EQ(byte % 8, 0);
      const std::uint64_t most = 2ull * bound + 2ull * d.divisor;
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

// Checkpoints fit 16 bits, and no launch has more blocks than it has to.
TEST(BoxBands, SegmentsHoldAllIntervals) {
  for (const int height : {1, 7, 8, 255, 256, 257, 271, 272, 480, 1080, 2160, 32768}) {
    const int block = band_block_intervals(height), segment = band_segment_intervals(height);
    EXPECT_GE(segment, 1);
    EXPECT_EQ(segment * 2, block);
    EXPECT_EQ(block % kBandCheckpointWarps, 0);
    EXPECT_LE(block, kBandCheckpointWarps * kBandWarpIntervals);
    EXPECT_LE(segment * kBandInterval * 255, 65535);
  }
  EXPECT_EQ(divide_up(band_intervals(2160), band_block_intervals(2160)) *
                divide_up(3840, kBandCheckpointColumns),
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
              EXPECT_LE(band_checkpoint_block_bytes(field, band_checkpoint_stages(field, bytes)),
                        shared_bytes);
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
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too tall for a block of checkpoints";
  work.shared_bytes = 66 * 1024;
  work.width = 640;
  work.mask_height = 63;
  work.height = 584;
  EXPECT_LT(band_checkpoint_block_bytes(work.height, kBandWarpIntervals),
            band_checkpoint_block_bytes(work.height / 2, kBandWarpIntervals));
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too tall for checkpoints of a field";
}

// A block that makes checkpoints finds room beside a band, whose threads hold all of its rows: with
// fewer intervals in flight where the band has ghosts of its own.
TEST(BoxBands, OneForEachProcessorBesideCheckpoints) {
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
      const int stages = band_checkpoint_stages(work.height, bytes);
      EXPECT_EQ(stages, repeats || side == 63 ? kBandWarpIntervals : kBandFewStages);
      EXPECT_LE(bytes + band_checkpoint_block_bytes(work.height, stages),
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
