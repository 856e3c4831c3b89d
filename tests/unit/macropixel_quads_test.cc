// SPDX-License-Identifier: LGPL-2.1-or-later
// Which bytes of a row of YUY2 and UYVY the quads of a mask take.
#include "kernels/cpu/dots/macropixel_quads.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>

#include "kernels/core/mask/mask_grammar.h"

namespace convolve {
namespace {

DotTaps taps_of(int width, int anchor) {
  MaskSource source;
  source.width = width;
  source.height = 1;
  source.weights.assign(static_cast<std::size_t>(width), 1.0);
  Mask mask = Mask::make(source).value();
  mask.anchor_x = anchor;
  DigitWeights weights;
  weights.digits = 1;
  weights.values.assign(static_cast<std::size_t>(width), 1);
  return DotTaps(mask, weights, FastFir());
}

/// True if every tap of all four outputs is taken from where its sample lies, and a step reads no
/// further than its reach.
bool is_right(const MacropixelQuads& quads, const DotTaps& taps) {
  for (int k = 0; k < 4; ++k)
    for (int tap = 0; tap < taps.width(); ++tap) {
      const int step = k % 2 == quads.luma_byte ? 2 : 4;
      const int sample = 4 * taps.anchor_x() + k + step * (tap - taps.anchor_x());
      const int g = tap / kQuadTaps;
      const int byte = quads.bytes[g][k * kQuadTaps + tap % kQuadTaps];
      if (byte > 15 || quads.offset[g] + byte != sample) return false;
      if (quads.offset[g] < 0 || quads.offset[g] > 16 * g) return false;
    }
  return true;
}

TEST(MacropixelQuads, LieOnTheirSamples) {
  for (const int luma_byte : {0, 1})
    for (int width = 1; width <= 7; ++width) {
      const DotTaps taps = taps_of(width, width / 2);
      const std::optional<MacropixelQuads> quads = MacropixelQuads::make(taps, luma_byte);
      ASSERT_TRUE(quads) << width;
      EXPECT_EQ(quads->luma_byte, luma_byte);
      EXPECT_TRUE(is_right(*quads, taps)) << width;
    }
}

TEST(MacropixelQuads, LieOnTheirSamplesWhereverTheAnchorIs) {
  int made = 0;
  for (int width = 1; width <= 8; ++width)
    for (int anchor = 0; anchor < width; ++anchor)
      for (const int luma_byte : {0, 1}) {
        const DotTaps taps = taps_of(width, anchor);
        const std::optional<MacropixelQuads> quads = MacropixelQuads::make(taps, luma_byte);
        if (!quads) {
          EXPECT_GT(width, 3) << anchor;
          continue;
        }
        EXPECT_TRUE(is_right(*quads, taps)) << width << " " << anchor;
        ++made;
      }
  EXPECT_GT(made, 30);
}

TEST(MacropixelQuads, MayLieTooFarApart) {
  EXPECT_FALSE(MacropixelQuads::make(taps_of(9, 4), 0)) << "three quads";
  EXPECT_FALSE(MacropixelQuads::make(taps_of(8, 7), 0)) << "luma begins where chroma ends";
}

}  // namespace
}  // namespace convolve
