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

/// Rows that are added up for all bands before any of them begins.
inline constexpr int kBandChunk = 16;
/// Rows above the last of a band's first window from which on that is done: below, it adds them up
/// itself.
inline constexpr int kBandFewRows = 48;
/// Columns of a thread that makes column sums.
inline constexpr int kBandWord = 8;
/// Outputs of a thread, and of a warp.
inline constexpr int kBandGroup = 16;
inline constexpr int kBandPiece = 32 * kBandGroup;
inline constexpr int kBandMostThreads = 1024;

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
    if (band_pitch(packed, i) >= least) layout.pitch = band_pitch(packed, i);
  return layout;
}

/// Bytes of a block that holds `rows` rows of column sums, and knows for `height` of them which
/// rows of the picture enter and leave.
CONVOLVE_HD constexpr std::size_t band_bytes(int pitch, bool packed, int rows, int height) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(band_planes(packed) * pitch) *
             4 +
         static_cast<std::size_t>(height) * 16;
}

/// Threads of a block.
CONVOLVE_HD constexpr int band_threads(int width) {
  return round_up(divide_up(width, kBandWord), 32);
}

/// True if chunks are added up before, and the bytes from one's sums to the next one's.
CONVOLVE_HD constexpr bool band_chunks(int mask_height) {
  return mask_height > kBandFewRows;
}
CONVOLVE_HD constexpr std::size_t band_chunk_pitch(int width) {
  return static_cast<std::size_t>(band_threads(width)) * kBandWord * 2;
}

/// True for planes of one component of 8 bits.
bool box_bands_serve(const PlaneFormat& plane);

/// The cut; nothing if the picture is too wide for a block, or a row of sums for its memory.
std::optional<BoxTile> choose_box_bands(const BoxWork& work, int anchor_x);

}  // namespace convolve
