// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/weights/prepared_weights.h"

#include "kernels/core/weights/arithmetic.h"

namespace convolve {

WeightPreparation::WeightPreparation(const FrameFormat& format, const Mask& mask, double scale)
    : format_(format), mask_(mask), scale_(scale), rational_(is_rational(format, mask, scale)) {}

template <class T, class Make>
std::optional<T>& WeightPreparation::once(Once<T>& kept, const Make& make) {
  if (!kept.asked) {
    kept.value = make();
    kept.asked = true;
    ++made_;
  }
  return kept.value;
}

std::optional<DigitWeights>& WeightPreparation::digits() {
  return once(digits_, [this] { return choose_digits(format_, mask_, scale_, rational_); });
}

std::optional<DigitWeights>& WeightPreparation::wide_digits() {
  return once(wide_digits_,
              [this] { return choose_wide_digits(format_, mask_, scale_, rational_); });
}

std::optional<SplitDigits>& WeightPreparation::split_digits(int digits) {
  return once(split_digits_[digits - kFewestSplitDigits], [&] {
    std::optional<SplitDigits> made = make_split_digits(mask_, digits);
    if (made && !split_digits_serve(format_, mask_, *made, scale_)) made.reset();
    return made;
  });
}

std::optional<SeparableDigits>& WeightPreparation::separable_digits() {
  return once(separable_digits_, [this] {
    std::optional<SeparableDigits> made = make_separable_digits(format_, mask_, rational_);
    if (made && !separable_sums_serve(format_, mask_, *made, scale_, rational_)) made.reset();
    return made;
  });
}

std::optional<SeparableIntegers>& WeightPreparation::separable_integers() {
  return once(separable_integers_, [this] {
    std::optional<SeparableIntegers> made = make_separable_integers(format_, mask_, rational_);
    if (made && !separable_sums_serve(format_, mask_, *made, scale_, rational_)) made.reset();
    return made;
  });
}

std::optional<SplineMask>& WeightPreparation::spline_mask(SplineEnds ends) {
  return once(ends == SplineEnds::kBox ? spline_with_box_ : spline_with_taps_,
              [&] { return choose_spline_mask(format_, mask_, scale_, ends); });
}

std::optional<BoxWeight>& WeightPreparation::box_weight() {
  return once(box_weight_, [this] { return convolve::box_weight(mask_); });
}

std::optional<Shift>& WeightPreparation::shift() {
  return once(shift_, [this] { return shift_of(mask_); });
}

const WeightTotals& WeightPreparation::totals() {
  return *once(totals_, [this] { return std::optional<WeightTotals>(weight_totals(mask_)); });
}

}  // namespace convolve
