// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/separable_sums.h"

#include "kernels/core/weights/arithmetic.h"

namespace convolve {
namespace {

constexpr double kTwo31 = 2147483648.0;
constexpr double kMaxCode = 255;

/// The sum of the weights in units of T; of a rational mask that of its integers.
double weight_sum(const Mask& mask, bool rational) {
  if (!rational) return mask.sum;
  return factor_totals(mask.row_integers).sum() * factor_totals(mask.column_integers).sum();
}

}  // namespace

bool separable_sums_serve(const FrameFormat& format, const Mask& mask, const SeparableSums& sums,
                          double scale, bool rational) {
  if (rational != is_rational(format, mask, scale)) return false;
  return all_filtered(format, [&](const Component& component) {
    if (sums.magnitude >= kTwo31 || (sums.middle && std::fabs(scale) < 0.5)) return false;
    if (rational) return true;
    // The start is a whole number of units; the sum becomes a float, and is scaled and added to in
    // one more rounding, on values of at most three full codes where the result is not clamped.
    constexpr double kFloatUlp = 1.0 / 16777216.0;
    const double error =
        std::fabs(scale) * (sums.error + 0.5 * sums.unit + mask.factor_error * kMaxCode) +
        4 * kFloatUlp * 3 * kMaxCode;
    return error <= std::min(zone(mask, scale, component.depth), 0.25);
  });
}

DigitEpilogue make_separable_epilogue(const Component& component, const Mask& mask,
                                      const SeparableSums& sums, double scale, double bias,
                                      bool rational) {
  DigitEpilogue e;
  // Rounded to a whole code, so that it can be part of the base.
  const double middle =
      sums.middle ? std::nearbyint(scale * (*sums.middle - component.black * mask.sum)) : 0;
  // Modulo 2^32, as the sums are: only the final sum is proven to fit.
  const double start = (sums.constant - component.black * weight_sum(mask, rational) -
                        (sums.middle ? middle / scale : 0)) /
                       sums.unit;
  e.start = static_cast<std::int32_t>(static_cast<std::uint32_t>(std::llrint(start)));
  bool in_float = true;
  if (rational) {
    e.general = make_epilogue(component, mask, scale, bias, rational, Accumulator::kFloat32,
                              Passes::kRowColumn);
    in_float = e.general.in_float && !e.general.narrow.divide;
  } else {
    const double base = component.black + bias_code(component, bias) + middle;
    e.general.max_code = component.max_code();
    e.general.in_float = true;
    e.general.wide.scale = scale * sums.unit;
    e.general.wide.base = base;
    e.general.narrow.scale = static_cast<float>(e.general.wide.scale);
    e.general.narrow.base = static_cast<float>(base);
  }
  const double to_codes = std::fabs(e.general.wide.scale) * sums.magnitude;
  constexpr double kFastRange = 32000, kRounding = 12582912.0;  // 1.5 x 2^23
  const double base = e.general.narrow.base;
  if (!in_float || std::fabs(base) + to_codes >= kFastRange) return e;
  e.quantiser = DigitEpilogue::Quantiser::kFloat;
  e.scale = e.general.narrow.scale;
  e.base = static_cast<float>(base + kRounding);
  return e;
}

bool filters_bytes(const FrameFormat& format) {
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    if (plane.sample_bytes != 1) return false;
    for (int c = 0; c < plane.component_count; ++c)
      if (plane.components[c].filtered &&
          (plane.components[c].depth != 8 || plane.components[c].shift != 0))
        return false;
  }
  return true;
}

}  // namespace convolve
