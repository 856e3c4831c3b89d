// SPDX-License-Identifier: LGPL-2.1-or-later
// How kernel box takes planes of single bytes in bands as wide as the picture: column sums follow
// the rows down, window sums the columns across. Which planes, and how a picture is cut for it.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/core/box_tile.h"
#include "kernels/core/host_device.h"
#include "kernels/core/mask.h"
#include "kernels/core/round.h"
#include "kernels/core/view.h"

namespace convolve {

/// Before any band begins, column sums are made for all of them: in layers of rows, from the
/// layer's first row down to each step of so many rows.
inline constexpr int kBandStep = 8;
/// Warps that sum a block of a layer, and most steps of each. Packed sums are exact modulo 2^32,
/// others have to fit 16 bits.
inline constexpr int kBandStepWarps = 4;
CONVOLVE_HD constexpr int band_warp_steps(bool packed) {
  return packed ? 9 : 8;
}
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

/// The row of column sums that windows see, ghosts included, in shared memory. Packed, two sums of
/// 16 bits are a word. What 16 outputs see begins a word for each of as many threads, so word w
/// lies in plane w % planes, at w / planes there: threads side by side then read side by side.
CONVOLVE_HD constexpr int band_planes(bool packed) {
  return packed ? kBandGroup / 2 : kBandGroup;
}
/// Words from plane to plane, so that threads which write eight adjacent sums meet every bank once:
/// known to the compiler, as addresses of planes are then part of the instructions.
CONVOLVE_HD constexpr int band_pitch(bool packed, int index) {
  return packed ? (index == 0 ? 132 : index == 1 ? 260 : 516) : (index == 0 ? 306 : 514);
}

/// Most threads of a block with such rows, and the rows of which each asks for what enters and
/// leaves at once.
CONVOLVE_HD constexpr int band_threads_most(bool packed, int pitch) {
  return pitch <= band_pitch(packed, packed ? 1 : 0) ? kBandFewThreads : kBandMostThreads;
}
CONVOLVE_HD constexpr int band_rows_at_once(bool packed, int pitch) {
  const bool few = band_threads_most(packed, pitch) <= kBandFewThreads;
  return packed ? (few ? 17 : 9) : (few ? 6 : 5);
}
/// Threads that a picture's columns take.
CONVOLVE_HD constexpr int band_threads(int width) {
  return round_up(divide_up(width, kBandWord), 32);
}

struct BandLayout {
  int lead = 0;   ///< The place of picture column 0, even where packed.
  int first = 0;  ///< Where the first window begins: 0, or 1 for the sake of `lead`.
  int pitch = 0;  ///< 0: no row is long enough.
};
CONVOLVE_HD constexpr BandLayout band_layout(int width, int mask_width, int anchor_x, bool packed) {
  BandLayout layout;
  layout.lead = packed ? round_up(anchor_x, 2) : anchor_x;
  layout.first = layout.lead - anchor_x;
  const int places = round_up(width, kBandGroup) + layout.first + mask_width + 2;
  const int least = divide_up(places, kBandGroup);
  for (int i = packed ? 2 : 1; i >= 0; --i)
    if (band_pitch(packed, i) >= least &&
        band_threads_most(packed, band_pitch(packed, i)) >= band_threads(width))
      layout.pitch = band_pitch(packed, i);
  return layout;
}

/// The first row of band number `band` of `bands`.
CONVOLVE_HD constexpr int band_top(int height, int band, int bands) {
  return static_cast<int>(static_cast<long long>(height) * band / bands);
}

/// Bytes of a block that holds `rows` rows of column sums, and knows for `height` of them which
/// rows of the picture enter and leave, and for each of `ghosts` whose sum it repeats.
CONVOLVE_HD constexpr std::size_t band_bytes(int pitch, bool packed, int rows, int height,
                                             int ghosts) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(band_planes(packed) * pitch) *
             4 +
         static_cast<std::size_t>(height) * 16 + static_cast<std::size_t>(ghosts) * 4;
}

/// True if steps are summed before, how many whole ones a picture has, how many of them a layer,
/// and the bytes from one's sums to the next one's.
CONVOLVE_HD constexpr bool band_steps_serve(int mask_height) {
  return mask_height > kBandFewRows;
}
CONVOLVE_HD constexpr int band_steps(int height) {
  return height / kBandStep;
}
CONVOLVE_HD constexpr int band_layer_steps(int height, bool packed) {
  const int steps = band_steps(height) > 0 ? band_steps(height) : 1;
  return divide_up(steps, divide_up(steps, kBandStepWarps * band_warp_steps(packed)));
}
/// Bytes of a block that sums a layer.
CONVOLVE_HD constexpr std::size_t band_step_bytes(int height, bool packed) {
  return static_cast<std::size_t>(divide_up(band_layer_steps(height, packed), kBandStepWarps)) *
         (kBandStepWarps * kBandStep * kBandStepColumns);
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
