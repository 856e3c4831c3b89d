// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel box on tensor cores, in strips: column sums slide down the picture, and window sums are
// products of column sums with a banded matrix of ones. This file says which planes the form
// serves, how a picture is cut into strips, and how a block's shared memory is laid out.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/core/base/host_device.h"
#include "kernels/core/base/round.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/shape/box_tile.h"

namespace convolve {

/// Rows of a batch, which is what a block makes between two barriers.
inline constexpr int kStripBatch = 16;
/// Batches whose rows are in flight while one is used.
inline constexpr int kStripPrefetch = 3;
/// Outputs of a warp in a row, its warp tile; it makes them for eight rows at once.
inline constexpr int kStripWarpTile = 64;
inline constexpr int kStripMostWidth = 256;
/// Adjacent columns of a thread that makes column sums.
inline constexpr int kStripColumnsAThread = 4;
/// Chunks are 32 columns, as many as a product of tensor cores takes. Partial chunks are those in
/// which the windows of 32 outputs may begin or end; full chunks lie between them, and every window
/// has all of their columns.
inline constexpr int kStripMostPartial = 4;
/// The columns that the windows of 32 adjacent outputs cover, relative to the block's first column,
/// which lies on 16 bytes of the picture.
struct BoxReach {
  int skip = 0;    ///< Columns before the first chunk, a multiple of 8.
  int first = 0;   ///< Columns of it before the first window, up to 7.
  int chunks = 2;  ///< Of 32 columns each, from `skip` on.
};
CONVOLVE_HD constexpr BoxReach box_reach(int mask_width, int anchor_x) {
  const int before = (16 - anchor_x % 16) % 16;
  BoxReach reach;
  reach.skip = before / 8 * 8;
  reach.first = before % 8;
  const int chunks = divide_up(reach.first + 31 + mask_width, 32);
  reach.chunks = chunks < 2 ? 2 : chunks;
  return reach;
}

/// Bytes from row to row of the picture in shared memory, of which the last 16 have no signal, and
/// of column sums. Four rows of sums lie in different banks. The pitches are constants, so that all
/// rows of a batch are addressed from one register: `wide` is for windows that reach into
/// kStripMostPartial chunks.
CONVOLVE_HD constexpr int strip_raw_pitch(bool wide) {
  return wide ? 544 : 352;
}
CONVOLVE_HD constexpr int strip_sum_pitch(bool wide) {
  return wide ? 608 : 352;
}

/// The shared memory of a block: a ring buffer of the picture's rows, and column sums of two
/// batches, high and low bytes apart. Rows that enter with a batch begin in a slot that is a
/// multiple of kStripBatch. Those that leave need not, and may cross the ring's end: the first rows
/// of the ring are stored there a second time.
struct StripLayout {
  bool wide = false;
  int columns = 0;  ///< Columns that the block sums, a multiple of a thread's.
  int pad = 0;      ///< The ring's row that row 0 lies in.
  int rows = 0;     ///< Of the ring: what a batch reads, and the batches in flight.
  int sums = 0;     ///< The byte where column sums begin.
  int bytes = 0;
};
CONVOLVE_HD constexpr StripLayout strip_layout(int tile_width, int mask_width, int mask_height,
                                               int anchor_x) {
  const BoxReach reach = box_reach(mask_width, anchor_x);
  StripLayout layout;
  layout.wide = reach.chunks >= kStripMostPartial;
  layout.columns =
      round_up(reach.skip + reach.first + tile_width + mask_width - 1, kStripColumnsAThread);
  const int before = round_up(mask_height - 1, kStripBatch);
  layout.pad = before - (mask_height - 1);
  layout.rows = before + (1 + kStripPrefetch) * kStripBatch;
  layout.sums = (layout.rows + kStripBatch) * strip_raw_pitch(layout.wide);
  layout.bytes = layout.sums + 2 * 2 * kStripBatch * strip_sum_pitch(layout.wide);
  return layout;
}
/// True if the ring's rows have room for all columns that a block sums.
CONVOLVE_HD constexpr bool strip_fits(const StripLayout& layout) {
  return layout.columns <= strip_raw_pitch(layout.wide) - 16;
}

/// Warps of a block that make window sums, warps that make column sums, and all threads: one more
/// warp loads rows.
CONVOLVE_HD constexpr int strip_window_warps(int tile_width) {
  return tile_width / kStripWarpTile * (kStripBatch / 8);
}
CONVOLVE_HD constexpr int strip_column_warps(const StripLayout& layout) {
  return divide_up(layout.columns / kStripColumnsAThread, 32);
}
CONVOLVE_HD constexpr int strip_threads(int tile_width, const StripLayout& layout) {
  return 32 * (strip_window_warps(tile_width) + strip_column_warps(layout) + 1);
}
/// The most threads of a block, and how many blocks a processor has registers for.
CONVOLVE_HD constexpr int strip_most_threads(bool wide) {
  return wide ? 480 : 320;
}
CONVOLVE_HD constexpr int strip_most_blocks(bool wide) {
  return wide ? 1 : 2;
}

/// True for planes of one filtered component of 8 bits and masks under which column sums fit 16
/// bits.
bool box_strips_serve(const PlaneFormat& plane, const Mask& mask);

/// The tile that is estimated to take the least time; nothing if none fits shared memory.
std::optional<BoxTile> choose_box_strip(const BoxWork& work, int anchor_x);

}  // namespace convolve
