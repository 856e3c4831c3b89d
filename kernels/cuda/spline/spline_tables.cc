// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/spline/spline_tables.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace convolve {
namespace {

void put(std::vector<std::uint32_t>& words, double value) {
  const auto narrow = static_cast<float>(value);
  words.emplace_back();
  std::memcpy(&words.back(), &narrow, sizeof(narrow));
}

SplineAxisArguments put_axis(std::vector<std::uint32_t>& words, const SplineAxis& axis,
                             bool bytes) {
  const auto offset = [&words] { return static_cast<int>(words.size() / 4); };
  SplineAxisArguments to;
  to.spacing = axis.spacing;
  to.first = axis.first;
  to.taps = axis.taps();
  to.box_weight = static_cast<float>(axis.box_weight);
  const std::vector<std::int32_t> analysis = spline_analysis_weights(axis.spacing);
  // The interval of a pixel is interval 0 of the spline that begins there, and interval m of the
  // spline that began m intervals before.
  const auto analysis_weight = [&](int interval, int pixel) {
    return analysis[static_cast<std::size_t>(interval * axis.spacing + pixel)];
  };
  to.analysis_weights = offset();
  for (int pixel = 0; pixel < axis.spacing; pixel += bytes ? 2 : 1)
    for (int interval = 0; interval < kSplineOrder; ++interval) {
      if (bytes)
        words.push_back(static_cast<std::uint32_t>(analysis_weight(interval, pixel)) |
                        static_cast<std::uint32_t>(analysis_weight(interval, pixel + 1)) << 16);
      else
        put(words, analysis_weight(interval, pixel) * std::pow(axis.spacing, -4));
    }
  to.weights = offset();
  double sum = 0;
  for (const double weight : axis.weights) {
    put(words, weight);
    sum += weight;
  }
  words.resize((words.size() + 3) / 4 * 4, 0);
  to.sum = static_cast<float>(sum);
  to.synthesis_weights = offset();
  for (int phase = 0; phase < axis.spacing; ++phase)
    for (const double weight : spline_synthesis_weights(axis.spacing, phase))
      put(words, weight);
  return to;
}

}  // namespace

std::vector<std::uint32_t> spline_tables(const SplineMask& mask, SplineArguments& arguments) {
  std::vector<std::uint32_t> words;
  arguments.column = put_axis(words, mask.column, /*bytes=*/true);
  arguments.row = put_axis(words, mask.row, /*bytes=*/false);
  arguments.cross = put_axis(words, mask.cross, /*bytes=*/true);
  return words;
}

}  // namespace convolve
