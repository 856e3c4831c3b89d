// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/epilogue_class.h"

#include <algorithm>
#include <optional>

#include "kernels/core/plan/tensor_forms.h"
#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/box.h"
#include "kernels/core/weights/digits.h"
#include "kernels/core/weights/separable_digits.h"
#include "kernels/core/weights/separable_integers.h"
#include "kernels/core/weights/shift.h"

namespace convolve::testing {
namespace {

using Quantiser = DigitEpilogue::Quantiser;

const char* quantiser_name(Quantiser quantiser) {
  switch (quantiser) {
    case Quantiser::kGeneral:
      return "general";
    case Quantiser::kFloat:
      return "float";
    case Quantiser::kBits:
      return "bits";
  }
  return "?";
}

const char* name_of(const Epilogue& epilogue) {
  if (epilogue.in_float) return epilogue.narrow.divide ? "divided floats" : "floats";
  return epilogue.wide.divide ? "divided doubles" : "doubles";
}

const char* name_of(const BoxDivision& division, const Epilogue& epilogue) {
  if (!division.serves) return name_of(epilogue);
  if (division.plain) return "plain quotients";
  if (division.ties) return "quotients with ties";
  return division.direct ? "direct quotients" : "quotients";
}

/// True if two components of a plane have sums that start elsewhere.
bool is_mixed(const FrameFormat& format, double bias) {
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    const Component* first = nullptr;
    for (int c = 0; c < plane.component_count; ++c) {
      const Component& component = plane.components[c];
      if (!component.filtered) continue;
      if (first == nullptr) first = &component;
      if (component.black != first->black || bias_code(component, bias) != bias_code(*first, bias))
        return true;
    }
  }
  return false;
}

template <class Function>
void each_filtered(const FrameFormat& format, Function&& function) {
  (void)all_filtered(format, [&function](const Component& component) {
    function(component);
    return true;
  });
}

/// True if the sums of all components of each plane start at the same value, so that a difference
/// between their epilogues has no effect there.
bool one_start(const FrameFormat& format, const Mask& mask, const DigitWeights& weights,
               bool rational, double scale, double bias, Quantiser quantiser) {
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    std::optional<DigitEpilogue> first;
    for (int c = 0; c < plane.component_count; ++c) {
      if (!plane.components[c].filtered) continue;
      const DigitEpilogue epilogue =
          make_digit_epilogue(plane.components[c], mask, weights, scale, bias, rational, quantiser);
      if (first && (epilogue.start != first->start || epilogue.base != first->base)) return false;
      if (!first) first = epilogue;
    }
  }
  return true;
}

/// As TensorPass::update_epilogues() chooses it: the most general of the quantisers that the
/// components need. On the CPU each has its own or shares that of the first one, and the most
/// general one stands for them all.
std::string digit_class(const FrameFormat& format, const Mask& mask, const Plan& plan, double scale,
                        double bias) {
  const DigitWeights weights =
      make_digits(format, mask, plan.rational, plan.digits).value_or(DigitWeights{});
  const bool bits =
      plan.form == Form::kCoarsenedDots || (plan.digits == 1 && plan.form != Form::kTensorOctets);
  Quantiser least = bits ? Quantiser::kBits : Quantiser::kFloat;
  for (Quantiser before = least;; before = least) {
    each_filtered(format, [&](const Component& component) {
      least = std::min(
          least, make_digit_epilogue(component, mask, weights, scale, bias, plan.rational, before)
                     .quantiser);
    });
    if (least != before) continue;
    if (!is_mixed(format, bias)) return quantiser_name(least);
    const bool hidden = least == Quantiser::kGeneral &&
                        one_start(format, mask, weights, plan.rational, scale, bias, least);
    return quantiser_name(least) + std::string(hidden ? ", mixed, of one start" : ", mixed");
  }
}

}  // namespace

std::string epilogue_class(const FrameFormat& format, const Mask& mask, const Plan& plan,
                           double scale, double bias) {
  std::string name;
  const Component* first = nullptr;
  each_filtered(format, [&first](const Component& component) {
    if (first == nullptr) first = &component;
  });
  if (first == nullptr) return "nothing";
  if (plan.weighted) {
    name = "weighted";
  } else if (sums_are_split(plan.form)) {
    name = "split";
  } else if (plan.form == Form::kCoarsenedDots && plan.accumulator == Accumulator::kFloat64) {
    name = "wide";
  } else if (plan.kernel() == KernelKind::kTensor || plan.form == Form::kCoarsenedDots) {
    return digit_class(format, mask, plan, scale, bias);
  } else if (plan.form == Form::kSeparableSpline) {
    name = name_of(make_spline_epilogue(*first, mask, scale, bias));
  } else if (plan.kernel() == KernelKind::kSeparable && plan.digits > 0) {
    const SeparableDigits digits =
        make_separable_digits(format, mask, plan.rational).value_or(SeparableDigits{});
    name = quantiser_name(
        make_separable_epilogue(*first, mask, digits, scale, bias, plan.rational).quantiser);
  } else if (plan.form == Form::kSeparableDots) {
    const SeparableIntegers integers =
        make_separable_integers(format, mask, plan.rational).value_or(SeparableIntegers{});
    name = name_of(
        make_separable_epilogue(*first, mask, integers, scale, bias, plan.rational).general);
  } else if (plan.kernel() == KernelKind::kBox) {
    const BoxWeight weight = box_weight(mask).value_or(BoxWeight{});
    name = name_of(make_box_division(*first, mask, weight, scale, bias, plan.rational),
                   make_box_epilogue(*first, mask, weight, scale, bias, plan.rational));
  } else if (plan.kernel() == KernelKind::kShift) {
    const std::optional<Shift> shift = shift_of(mask);
    name = shift ? name_of(make_box_epilogue(*first, shift->tap, shift->weight, scale, bias,
                                             plan.rational))
                 : "?";
  } else {
    name = name_of(
        make_epilogue(*first, mask, scale, bias, plan.rational, plan.accumulator, plan.passes()));
  }
  return name + (is_mixed(format, bias) ? ", mixed" : "");
}

}  // namespace convolve::testing
