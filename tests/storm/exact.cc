// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/exact.h"

#include "kernels/core/arithmetic.h"
#include "kernels/reference/weighted.h"

namespace storm {

using convolve::AlphaPlace;
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
  const std::optional<AlphaPlace> place = convolve::find_alpha(planned);
  if (settings.options.alpha_mode != convolve::AlphaMode::kPremultiplied || !place ||
      !rule_.weightable())
    return;
  const Component& alpha = planned.planes[place->plane].components[place->component];
  const convolve::GridShift shift =
      convolve::grid_shift(planned.planes[plane].components[component], alpha);
  alpha_max_ = alpha.max_code();
  alpha_ = convolve::subsample(convolve::decode_component(source, place->plane, place->component),
                               1 << shift.x, 1 << shift.y, rule_.width, rule_.height);
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

std::vector<Truth> ExactComponent::row(int x, int count, int y) const {
  const convolve::Mask& mask = settings_.mask;
  const convolve::RowRange middle{mask.anchor_y, 1};
  const Picture seen = window(picture_, x, count, y, rule_.black);
  const std::vector<Truth> all =
      alpha_
          ? convolve::reference_filter_weighted(seen, window(*alpha_, x, count, y, 0), alpha_max_,
                                                rule_, mask, settings_.arguments, middle)
                .samples
          : convolve::reference_filter(seen, rule_, mask, settings_.arguments, middle).samples;
  return {all.begin() + mask.anchor_x, all.begin() + mask.anchor_x + count};
}

double ExactComponent::cost(int count) const {
  // Nanoseconds a tap: in whole numbers, in the digits of real weights, in quad precision.
  const double a_tap = alpha_ ? (rational_ ? 30 : 150) : (rational_ ? 1 : 6);
  const double outputs = count + settings_.mask.width - 1;
  return 1000 + outputs * a_tap * static_cast<double>(settings_.mask.taps());
}

}  // namespace storm
