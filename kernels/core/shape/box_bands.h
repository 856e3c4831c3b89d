// SPDX-License-Identifier: LGPL-2.1-or-later
// The form of kernel box in bands: a block takes a band of rows as wide as the picture. Column sums
// slide down its rows, window sums slide across its columns. This file says which planes the form
// serves, how a picture is cut into bands, and where everything lies in shared memory.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/core/base/border.h"
#include "kernels/core/base/host_device.h"
#include "kernels/core/base/round.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/shape/box_tile.h"

namespace convolve {

/// Checkpoints are column prefix sums: a launch before the bands adds up every column and keeps the
/// sum after every so many rows, which are an interval. The sum of any rows of a column is then the
/// difference of two checkpoints and a few rows, however high the mask is.
inline constexpr int kBandInterval = 8;
/// Warps of a block that makes checkpoints, and the most intervals of each warp. Prefix sums start
/// again at 0 for every two warps (a segment), so that a checkpoint fits 16 bits.
inline constexpr int kBandCheckpointWarps = 4;
inline constexpr int kBandWarpIntervals = 9;
static_assert(kBandCheckpointWarps / 2 * kBandWarpIntervals * kBandInterval * 255 <= 0xFFFF);
/// Columns of a block that makes checkpoints.
inline constexpr int kBandCheckpointColumns = 256;
/// Masks of at most so many rows have no checkpoints: a band adds up its initial column sums from
/// the picture's rows alone.
inline constexpr int kBandMostInitialRows = 15;
/// Adjacent columns of a thread that makes column sums: 8 bytes, which one load brings.
inline constexpr int kBandColumnsAThread = 8;
/// A panel is 16 adjacent columns, whose outputs one thread makes; a warp tile is the panels of a
/// warp in a row.
inline constexpr int kBandPanel = 16;
inline constexpr int kBandWarpTile = 32 * kBandPanel;
inline constexpr int kBandMostThreads = 1024;
/// Blocks of at most so many threads leave each thread enough registers to hold all rows of a large
/// batch.
inline constexpr int kBandFewThreads = 512;

/// What windows read lies in shared memory as lines: a line has a word of 32 bits for each column,
/// ghosts included. Threads load vectors of four words. As every lane reads the same vector of its
/// own panel, lines are stored by phase: vector v lies in phase v % 4, at index v / 4 of it, so
/// that adjacent lanes read adjacent vectors.
inline constexpr int kBandVector = 4;
inline constexpr int kBandPhases = kBandPanel / kBandVector;
/// Vectors from one phase to the next. The pitches are chosen so that threads which write two
/// adjacent vectors use every bank once, and are few and known to the compiler, which makes the
/// offsets of phases part of the load instructions.
inline constexpr int kBandPitches = 5;
CONVOLVE_HD constexpr int band_pitch(int index) {
  return index == 0 ? 126 : index == 1 ? 246 : index == 2 ? 278 : index == 3 ? 518 : 526;
}
CONVOLVE_HD constexpr int band_line_vectors(int pitch) {
  return kBandPhases * pitch;
}

/// Most threads of a block whose lines have this pitch.
CONVOLVE_HD constexpr int band_threads_most(int pitch) {
  return pitch <= band_pitch(3) ? kBandFewThreads : kBandMostThreads;
}
/// Rows of a batch, which is what a block makes between two barriers. It has one line with the
/// column sums of its middle row, and one line for every two other rows: how much their column sums
/// differ from those of the next row towards the middle. Differences fit 16 bits where sums need
/// 32. `most`: the batch that shared memory has room for.
inline constexpr int kBandFewBatch = 9, kBandMostBatch = 17;
CONVOLVE_HD constexpr int band_rows(int pitch, int most) {
  return most >= kBandMostBatch && (pitch == band_pitch(1) || pitch == band_pitch(2))
             ? kBandMostBatch
             : kBandFewBatch;
}
CONVOLVE_HD constexpr int band_lines(int rows) {
  return (rows - 1) / 2 + 1;
}
/// Masks wider than this have panel sums, too: the sum of each 16 columns of the picture for every
/// line, from which the first window of a warp tile is added up faster (401x401 15.3 -> 14.4 us on
/// an H100, but 63x63 13.7 -> 14.1). They need a border whose ghosts repeat one column, and bands
/// of one batch.
inline constexpr int kBandNarrowMask = 288;
CONVOLVE_HD constexpr int band_line_panels(int pitch) {
  return band_threads_most(pitch) * kBandColumnsAThread / kBandPanel;
}
CONVOLVE_HD constexpr bool band_may_have_panel_sums(int pitch, int rows) {
  return pitch == band_pitch(1) && rows == kBandMostBatch;
}
CONVOLVE_HD constexpr bool band_has_panel_sums(int mask_width, bool repeats, int pitch, int rows,
                                               int height) {
  return band_may_have_panel_sums(pitch, rows) && repeats && mask_width > kBandNarrowMask &&
         height <= rows;
}
/// Threads that a picture's columns take, and threads of a block. A block has at least two warps
/// for each warp tile of a row: one makes the rows from the middle one up, one those below it.
CONVOLVE_HD constexpr int band_threads(int width) {
  return round_up(divide_up(width, kBandColumnsAThread), 32);
}
CONVOLVE_HD constexpr int band_block_threads(int width) {
  const int warp_tiles = 64 * divide_up(width, kBandWarpTile), columns = band_threads(width);
  const int most = warp_tiles > columns ? warp_tiles : columns;
  return most > kBandFewThreads ? most : kBandFewThreads;
}

/// Where columns lie in a line. Column x has position x + lead, so that the window of output x
/// covers the positions from x + shift on. Where all ghosts on one side are equal, one panel of
/// them is stored on that side, and read for all others.
struct BandLayout {
  int lead = 0;   ///< Positions before column 0: whole vectors.
  int shift = 0;  ///< Positions before the window of output 0: less than a vector.
  int first = 0;  ///< Panels that are stored; a panel outside is read as the nearest one.
  int last = 0;
  int pitch = 0;  ///< 0: no pitch has room for the line.

