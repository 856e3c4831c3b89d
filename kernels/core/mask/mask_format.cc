// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <optional>

#include "kernels/core/base/ratio.h"
#include "kernels/core/mask/mask_grammar.h"
#include "kernels/core/mask/mask_text.h"

namespace convolve {
namespace {

/// A ratio where that is shorter than the decimal; both read back as `v`.
std::string weight_text(double v) {
  std::string decimal = shortest_text(v);
  const std::optional<Ratio> ratio = ratio_of(v);
  if (!ratio || ratio->den == 1) return decimal;
  std::string text = std::to_string(ratio->num) + "/" + std::to_string(ratio->den);
  return text.size() < decimal.size() ? text : decimal;
}

bool is_whole(const std::string& text) {
  return std::all_of(text.begin() + (text[0] == '-' ? 1 : 0), text.end(), is_digit);
}

std::vector<double> dense_weights(const MaskSource& source) {
  if (!source.weights.empty()) return source.weights;
  std::vector<double> weights;
  for (double c : source.column)
    for (double r : source.row)
      weights.push_back(c * r);
  return weights;
}

}  // namespace

std::string format_mask(const MaskSource& source) {
  if (source.width > kMaxMaskSide || source.height > kMaxMaskSide) return "";
  const std::vector<double> weights = dense_weights(source);
  std::vector<std::string> numbers;
  for (double v : weights)
    numbers.push_back(weight_text(v));
  // The grammar takes a lone ratio after whole numbers for a mistyped divisor.
  if (numbers.size() > 1 && std::all_of(numbers.begin(), numbers.end() - 1, is_whole))
    numbers.back() = shortest_text(weights.back());

  const bool centred = source.anchor_x == source.width / 2 && source.anchor_y == source.height / 2;
  std::string text;
  // A single row reads as a square, unless it is one number.
  if (!centred || (source.height == 1 && source.width > 1)) {
    text = std::to_string(source.width) + "x" + std::to_string(source.height);
    if (!centred)
      text += "+" + std::to_string(source.anchor_x) + "+" + std::to_string(source.anchor_y);
    text += ": ";
  }
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text += i % static_cast<std::size_t>(source.width) == 0 ? "; " : " ";
    text += numbers[i];
  }
  if (source.divisor)
    text += " / " + weight_text(*source.divisor);
  else if (source.normalized)
    text += " / 1";  // Final as it stands, as a named mask is.
  return text;
}

}  // namespace convolve
