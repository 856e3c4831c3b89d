// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/exact.h"

#include <algorithm>
#include <utility>

#include "kernels/core/weights/arithmetic.h"
#include "kernels/reference/weighted.h"

namespace storm {
namespace {

/// Nanoseconds for a cell of what the mask sees, and for the digits of a real weight, which every
/// call of the reference makes anew.
constexpr double kCellCost = 8;
constexpr double kDigitsCost = 60;

/// The same weights as one column, row after row, with the anchor where it was.
convolve::Mask flattened(const convolve::Mask& mask) {
  convolve::Mask flat = mask;
  flat.width = 1;
  flat.height = static_cast<int>(mask.taps());
  flat.anchor_x = 0;
  flat.anchor_y = mask.anchor_y * mask.width + mask.anchor_x;
  if (mask.dense()) return flat;
  const auto taps = static_cast<std::size_t>(mask.taps());
  flat.weights.reserve(taps);
  if (mask.rational) flat.integers.reserve(taps);
  for (int i = 0; i < mask.height; ++i)
    for (int j = 0; j < mask.width; ++j) {
      const auto y = static_cast<std::size_t>(i);
      const auto x = static_cast<std::size_t>(j);
      flat.weights.push_back(mask.column[y] * mask.row[x]);
      if (mask.rational) flat.integers.push_back(mask.column_integers[y] * mask.row_integers[x]);
    }
  return flat;
}

}  // namespace

using convolve::AlphaLocation;
using convolve::Component;
using convolve::FrameFormat;
using convolve::FrameView;
using convolve::Picture;
using convolve::Truth;

ExactComponent::ExactComponent(const FrameView& source, const FrameFormat& planned, int plane,
                               int component, const Settings& settings)
    : settings_(settings),
      rule_(source.format.planes[plane].components[component]),
      rational_(convolve::is_rational(source.format, settings.mask, settings.arguments.scale)),
      picture_(convolve::decode_component(source, plane, component)) {
  a_tap_ = rational_ ? 1 : 6;
  const std::optional<AlphaLocation> place = convolve::find_alpha(planned);
  if (settings.options.alpha_mode != convolve::AlphaMode::kPremultiplied || !place ||
      !rule_.weightable())
    return;
  const Component& alpha = planned.planes[place->plane].components[place->component];
  const convolve::GridShift shift =
      convolve::grid_shift(planned.planes[plane].components[component], alpha);
  alpha_max_ = alpha.max_code();
  alpha_ = convolve::subsample(convolve::decode_component(source, place->plane, place->component),
                               1 << shift.x, 1 << shift.y, rule_.width, rule_.height);
  a_tap_ = rational_ ? 30 : 150;
}

Picture ExactComponent::window(const Picture& picture, int x, int count, int y, int black) const {
  const convolve::Mask& mask = settings_.mask;
  const convolve::Border border = settings_.arguments.border;
  Picture seen{count + mask.width - 1, mask.height, {}};
  seen.codes.reserve(static_cast<std::size_t>(seen.width) * static_cast<std::size_t>(seen.height));
  for (int i = 0; i < seen.height; ++i) {
    const int from_y = convolve::border_index(border, y - mask.anchor_y + i, picture.height);
    for (int j = 0; j < seen.width; ++j) {
      const int from_x = convolve::border_index(border, x - mask.anchor_x + j, picture.width);
      const bool no_signal = from_x == convolve::kNoSignal || from_y == convolve::kNoSignal;
      seen.codes.push_back(no_signal ? black
                                     : picture.codes[static_cast<std::size_t>(from_y) *
                                                         static_cast<std::size_t>(picture.width) +
                                                     static_cast<std::size_t>(from_x)]);
    }
  }
  return seen;
}

std::optional<Picture> ExactComponent::alpha_window(int x, int count, int y) const {
  return alpha_ ? std::optional(window(*alpha_, x, count, y, 0)) : std::nullopt;
}

std::vector<Truth> ExactComponent::filter(const Picture& seen, const std::optional<Picture>& alpha,
                                          const convolve::Mask& mask) const {
  const convolve::RowRange middle{mask.anchor_y, 1};
  return alpha ? convolve::reference_filter_weighted(seen, *alpha, alpha_max_, rule_, mask,
                                                     settings_.arguments, middle)
                     .samples
               : convolve::reference_filter(seen, rule_, mask, settings_.arguments, middle).samples;
}

std::vector<Truth> ExactComponent::row(int x, int count, int y) {
  std::vector<Truth> truths;
  if (cost_one_by_one(count) < cost_at_once(count)) {
    for (int k = 0; k < count; ++k)
      truths.push_back(sample(x + k, y));
    return truths;
  }
  truths =
      filter(window(picture_, x, count, y, rule_.black), alpha_window(x, count, y), settings_.mask);
  const auto first = truths.begin() + settings_.mask.anchor_x;
  return {first, first + count};
}

double ExactComponent::cost(int count) const {
  return 1000 + std::min(cost_one_by_one(count), cost_at_once(count));
}

double ExactComponent::cost_one_by_one(int count) const {
  const double a_weight = a_tap_ + kCellCost + (rational_ ? 0 : kDigitsCost);
  return count * static_cast<double>(settings_.mask.taps()) * a_weight;
}

double ExactComponent::cost_at_once(int count) const {
  const convolve::Mask& mask = settings_.mask;
  const double taps = static_cast<double>(mask.taps());
  const double across = count + mask.width - 1;
  return across * (taps * a_tap_ + mask.height * kCellCost) + (rational_ ? 0 : taps * kDigitsCost);
}

Truth ExactComponent::sample(int x, int y) {
  const auto upright = [this](Picture seen) {
    seen.height = flat_->height;
    seen.width = 1;
    return seen;
  };
  if (!flat_) flat_ = flattened(settings_.mask);
  std::optional<Picture> alpha = alpha_window(x, 1, y);
  if (alpha) alpha = upright(std::move(*alpha));
  return filter(upright(window(picture_, x, 1, y, rule_.black)), alpha, *flat_).front();
}

}  // namespace storm
