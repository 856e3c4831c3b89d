// SPDX-License-Identifier: LGPL-2.1-or-later
// How kernel box takes planes of single bytes on tensor cores: column sums by running sums, window
// sums as products of those with a band of ones. Which planes, and how a picture is cut for it.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/core/base/host_device.h"
#include "kernels/core/base/round.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/shape/box_tile.h"

namespace convolve {

/// Rows that a block makes between two barriers.
inline constexpr int kStripBatch = 16;
/// Batches that are on their way while one is used.
inline constexpr int kStripAhead = 3;
/// Outputs of a warp in a row; it makes them for eight rows at once.
inline constexpr int kStripUnit = 64;
inline constexpr int kStripMostWidth = 256;
/// Columns of a thread that makes column sums.
inline constexpr int kStripWord = 4;
/// Chunks of 32 columns in which the windows of 32 outputs may begin or end; those between are part
/// of all of them.
inline constexpr int kStripMostPartial = 4;
/// What 32 outputs see, in columns of a block: these begin on 16 bytes of the picture.
struct BoxReach {
  int skip = 0;    ///< Columns before the first window, a multiple of 8,
  int first = 0;   ///< and more of them, up to 7.
  int chunks = 2;  ///< Of 32 columns from `skip` on.
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

/// Bytes from row to row of the picture in shared memory, the last 16 without signal, and of column
/// sums, four rows of which lie in different banks. Known to the compiler, so that rows of a batch
/// are at hand from one address: `wide` is for windows that reach into kStripMostPartial chunks.
CONVOLVE_HD constexpr int strip_raw_pitch(bool wide) {
  return wide ? 544 : 352;
}
CONVOLVE_HD constexpr int strip_sum_pitch(bool wide) {
  return wide ? 608 : 352;
}

/// The shared memory of a block: a ring of the picture's rows, and column sums of two batches, high
/// and low bytes apart. Rows that enter with a batch begin on a multiple of kStripBatch; those that
/// leave need not, and find what lies beyond the ring's end there a second time.
struct StripLayout {
  bool wide = false;
  int columns = 0;  ///< That it sums, in whole words.
  int pad = 0;      ///< The slot of row 0.
  int rows = 0;     ///< Of the ring: what a batch sees, and those on their way.
  int sums = 0;     ///< Where column sums begin.
  int bytes = 0;
};
CONVOLVE_HD constexpr StripLayout strip_layout(int tile_width, int mask_width, int mask_height,
                                               int anchor_x) {
  const BoxReach reach = box_reach(mask_width, anchor_x);
  StripLayout layout;
  layout.wide = reach.chunks >= kStripMostPartial;
  layout.columns = round_up(reach.skip + reach.first + tile_width + mask_width - 1, kStripWord);
  const int before = round_up(mask_height - 1, kStripBatch);
  layout.pad = before - (mask_height - 1);
  layout.rows = before + (1 + kStripAhead) * kStripBatch;
  layout.sums = (layout.rows + kStripBatch) * strip_raw_pitch(layout.wide);
  layout.bytes = layout.sums + 2 * 2 * kStripBatch * strip_sum_pitch(layout.wide);
  return layout;
}
/// True if rows of `layout` have room for all that a block sums.
CONVOLVE_HD constexpr bool strip_fits(const StripLayout& layout) {
  return layout.columns <= strip_raw_pitch(layout.wide) - 16;
}

/// Warps that make window sums, and column sums; one more brings rows.
CONVOLVE_HD constexpr int strip_outputs(int tile_width) {
  return tile_width / kStripUnit * (kStripBatch / 8);
}
CONVOLVE_HD constexpr int strip_columns(const StripLayout& layout) {
  return divide_up(layout.columns / kStripWord, 32);
}
CONVOLVE_HD constexpr int strip_threads(int tile_width, const StripLayout& layout) {
  return 32 * (strip_outputs(tile_width) + strip_columns(layout) + 1);
}
/// The most threads of a block, and how many blocks a processor has registers for.
CONVOLVE_HD constexpr int strip_most_threads(bool wide) {
  return wide ? 480 : 320;
}
CONVOLVE_HD constexpr int strip_most_blocks(bool wide) {
  return wide ? 1 : 2;
}

/// True for planes of one component of 8 bits, and masks under which their column sums fit 16.
bool box_strips_serve(const PlaneFormat& plane, const Mask& mask);

/// The cut that is estimated to take the least time; nothing if no strip fits shared memory.
std::optional<BoxTile> choose_box_strip(const BoxWork& work, int anchor_x);

}  // namespace convolve
