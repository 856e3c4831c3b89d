// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/turn_quads.h"

#include <algorithm>

namespace convolve {

std::optional<TurnQuads> TurnQuads::make(const DotTaps& taps, int luma) {
  if (taps.quads() > kMostQuads) return std::nullopt;
  TurnQuads made;
  made.luma = luma;
  // Byte k of four finds its sample of column `tap` of the mask so far on. The row begins where
  // chroma's taps do; as far from its output in samples, luma's are half as far in bytes.
  const auto byte_of = [&](int k, int tap) {
    return k % 2 == luma ? k + 2 * (taps.anchor_x() + tap) : k + 4 * tap;
  };
  for (int g = 0; g < taps.quads(); ++g) {
    const int first = g * kQuadTaps, last = std::min(first + kQuadTaps, taps.width()) - 1;
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
