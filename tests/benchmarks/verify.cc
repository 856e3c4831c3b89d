// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/verify.h"

#include <algorithm>
#include <cstddef>

namespace convolve::benchmarks {
namespace {

constexpr int kBandRows = 2;

}  // namespace

SampledTruth::SampledTruth(const std::uint8_t* input, int width, int height, const Mask& mask)
    : width_(width) {
  for (const int first_row : {0, height / 2, height - kBandRows})
    bands_.push_back(make_band(input, height, mask, first_row));
}

/// Filters only the rows that the band can see. Where the picture goes on beyond them, the cut rows
/// are not at the band, so their ghost cells do not matter.
SampledTruth::Band SampledTruth::make_band(const std::uint8_t* input, int height, const Mask& mask,
                                           int first_row) const {
  const int first_seen = std::max(0, first_row - mask.anchor_y);
  const int end_seen = std::min(height, first_row + kBandRows + mask.height - 1 - mask.anchor_y);
  Picture seen{width_, end_seen - first_seen, {}};
  seen.codes.assign(input + static_cast<std::ptrdiff_t>(first_seen) * width_,
                    input + static_cast<std::ptrdiff_t>(end_seen) * width_);
  const ReferenceResult result = reference_filter(seen, Component{}, mask, RunArguments{});
  const auto from =
      result.samples.begin() + static_cast<std::ptrdiff_t>(first_row - first_seen) * width_;
  return {first_row, {from, from + static_cast<std::ptrdiff_t>(kBandRows) * width_}};
}

bool SampledTruth::holds(const std::uint8_t* output) const {
  return std::all_of(bands_.begin(), bands_.end(), [&](const Band& band) {
    const std::uint8_t* given = output + static_cast<std::ptrdiff_t>(band.first_row) * width_;
    return std::equal(band.samples.begin(), band.samples.end(), given,
                      [](Truth truth, int code) { return allows(truth, code); });
  });
}

}  // namespace convolve::benchmarks