  /// The index in a line of vector number `vector`, which has the positions from 4 vector on.
  CONVOLVE_HD constexpr int vector_at(int vector) const {
    return vector % kBandPhases * pitch + vector / kBandPhases - first;
  }
  /// The index in a line of the word of a position.
  CONVOLVE_HD constexpr int word_at(int position) const {
    return vector_at(position / kBandVector) * kBandVector + position % kBandVector;
  }
};
/// True if all ghosts on one side of a row are equal: copies of the outermost column, or black.
CONVOLVE_HD constexpr bool band_repeats(Border border) {
  return border == Border::kReplicate || border == Border::kZero;
}
/// The layout of lines; its pitch is 0 if no pitch has room for the picture and its ghosts.
CONVOLVE_HD constexpr BandLayout band_layout(int width, int mask_width, int anchor_x,
                                             bool repeats) {
  BandLayout layout;
  layout.lead = round_up(anchor_x, kBandVector);
  layout.shift = layout.lead - anchor_x;
  // Threads read whole vectors: five of them, as 16 columns may begin within one.
  const int end = round_up(width, kBandPanel) + layout.shift + mask_width + kBandVector;
  layout.last = (end - 1) / kBandPanel;
  if (repeats) {
    const int left = layout.lead / kBandPanel - 1;
    const int right = divide_up(layout.lead + width, kBandPanel);
    layout.first = left > 0 ? left : 0;
    layout.last = right < layout.last ? right : layout.last;
  }
  for (int i = kBandPitches - 1; i >= 0; --i)
    if (band_pitch(i) > layout.last - layout.first &&
        band_threads_most(band_pitch(i)) >= band_block_threads(width))
      layout.pitch = band_pitch(i);
  return layout;
}

/// The first row of band number `band` of `bands`.
CONVOLVE_HD constexpr int band_top(int height, int band, int bands) {
  return static_cast<int>(static_cast<long long>(height) * band / bands);
}

/// The band of a block. Blocks begin in the order of their number, so the outermost bands come
/// first: their windows reach beyond the picture, which takes longest.
CONVOLVE_HD constexpr int band_of_block(int block, int bands) {
  return block % 2 == 0 ? block / 2 : bands - 1 - block / 2;
}

/// A thread tells the quotients of several adjacent windows from that of one of them, the pivot: of
/// every `windows` windows it is the one in the middle.
CONVOLVE_HD constexpr int band_pivot(int window, int windows) {
  return window / windows * windows + windows / 2;
}
/// The most by which a window's sum may differ from that of its pivot in the middle row of `rows`
/// rows: one column to the side exchanges a column of the mask, one row down a row of it.
CONVOLVE_HD constexpr unsigned band_max_difference(int windows, int rows, int mask_height,
                                                   int mask_width) {
  return static_cast<unsigned>((windows / 2 * mask_height + (rows - 1) / 2 * mask_width) * 255);
}

/// True if signs are enough to tell quotients (SignQuantiser): the numerators of four adjacent
/// windows lie less than a divisor from the multiple of the divisor that is nearest to their
/// pivot's numerator; from one row to the next that multiple changes by one divisor at most; and no
/// quotient is above 255. This holds for wide masks that are not much less high.
CONVOLVE_HD constexpr bool band_signs_suffice(int mask_height, int mask_width, unsigned divisor,
                                              unsigned offset) {
  const unsigned long long d = divisor;
  return 2ull * band_max_difference(4, 1, mask_height, mask_width) + 4 <= d &&
         255ull * static_cast<unsigned>(mask_width) + 2 <= d &&
         255ull * static_cast<unsigned>(mask_width) * static_cast<unsigned>(mask_height) + offset <=
             255 * d + d / 2;
}
/// True if the multiple need only be chosen for every second row.
CONVOLVE_HD constexpr bool band_signs_suffice_for_two_rows(int mask_height, int mask_width,
                                                           unsigned divisor) {
  return 2ull * band_max_difference(4, 3, mask_height, mask_width) + 4 <= divisor;
}

/// Shared memory that a block takes beside its dynamic one: its static variables, and a kilobyte
/// for the system. And the shared memory of a processor, on which blocks of two launches lie
/// together.
inline constexpr std::size_t kBandReserved = 3 * 1024, kBandProcessorBytes = 228 * 1024;

/// Ghosts of a line that have to be copied one by one, because the border does not repeat one
/// column.
CONVOLVE_HD constexpr int band_ghosts(const BandLayout& layout, int width, bool repeats) {
  return repeats ? 0 : (layout.last + 1) * kBandPanel - width;
}

/// Dynamic shared memory of a block for bands of `height` rows: the lines and panel sums of a batch
/// of at most `most` rows; for each row of the band where the rows that enter and leave lie; and
/// for each ghost that is copied which column it repeats.
CONVOLVE_HD constexpr std::size_t band_bytes(const BandLayout& layout, int width, int mask_width,
                                             bool repeats, int most, int height) {
  const int rows = band_rows(layout.pitch, most);
  const bool panel_sums = band_has_panel_sums(mask_width, repeats, layout.pitch, rows, height);
  return static_cast<std::size_t>(band_lines(rows)) *
             static_cast<std::size_t>(band_line_vectors(layout.pitch) * 16 +
                                      (panel_sums ? band_line_panels(layout.pitch) * 4 : 0)) +
         static_cast<std::size_t>(height) * 16 +
         static_cast<std::size_t>(band_ghosts(layout, width, repeats)) * 4;
}

/// True if masks so high have checkpoints.
CONVOLVE_HD constexpr bool band_has_checkpoints(int mask_height) {
  return mask_height > kBandMostInitialRows;
}
/// Intervals of a picture; rows after the last whole one have no checkpoint.
CONVOLVE_HD constexpr int band_intervals(int height) {
  return height / kBandInterval;
}
/// Intervals of a block that makes checkpoints: equally many for each of its warps.
CONVOLVE_HD constexpr int band_block_intervals(int height) {
  const int intervals = band_intervals(height) > 0 ? band_intervals(height) : 1;
  return round_up(
      divide_up(intervals, divide_up(intervals, kBandCheckpointWarps * kBandWarpIntervals)),
      kBandCheckpointWarps);
}
/// Intervals after which prefix sums start again at 0.
CONVOLVE_HD constexpr int band_segment_intervals(int height) {
  return band_block_intervals(height) / 2;
}
/// Shared memory of a block that makes checkpoints. Each of its warps has the rows of `stages`
/// intervals in flight: all of them, whose memory the checkpoints then take over, or a few, beside
/// which the checkpoints have their own.
inline constexpr int kBandIntervalBytes = kBandInterval * kBandCheckpointColumns;
inline constexpr int kBandCheckpointBytes = 2 * kBandCheckpointColumns;
inline constexpr int kBandFewStages = 4;
CONVOLVE_HD constexpr std::size_t band_checkpoint_block_bytes(int height, int stages) {
  const int intervals = band_block_intervals(height);
  return static_cast<std::size_t>(stages == kBandWarpIntervals
                                      ? intervals * kBandIntervalBytes
                                      : kBandCheckpointWarps * stages * kBandIntervalBytes +
                                            intervals * kBandCheckpointBytes);
}
/// Stages for a picture whose bands take `band` bytes a block: a few only if blocks of both
/// launches then fit a processor together, and with all stages do not.
CONVOLVE_HD constexpr int band_checkpoint_stages(int height, std::size_t band) {
  const std::size_t room = kBandProcessorBytes - 2 * kBandReserved;
  return band_checkpoint_block_bytes(height, kBandWarpIntervals) + band > room &&
                 band_checkpoint_block_bytes(height, kBandFewStages) + band <= room
             ? kBandFewStages
             : kBandWarpIntervals;
}
/// Bytes from one row of checkpoints to the next, 16 bits a column.
CONVOLVE_HD constexpr std::size_t band_checkpoint_pitch(int width) {
  return static_cast<std::size_t>(band_threads(width)) * kBandColumnsAThread * 2;
}

/// True for planes of one filtered component of 8 bits.
bool box_bands_serve(const PlaneFormat& plane);

/// How the picture is cut, where BoxTile::width is the number of bands; nothing if the picture is
/// too wide for a block, or lines or the intervals of checkpoints are too large for its memory.
std::optional<BoxTile> choose_box_bands(const BoxWork& work, int anchor_x);

}  // namespace convolve
