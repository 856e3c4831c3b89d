// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/mask_taps.h"

#include <algorithm>

#include "kernels/cpu/workspace.h"

namespace convolve {
namespace {

TapSpan unite(TapSpan a, TapSpan b) {
  if (a.begin == a.end) return b;
  if (b.begin == b.end) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

template <class Weight>
TapSpan nonzero_span(const Weight* row, int width) {
  int begin = 0;
  int end = width;
  while (begin < end && row[begin] == Weight(0))
    ++begin;
  while (begin < end && row[end - 1] == Weight(0))
    --end;
  return {begin, end};
}

}  // namespace

MaskTaps::MaskTaps(int width, int height, int anchor_x, int anchor_y, Accumulator accumulator,
                   const std::byte* weights)
    : width_(width),
      height_(height),
      anchor_x_(anchor_x),
      anchor_y_(anchor_y),
      accumulator_(accumulator),
      weights_(weights, weights + static_cast<std::size_t>(width) *
                                      static_cast<std::size_t>(height) *
                                      weight_bytes(accumulator)) {
  for (int i = 0; i < height; ++i) {
    const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(i) * width;
    if (accumulator == Accumulator::kFloat32)
      row_spans_.push_back(nonzero_span(this->weights<float>() + row, width));
    else if (accumulator == Accumulator::kFloat64)
      row_spans_.push_back(nonzero_span(this->weights<double>() + row, width));
    else
      row_spans_.push_back({0, width});
  }
  for (int line = 0; line < height + kBlockRows - 1; ++line) {
    TapSpan span;
    for (int r = 0; r < kBlockRows; ++r)
      if (line - r >= 0 && line - r < height) span = unite(span, row_spans_[line - r]);
    block_spans_.push_back(span);
  }
}

FactorTaps factor_taps(const Mask& mask, Accumulator accumulator, bool rational) {
  const std::vector<std::byte> factors = encode_factors(mask, accumulator, rational);
  const std::byte* const column = factors.data() + mask.width * weight_bytes(accumulator);
  FactorTaps taps = {MaskTaps(mask.width, 1, mask.anchor_x, 0, accumulator, factors.data()),
                     MaskTaps(1, mask.height, 0, mask.anchor_y, accumulator, column)};
  if (rational ? is_symmetric(mask.row_integers) : is_symmetric(mask.row)) taps.row.fold();
  if (rational ? is_symmetric(mask.column_integers) : is_symmetric(mask.column)) taps.column.fold();
  return taps;
}

}  // namespace convolve
