// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/spline/coarse_tables.h"

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

CoarseAxisArguments put_axis(std::vector<std::uint32_t>& words, const SplineAxis& axis,
                             bool bytes) {
  const auto place = [&words] { return static_cast<int>(words.size() / 4); };
  CoarseAxisArguments to;
  to.spacing = axis.spacing;
  to.first = axis.first;
  to.taps = axis.taps();
  to.step = static_cast<float>(axis.step);
  const std::vector<std::int32_t> looks = spline_samples(axis.spacing);
  // The interval that a pixel lies in is the first of the spline that begins there, and the last
  // but m of the one that began m intervals before.
  const auto look = [&](int piece, int pixel) {
    return looks[static_cast<std::size_t>(piece * axis.spacing + pixel)];
  };
  to.looks = place();
  for (int pixel = 0; pixel < axis.spacing; pixel += bytes ? 2 : 1)
    for (int piece = 0; piece < kSplinePieces; ++piece) {
      if (bytes)
        words.push_back(static_cast<std::uint32_t>(look(piece, pixel)) |
                        static_cast<std::uint32_t>(look(piece, pixel + 1)) << 16);
      else
        put(words, look(piece, pixel) * std::pow(axis.spacing, -4));
    }
  to.weights = place();
  double sum = 0;
  for (const double weight : axis.weights) {
    put(words, weight);
    sum += weight;
  }
  words.resize((words.size() + 3) / 4 * 4, 0);
  to.sum = static_cast<float>(sum);
  to.draws = place();
  for (int phase = 0; phase < axis.spacing; ++phase)
    for (const double weight : spline_weights(axis.spacing, phase))
      put(words, weight);
  return to;
}

}  // namespace

std::vector<std::uint32_t> coarse_tables(const CoarseMask& mask, CoarseArguments& arguments) {
  std::vector<std::uint32_t> words;
  arguments.column = put_axis(words, mask.column, /*bytes=*/true);
  arguments.row = put_axis(words, mask.row, /*bytes=*/false);
  arguments.cross = put_axis(words, mask.cross, /*bytes=*/true);
  return words;
}

}  // namespace convolve
