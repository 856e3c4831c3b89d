// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/shift.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

namespace convolve {
namespace {

/// 1x1: weight `at` of `mask`.
Mask lone_tap(const Mask& mask, std::size_t at) {
  Mask tap;
  tap.rational = mask.rational;
  tap.gain = mask.gain;
  if (mask.rational) tap.integers = {mask.integers[at]};
  tap.weights = {mask.weights[at]};
  tap.sum = mask.weights[at];
  tap.magnitude = tap.max_weight = std::fabs(mask.weights[at]);
  tap.integer_magnitude = mask.integer_magnitude;
  tap.zero_taps = mask.weights[at] == 0;
  return tap;
}

Shift shift_by(int x, int y, Mask tap) {
  const BoxWeight weight = box_weight(tap).value_or(BoxWeight{});
  return {x, y, std::move(tap), weight};
}

template <class Real>
CodeMap code_map(const EpilogueOf<Real>& e, int black, CodeMap otherwise) {
  if (e.divide) return CodeMap::kAny;
  if (e.scale == 0) return CodeMap::kConstant;
  return e.scale == 1 && e.base == static_cast<Real>(black) ? CodeMap::kKeep : otherwise;
}

}  // namespace

std::optional<Shift> shift_of(const Mask& mask) {
  if (!mask.dense() || mask.taps() - mask.zero_taps > 1) return std::nullopt;
  const auto tap = std::find_if(mask.weights.begin(), mask.weights.end(),
                                [](double weight) { return weight != 0; });
  if (tap == mask.weights.end()) return shift_by(0, 0, lone_tap(mask, 0));
  const int at = static_cast<int>(tap - mask.weights.begin());
  return shift_by(at % mask.width - mask.anchor_x, at / mask.width - mask.anchor_y,
                  lone_tap(mask, static_cast<std::size_t>(at)));
}

CodeMap code_map(const Epilogue& epilogue, int black) {
  return epilogue.in_float ? code_map(epilogue.narrow, black, CodeMap::kLinear)
                           : code_map(epilogue.wide, black, CodeMap::kAny);
}

int mapped_code(int difference, const Epilogue& epilogue) {
  return epilogue.in_float
             ? finish(static_cast<float>(difference), epilogue.narrow, epilogue.max_code)
             : finish(static_cast<double>(difference), epilogue.wide, epilogue.max_code);
}

bool all_bits_count(SampleLayout layout, int sample_bytes) {
  return layout.shift == 0 && layout.max_code + 1 == 1 << 8 * sample_bytes;
}

}  // namespace convolve
