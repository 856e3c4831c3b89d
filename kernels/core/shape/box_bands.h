// SPDX-License-Identifier: LGPL-2.1-or-later
// How kernel box takes planes of single bytes in bands as wide as the picture: column sums follow
// the rows down, window sums the columns across. Which planes, and how a picture is cut for it.
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

/// Before any band begins, column sums are made for all of them: from the first row of a run of
/// rows down to each step of so many.
inline constexpr int kBandStep = 8;
/// Warps that sum a block of rows, and most steps of each. Half of them have a run, whose sums fit
/// 16 bits.
inline constexpr int kBandStepWarps = 4;
inline constexpr int kBandWarpSteps = 9;
static_assert(kBandStepWarps / 2 * kBandWarpSteps * kBandStep * 255 <= 0xFFFF);
/// Columns of such a block.
inline constexpr int kBandStepColumns = 256;
/// Rows above the last of a band's first window from which on that is done: up to so many, it adds
/// them up itself.
inline constexpr int kBandFewRows = 15;
/// Columns of a thread that makes column sums.
inline constexpr int kBandWord = 8;
/// Outputs of a thread, and of a warp.
inline constexpr int kBandGroup = 16;
inline constexpr int kBandPiece = 32 * kBandGroup;
inline constexpr int kBandMostThreads = 1024;
/// Blocks of so many have registers for more rows at once.
inline constexpr int kBandFewThreads = 512;

/// What windows see of rows lies in shared memory: a word for each column, ghosts included, four of
/// them a quad. What 16 outputs see begins at the same place of a group of 16 for each of as many
/// threads, so quad q lies in plane q % 4, at q / 4 there: threads side by side then read side by
/// side.
inline constexpr int kBandQuad = 4;
inline constexpr int kBandPlanes = kBandGroup / kBandQuad;
/// Quads from plane to plane, so that threads which write two adjacent quads meet every bank once:
/// known to the compiler, as addresses of planes are then part of the instructions.
inline constexpr int kBandPitches = 5;
CONVOLVE_HD constexpr int band_pitch(int index) {
  return index == 0 ? 126 : index == 1 ? 246 : index == 2 ? 278 : index == 3 ? 518 : 526;
}
CONVOLVE_HD constexpr int band_slot_quads(int pitch) {
  return kBandPlanes * pitch;
}

/// Most threads of a block with such rows.
CONVOLVE_HD constexpr int band_threads_most(int pitch) {
  return pitch <= band_pitch(3) ? kBandFewThreads : kBandMostThreads;
}
/// Rows of a batch, of which there is a slot for the sums of the middle one, and one for each pair
/// of others: how much they differ from the row next to them towards the middle. `most`: as many
/// as there is memory for.
inline constexpr int kBandFewBatch = 9, kBandMostBatch = 17;
CONVOLVE_HD constexpr int band_rows(int pitch, int most) {
  return most >= kBandMostBatch && (pitch == band_pitch(1) || pitch == band_pitch(2))
             ? kBandMostBatch
             : kBandFewBatch;
}
CONVOLVE_HD constexpr int band_slots(int rows) {
  return (rows - 1) / 2 + 1;
}
/// Beside it, where masks are so wide that this saves time (401x401 15.3 -> 14.4 us on an H100,
/// 63x63 13.7 -> 14.1), the sum of each 16 columns of the picture, a word: where groups stand for
/// all ghosts, and bands of `height` rows are a batch.
inline constexpr int kBandNarrowMask = 288;
CONVOLVE_HD constexpr int band_slot_blocks(int pitch) {
  return band_threads_most(pitch) * kBandWord / kBandGroup;
}
CONVOLVE_HD constexpr bool band_may_have_blocks(int pitch, int rows) {
  return pitch == band_pitch(1) && rows == kBandMostBatch;
}
CONVOLVE_HD constexpr bool band_has_blocks(int mask_width, bool repeats, int pitch, int rows,
                                           int height) {
  return band_may_have_blocks(pitch, rows) && repeats && mask_width > kBandNarrowMask &&
         height <= rows;
}
/// Threads that a picture's columns take, and those of a block: two warps at least for each piece
/// of a row, of which one makes rows above the middle one, the other those below.
CONVOLVE_HD constexpr int band_threads(int width) {
  return round_up(divide_up(width, kBandWord), 32);
}
CONVOLVE_HD constexpr int band_block_threads(int width) {
  const int pieces = 64 * divide_up(width, kBandPiece), columns = band_threads(width);
  const int most = pieces > columns ? pieces : columns;
  return most > kBandFewThreads ? most : kBandFewThreads;
}

