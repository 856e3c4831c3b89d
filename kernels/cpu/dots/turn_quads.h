// SPDX-License-Identifier: LGPL-2.1-or-later
// Quads of samples of luma and chroma that take turns in a row of bytes, as in YUY2: of four bytes
// two are luma, whose samples are two bytes apart, and one of each chroma, whose are four apart.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/cpu/dots/dot_taps.h"

namespace convolve {

/// Where quads of the weights of a row of the mask meet their samples. The quads of four bytes of
/// outputs, two of luma and one of each chroma, lie on 16 bytes, so that one shuffle makes them.
struct TurnQuads {
  static constexpr int kMostQuads = 2;  ///< Of a row: luma and chroma of a third lie too far apart.

  /// Of the mask of `taps`, whose rows begin at the first sample of chroma that the first output
  /// reads. `luma`: the first byte of luma in four, 0 or 1. Nothing if there are too many quads, or
  /// one does not lie on 16 bytes.
  static std::optional<TurnQuads> make(const DotTaps& taps, int luma);

  int luma = 0;  ///< The first byte of luma in four.
  /// Bytes from the beginning of a row of the mask to the 16 on which a quad lies.
  int offset[kMostQuads] = {};
  /// Which of these 16 are the quads of the four outputs, one after the other.
  alignas(16) std::uint8_t bytes[kMostQuads][16] = {};
};

}  // namespace convolve
