// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/macropixel_quads.h"

#include <algorithm>

namespace convolve {

std::optional<MacropixelQuads> MacropixelQuads::make(const DotTaps& taps, int luma_byte) {
  if (taps.quads() > kMostQuads) return std::nullopt;
  MacropixelQuads made;
  made.luma_byte = luma_byte;
  // The byte that output k meets in column `tap`, from the macropixel that is anchor_x before its
  // own. Chroma's first tap lies in that one. Luma's first tap is anchor_x samples of two bytes
  // before its output, which is half as far.
  const auto byte_of = [&](int k, int tap) {
    return k % 2 == luma_byte ? k + 2 * (taps.anchor_x() + tap) : k + 4 * tap;
  };
  for (int g = 0; g < taps.quads(); ++g) {
    const int first = g * kQuadTaps, last = std::min(first + kQuadTaps, taps.width()) - 1;
    // Not behind 16 g, even where no byte before that is wanted: a step reads no further.
    int lowest = 4 * first, highest = 0;
    for (int k = 0; k < 4; ++k) {
      lowest = std::min(lowest, byte_of(k, first));
      highest = std::max(highest, byte_of(k, last));
    }
    if (highest - lowest > 15) return std::nullopt;
    made.offset[g] = lowest;
    for (int k = 0; k < 4; ++k)
      for (int tap = first; tap <= last; ++tap)
        made.bytes[g][k * kQuadTaps + tap - first] =
            static_cast<std::uint8_t>(byte_of(k, tap) - lowest);
  }
  return made;
}

}  // namespace convolve
