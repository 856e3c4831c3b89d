// SPDX-License-Identifier: LGPL-2.1-or-later
// Which bytes of a row of YUY2 and UYVY the quads of a mask take.
#include "kernels/cpu/dots/turn_quads.h"

#include <gtest/gtest.h>

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

/// True if every tap of all four bytes of outputs is taken from where its sample lies.
bool is_right(const TurnQuads& turns, const DotTaps& taps) {
  for (int k = 0; k < 4; ++k)
    for (int tap = 0; tap < taps.width(); ++tap) {
      // Bytes from the sample of the output itself, which is anchor columns of chroma on.
      const int step = k % 2 == turns.luma ? 2 : 4;
      const int at = 4 * taps.anchor_x() + k + step * (tap - taps.anchor_x());
      const int g = tap / kQuadTaps;
      if (turns.offset[g] + turns.bytes[g][k * kQuadTaps + tap % kQuadTaps] != at) return false;
      if (turns.bytes[g][k * kQuadTaps + tap % kQuadTaps] > 15) return false;
    }
  return true;
}

TEST(TurnQuads, LieOnTheirSamples) {
  for (const int luma : {0, 1})
    for (int width = 1; width <= 7; ++width) {
      const DotTaps taps = taps_of(width, width / 2);
      const std::optional<TurnQuads> turns = TurnQuads::make(taps, luma);
      ASSERT_TRUE(turns) << width;
      EXPECT_EQ(turns->luma, luma);
      EXPECT_TRUE(is_right(*turns, taps)) << width;
    }
}

TEST(TurnQuads, MayLieTooFarApart) {
  EXPECT_FALSE(TurnQuads::make(taps_of(9, 4), 0)) << "three quads";
  EXPECT_FALSE(TurnQuads::make(taps_of(8, 7), 0)) << "luma's taps begin where chroma's end";
  for (int width = 1; width <= 8; ++width)
    for (int anchor = 0; anchor < width; ++anchor)
      for (const int luma : {0, 1}) {
        const DotTaps taps = taps_of(width, anchor);
        if (const auto turns = TurnQuads::make(taps, luma)) EXPECT_TRUE(is_right(*turns, taps));
      }
}

}  // namespace
}  // namespace convolve
