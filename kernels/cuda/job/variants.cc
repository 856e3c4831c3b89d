// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/coarsened/coarsened_variants.h"

namespace convolve {
namespace {

const Variant& coarsened_variant(Accumulator accumulator) {
  switch (accumulator) {
    case Accumulator::kFloat32:
      return kCoarsenedVariant;
    case Accumulator::kInt32:
      return kCoarsenedIntVariant;
    case Accumulator::kFloat64:
    case Accumulator::kWide:
      break;
  }
  return kCoarsenedWideVariant;
}

const Variant& separable_variant(Form form) {
  if (form == Form::kSeparableSpline) return kSeparableSplineVariant;
  return form == Form::kSeparableTensorFused || form == Form::kSeparableTensorTwoPass
             ? kSeparableTensorVariant
             : kSeparableVariant;
}

}  // namespace

const Variant& cuda_variant(Form form, Accumulator accumulator) {
  switch (form_info(form).kernel) {
    case KernelKind::kAuto:
    case KernelKind::kBasic:
    case KernelKind::kTensor:
      break;
    case KernelKind::kConstant:
      return kConstantVariant;
    case KernelKind::kTiledInput:
      return kTiledInputVariant;
    case KernelKind::kTiledOutput:
      return kTiledOutputVariant;
    case KernelKind::kCachedHalo:
      return kCachedHaloVariant;
    case KernelKind::kCoarsened:
      return coarsened_variant(accumulator);
    case KernelKind::kSeparable:
      return separable_variant(form);
    case KernelKind::kBox:
      return kBoxVariant;
    case KernelKind::kShift:
      return kShiftVariant;
  }
  return kBasicVariant;
}

int most_launches(Form form) {
  constexpr int kFields = 2;
  if (form_info(form).kernel == KernelKind::kTensor) return kFields;
  return kFields * kMaxComponents * (form == Form::kSeparableSpline ? 4 : 2);
}

}  // namespace convolve
