// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/check/format_cases.h"

#include <glib.h>

#include <random>

#include "kernels/core/mask/mask_grammar.h"

namespace check {
namespace {

/// Whole weights of both signs, over what makes their gain about 1.
std::string random_text(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  std::string text = std::to_string(width) + "x" + std::to_string(height) + ":";
  int sum = 0;
  for (int i = 0; i < width * height; ++i) {
    const int weight = static_cast<int>(random() % 13) - 3;
    sum += weight;
    text += " " + std::to_string(weight);
  }
  return text + " / " + std::to_string(sum > 0 ? sum : 1);
}

}  // namespace

const std::vector<MaskCase>& format_masks() {
  static const std::vector<MaskCase> all = [] {
    std::vector<MaskCase> masks;
    for (const std::string& text : {
             std::string("1x1: 3 / 4"),
             std::string("3x3: 0 -1 0 -1 5 -1 0 -1 0"),
             std::string("3x3: 1 2 3 4 5 6 7 8 9 / 45"),
             std::string("3x3+0+0: 1 2 3 4 5 6 7 8 9 / 45"),
             std::string("2x1: 1 1 / 2"),  // Ties in every second sample.
             std::string("1x2: 1 1 / 2"),
             std::string("2x4: 1 2 3 4 -1 0 2 5 / 16"),
             std::string("4x3+3+0: 1 2 3 -1 0 4 -2 1 2 1 0 5 / 16"),
             std::string("5x1: 1 -2 4 3 1 / 7"),
             std::string("1x5: 1 2 3 2 1 / 9"),
             std::string("box:4"),
             std::string("box:9,3"),
             std::string("binomial:5"),
             std::string("motion:9,0"),
             random_text(5, 5, 1),
             random_text(7, 6, 2),
             random_text(15, 15, 3),
             std::string("laplacian"),
             std::string("sobel-x"),
             std::string("emboss"),
         })
      masks.push_back({text, mask_of(text)});
    return masks;
  }();
  return all;
}

convolve::Mask mask_of(const std::string& text) {
  const convolve::Result<convolve::MaskSource> source = convolve::parse_mask(text);
  g_assert_true(source.ok());
  const convolve::Result<convolve::Mask> mask = convolve::Mask::make(source.value());
  g_assert_true(mask.ok());
  return mask.value();
}

}  // namespace check
