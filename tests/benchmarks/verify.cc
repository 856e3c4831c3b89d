// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/verify.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <optional>

#include "kernels/reference/weighted.h"
#include "tests/benchmarks/frames.h"
#include "tests/kernels/compare.h"

namespace convolve::benchmarks {
namespace {

constexpr int kBandRows = 2;

/// `rows` rows of one plane from `first_row` on.
FrameView cut(const FrameView& frame, int plane, int first_row, int rows) {
  FrameView band = frame;
  PlaneFormat& format = band.format.planes[plane];
  format.rows = rows;
  for (int c = 0; c < format.component_count; ++c)
    format.components[c].height = rows;
  band.data[plane] += first_row * band.pitch[plane];
  return band;
}

/// Filters the rows of the band, with what they can see. Where the picture goes on beyond that,
/// ghost cells do not matter.
std::vector<Truth> filter_band(const FrameView& frame, int plane, int component, int first_row,
                               const Mask& mask, const RunArguments& arguments,
                               AlphaMode alpha_mode) {
  const int first_seen = std::max(0, first_row - mask.anchor_y);
  const int end_seen = std::min(frame.format.planes[plane].rows,
                                first_row + kBandRows + mask.height - 1 - mask.anchor_y);
  const FrameView seen = cut(frame, plane, first_seen, end_seen - first_seen);
  const Component& rule = frame.format.planes[plane].components[component];
  const Picture input = decode_component(seen, plane, component);
  const std::optional<AlphaLocation> alpha = find_alpha(frame.format);
  const bool weighted = alpha_mode == AlphaMode::kPremultiplied && alpha && rule.weightable();
  const RowRange rows{first_row - first_seen, kBandRows};
  return weighted ? reference_filter_weighted(
                        input, decode_component(seen, alpha->plane, alpha->component),
                        frame.format.planes[alpha->plane].components[alpha->component].max_code(),
                        rule, mask, arguments, rows)
                        .samples
                  : reference_filter(input, rule, mask, arguments, rows).samples;
}

}  // namespace

SampledTruth::SampledTruth(const std::uint8_t* input, const FrameFormat& format, const Mask& mask,
                           const RunArguments& arguments, AlphaMode alpha_mode)
    : input_(packed_view(format, input)) {
  // The truth of wide masks is slow, and a machine with a GPU has cores to spare.
  std::vector<std::future<std::vector<Truth>>> truths;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    for (const int first_row : {0, plane.rows / 2, plane.rows - kBandRows})
      for (int c = 0; c < plane.component_count; ++c) {
        bands_.push_back({p, c, first_row, {}});
        truths.push_back(
            std::async(std::launch::async, [this, p, c, first_row, &mask, &arguments, alpha_mode] {
              return input_.format.planes[p].components[c].filtered
                         ? filter_band(input_, p, c, first_row, mask, arguments, alpha_mode)
                         : std::vector<Truth>();
            }));
      }
  }
  for (std::size_t k = 0; k < bands_.size(); ++k)
    bands_[k].samples = truths[k].get();
}

bool SampledTruth::holds(const std::uint8_t* output) const {
  const FrameView frame = packed_view(input_.format, output);
  return std::all_of(bands_.begin(), bands_.end(), [&](const Band& band) {
    const FrameView given = cut(frame, band.plane, band.first_row, kBandRows);
    const testing::Comparison comparison =
        band.samples.empty()
            ? testing::compare_copied(given, cut(input_, band.plane, band.first_row, kBandRows),
                                      band.plane, band.component)
            : testing::compare_component(given, band.plane, band.component, band.samples);
    return comparison.samples > 0 && comparison.wrong == 0;
  });
}

int SampledTruth::largest_error(const std::uint8_t* output) const {
  const FrameView frame = packed_view(input_.format, output);
  int largest = 0;
  for (const Band& band : bands_) {
    if (band.samples.empty()) continue;
    const Picture given = decode_component(cut(frame, band.plane, band.first_row, kBandRows),
                                           band.plane, band.component);
    for (std::size_t k = 0; k < band.samples.size(); ++k)
      largest = std::max(largest, std::abs(given.codes[k] - band.samples[k].code));
  }
  return largest;
}

}  // namespace convolve::benchmarks
