// SPDX-License-Identifier: LGPL-2.1-or-later
// Quads of samples of the macropixels of packed 4:2:2, as in YUY2: of their four bytes two are
// luma, whose samples are two bytes apart, and one is of each chroma, whose samples are four apart.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/cpu/dots/dot_taps.h"

namespace convolve {

/// Where quads of the weights of a row of the mask meet their samples: those of the four bytes of a
/// macropixel lie on 16 bytes, so that one shuffle makes them.
struct MacropixelQuads {
  static constexpr int kMostQuads = 2;  ///< Of a row: luma and chroma of a third lie too far apart.

  /// For `taps`. `luma_byte`: the first byte of luma in a macropixel, 0 or 1. Nothing if there are
  /// too many quads, or if one does not lie on 16 bytes, as where the anchor is far from the
  /// middle.
  static std::optional<MacropixelQuads> make(const DotTaps& taps, int luma_byte);

  int luma_byte = 0;
  /// Bytes from the macropixel that is anchor_x before that of the outputs to the 16 on which quad
  /// g lies: 16 g at most.
  int offset[kMostQuads] = {};
  /// Which of these 16 are the quads of the four outputs, one after the other.
  alignas(16) std::uint8_t bytes[kMostQuads][16] = {};
};

}  // namespace convolve