/// Where columns lie. Column x has place x + lead, so that output x sees places x + shift to x +
/// shift + width of the mask - 1. Beside the picture, where all columns of a group are the same, a
/// group stands for all of them.
struct BandLayout {
  int lead = 0;   ///< Whole quads.
  int shift = 0;  ///< Below a quad.
  int first = 0;  ///< Groups that there are; others are as the nearest of these.
  int last = 0;
  int pitch = 0;  ///< 0: no row is long enough.

  /// The quad of a slot with the columns of quad number `quad`, counted by places.
  CONVOLVE_HD constexpr int quad_at(int quad) const {
    return quad % kBandPlanes * pitch + quad / kBandPlanes - first;
  }
  /// The word with the column of a place.
  CONVOLVE_HD constexpr int word_at(int place) const {
    return quad_at(place / kBandQuad) * kBandQuad + place % kBandQuad;
  }
};
CONVOLVE_HD constexpr bool band_repeats(Border border) {
  return border == Border::kReplicate || border == Border::kZero;
}
CONVOLVE_HD constexpr BandLayout band_layout(int width, int mask_width, int anchor_x,
                                             bool repeats) {
  BandLayout layout;
  layout.lead = round_up(anchor_x, kBandQuad);
  layout.shift = layout.lead - anchor_x;
  // Threads read whole quads, and one more than 16 columns need.
  const int end = round_up(width, kBandGroup) + layout.shift + mask_width + kBandQuad;
  layout.last = (end - 1) / kBandGroup;
  if (repeats) {
    const int left = layout.lead / kBandGroup - 1;
    const int right = divide_up(layout.lead + width, kBandGroup);
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

/// The band of a block: the outermost first, which take longest where windows see beyond the
/// picture, as blocks begin in order, each as soon as there is room.
CONVOLVE_HD constexpr int band_of_block(int block, int bands) {
  return block % 2 == 0 ? block / 2 : bands - 1 - block / 2;
}

/// Windows of a thread follow each other from row to row; of each `windows` side by side the one in
/// the middle is their hub, which they are counted from. How far apart they may be from the hub of
/// the middle row of a batch: from window to window a column of the mask changes, from row to row a
/// row of it.
CONVOLVE_HD constexpr int band_hub(int window, int windows) {
  return window / windows * windows + windows / 2;
}
CONVOLVE_HD constexpr unsigned band_reach(int windows, int rows, int mask_height, int mask_width) {
  return static_cast<unsigned>((windows / 2 * mask_height + (rows - 1) / 2 * mask_width) * 255);
}

/// True if between four windows and the nearest multiple of the divisor to their hub no other one
/// lies, and from row to row the next one is the nearest at most; and if none is above 255 of them.
/// For masks so wide, and not much less high, counting them is enough.
CONVOLVE_HD constexpr bool band_steps_by_one(int mask_height, int mask_width, unsigned divisor,
                                             unsigned offset) {
  const unsigned long long d = divisor;
  return 2ull * band_reach(4, 1, mask_height, mask_width) + 4 <= d &&
         255ull * static_cast<unsigned>(mask_width) + 2 <= d &&
         255ull * static_cast<unsigned>(mask_width) * static_cast<unsigned>(mask_height) + offset <=
             255 * d + d / 2;
}
/// The same over two rows.
CONVOLVE_HD constexpr bool band_steps_by_pairs(int mask_height, int mask_width, unsigned divisor) {
  return 2ull * band_reach(4, 3, mask_height, mask_width) + 4 <= divisor;
}

/// Numerators that lie within `reach` of one, of which all divisors but a few are taken away, are
/// scaled by 2^bits: so that quotients are whole bytes of the upper halves of their products with a
/// reciprocal (BoxDivision). True if they fit 32 bits, and the factor a byte with a sign; and, for
/// ties, if what a divisor is divided into has a bit of that upper half.
CONVOLVE_HD constexpr int band_scale_bits(int shift) {
  return round_up(shift, 8) - shift;
}
CONVOLVE_HD constexpr bool band_scale_serves(int shift, unsigned reach, unsigned divisor,
                                             bool ties) {
  const int bits = band_scale_bits(shift);
  return shift <= 24 && bits <= 6 && (2ull * reach + 2ull * divisor) << bits <= 0xFFFFFFFFull &&
         (!ties || divisor <= 1u << (shift + bits));
}

/// Bytes of a block besides those it asks for: some of its own, and a kilobyte of the system's. And
/// those of a processor, where launches overlap.
inline constexpr std::size_t kBandReserved = 3 * 1024, kBandProcessorBytes = 228 * 1024;

/// Places that neither a column has nor a group stands for.
CONVOLVE_HD constexpr int band_ghosts(const BandLayout& layout, int width, bool repeats) {
  return repeats ? 0 : (layout.last + 1) * kBandGroup - width;
}

/// Bytes of a block for bands of `height` rows of a picture: what windows see of a batch, of at
/// most `most` rows, which rows of the picture enter and leave with each row of the band, and which
/// column each place repeats that neither has one nor a group stands for it.
CONVOLVE_HD constexpr std::size_t band_bytes(const BandLayout& layout, int width, int mask_width,
                                             bool repeats, int most, int height) {
  const int rows = band_rows(layout.pitch, most);
  const bool blocks = band_has_blocks(mask_width, repeats, layout.pitch, rows, height);
  return static_cast<std::size_t>(band_slots(rows)) *
             static_cast<std::size_t>(band_slot_quads(layout.pitch) * 16 +
                                      (blocks ? band_slot_blocks(layout.pitch) * 4 : 0)) +
         static_cast<std::size_t>(height) * 16 +
         static_cast<std::size_t>(band_ghosts(layout, width, repeats)) * 4;
}

/// True if steps are summed before, how many whole ones a picture has, how many of them a block
/// sums, and a run; and the bytes from one's sums to the next one's.
CONVOLVE_HD constexpr bool band_steps_serve(int mask_height) {
  return mask_height > kBandFewRows;
}
CONVOLVE_HD constexpr int band_steps(int height) {
  return height / kBandStep;
}
CONVOLVE_HD constexpr int band_block_steps(int height) {
  const int steps = band_steps(height) > 0 ? band_steps(height) : 1;
  return round_up(divide_up(steps, divide_up(steps, kBandStepWarps * kBandWarpSteps)),
                  kBandStepWarps);
}
CONVOLVE_HD constexpr int band_run_steps(int height) {
  return band_block_steps(height) / 2;
}
/// Bytes of a block that does so, each of whose warps has `stages` steps of rows underway, all or a
/// few: with all, sums take their place.
inline constexpr int kBandStepBytes = kBandStep * kBandStepColumns;
inline constexpr int kBandStepSumBytes = 2 * kBandStepColumns;
inline constexpr int kBandFewStages = 4;
CONVOLVE_HD constexpr std::size_t band_step_bytes(int height, int stages) {
  const int steps = band_block_steps(height);
  return static_cast<std::size_t>(stages == kBandWarpSteps
                                      ? steps * kBandStepBytes
                                      : kBandStepWarps * stages * kBandStepBytes +
                                            steps * kBandStepSumBytes);
}
/// A few if they leave room for a band of so many bytes on a processor, where all do not.
CONVOLVE_HD constexpr int band_step_stages(int height, std::size_t band) {
  const std::size_t room = kBandProcessorBytes - 2 * kBandReserved;
  return band_step_bytes(height, kBandWarpSteps) + band > room &&
                 band_step_bytes(height, kBandFewStages) + band <= room
             ? kBandFewStages
             : kBandWarpSteps;
}
CONVOLVE_HD constexpr std::size_t band_step_pitch(int width) {
  return static_cast<std::size_t>(band_threads(width)) * kBandWord * 2;
}

/// True for planes of one component of 8 bits.
bool box_bands_serve(const PlaneFormat& plane);

/// The cut, whose width is how many bands there are; nothing if the picture is too wide for a
/// block, or a row of sums for its memory.
std::optional<BoxTile> choose_box_bands(const BoxWork& work, int anchor_x);

}  // namespace convolve
