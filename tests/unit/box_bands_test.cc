// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel box in bands as wide as the picture: which planes it takes, where sums lie, and its cuts.
#include "kernels/core/box_bands.h"

#include <gtest/gtest.h>

#include <algorithm>

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

// The last output's window ends in the row, and so does what its 16 neighbours read; packed sums
// are written as whole words.
TEST(BoxBands, RowsHoldWhatWindowsSee) {
  for (const bool packed : {false, true})
    for (const int width : {1, 16, 17, 640, 1920, 3840, 4096})
      for (const int side : {1, 2, 3, 31, 255, 1001, 4097})
        for (const int anchor : {0, side / 2, side - 1}) {
          const BandLayout layout = band_layout(width, side, anchor, packed);
          EXPECT_EQ(layout.lead - anchor, layout.first);
          EXPECT_GE(layout.first, 0);
          EXPECT_LE(layout.first, packed ? 1 : 0);
          EXPECT_EQ(layout.lead % (packed ? 2 : 1), 0);
          if (layout.pitch == 0) continue;
          const int last = layout.first + side + round_up(width, kBandGroup);
          EXPECT_LT(last / kBandGroup, layout.pitch);
          EXPECT_LE(layout.lead + round_up(width, kBandWord), kBandGroup * layout.pitch);
        }
}

// Threads that write their eight sums, and threads that read a word each, meet every bank once.
TEST(BoxBands, PlanesLieInDifferentBanks) {
  for (const bool packed : {false, true})
    for (int i = 0; i < (packed ? 3 : 2); ++i) {
      const int pitch = band_pitch(packed, i), planes = band_planes(packed);
      const int words = kBandWord * planes / kBandGroup;
      unsigned banks = 0;
      for (int thread = 0; thread < 32; ++thread) {
        const int word = words * thread;
        banks |= 1u << ((word % planes * pitch + word / planes) % 32);
      }
      EXPECT_EQ(banks, 0xFFFFFFFFu) << pitch;
    }
}

// Sums of a layer are exact: packed ones modulo 2^32, others in 16 bits.
TEST(BoxBands, LayersHoldAllSteps) {
  for (const bool packed : {false, true})
    for (const int height : {1, 7, 8, 255, 256, 257, 271, 272, 480, 1080, 2160, 32768}) {
      const int layer = band_layer_steps(height, packed);
      EXPECT_GE(layer, 1);
      EXPECT_LE(layer, kBandStepWarps * band_warp_steps(packed));
      EXPECT_LE(packed ? 0 : layer * kBandStep * 255, 65535);
    }
  EXPECT_EQ(band_layer_steps(2160, true), 34) << "8 layers of 15 blocks: no more than processors";
}

TEST(BoxBands, CutsFitTheDevice) {
  BoxWork work;
  work.processors = 132;
  work.shared_bytes = 227 * 1024;
  for (const bool packed : {false, true})
    for (const int width : {1, 7, 640, 1920, 3840, 4096})
      for (const int height : {1, 48, 2160, 32768})
        for (const int side : {1, 3, 63, 255, 257, 1001}) {
          work.width = width;
          work.height = height;
          work.mask_width = work.mask_height = side;
          work.packed = packed;
          const std::optional<BoxTile> tile = choose_box_bands(work, side / 2);
          ASSERT_TRUE(tile) << width << "x" << height << " " << side;
          EXPECT_EQ(tile->form, BoxForm::kBands);
          EXPECT_LE(tile->width, work.processors);
          EXPECT_GE(tile->rows, 1);
          EXPECT_LE(tile->rows, tile->height);
          const BandLayout layout = band_layout(width, side, side / 2, packed);
          EXPECT_LE(band_bytes(layout.pitch, packed, tile->rows, tile->height, side - 1),
                    work.shared_bytes);
          EXPECT_LE(tile->rows, band_rows_at_once(packed, layout.pitch));
          EXPECT_LE(band_step_bytes(height, packed), work.shared_bytes);
          EXPECT_LE(band_threads(width), band_threads_most(packed, layout.pitch));
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
  work.width = 8 * kBandMostThreads + 1;
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too wide for a block";
  work.width = 3840;
  work.mask_width = 8000;
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too wide for a row";
  work.mask_width = 63;
  work.shared_bytes = 48 * 1024;
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too tall for a layer";
  work.shared_bytes = 64 * 1024;
  work.mask_height = 63;
  work.packed = true;
  work.height = 584;
  EXPECT_LT(band_step_bytes(work.height, true), band_step_bytes(work.height / 2, true));
  EXPECT_FALSE(choose_box_bands(work, 0)) << "too tall for a layer of a field";
}

// A block that sums steps finds room beside a band, whose threads hold all of its rows.
TEST(BoxBands, OneForEachProcessorBesideSteps) {
  BoxWork work;
  work.width = 3840;
  work.height = 2160;
  work.mask_width = work.mask_height = 255;
  work.packed = true;
  work.processors = 132;
  work.shared_bytes = 227 * 1024;
  const BoxTile tile = choose_box_bands(work, 127).value();
  EXPECT_EQ(tile.width, 132);
  EXPECT_EQ(tile.rows, tile.height);
  const BandLayout layout = band_layout(3840, 255, 127, true);
  EXPECT_EQ(band_threads_most(true, layout.pitch), kBandFewThreads);
  EXPECT_LE(band_bytes(layout.pitch, true, tile.rows, tile.height, 254) +
                band_step_bytes(work.height, true),
            work.shared_bytes);
  work.mask_width = work.mask_height = 401;
  work.packed = false;
  EXPECT_EQ(choose_box_bands(work, 200).value().rows, 6) << "sums of 32 bits: three batches";
  work.width = 4104;
  work.mask_width = work.mask_height = 31;
  work.packed = true;
  EXPECT_EQ(band_threads_most(true, band_layout(4104, 31, 15, true).pitch), kBandMostThreads)
      << "a thread for each eight columns";
}

}  // namespace
}  // namespace convolve
