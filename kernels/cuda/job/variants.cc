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

}  // namespace

const Variant& cuda_variant(const Plan& plan) {
  switch (plan.kernel) {
    case KernelKind::kAuto:
    case KernelKind::kBasic:
    case KernelKind::kTensor:  // Has a pass of its own, tensor_pass.h.
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
      return coarsened_variant(plan.accumulator);
    case KernelKind::kSeparable:
      if (plan.coarse.column > 0) return kSeparableCoarseVariant;
      return plan.digits > 0 ? kSeparableTensorVariant : kSeparableVariant;
    case KernelKind::kBox:
      return kBoxVariant;
    case KernelKind::kShift:
      return kShiftVariant;
  }
  return kBasicVariant;
}

}  // namespace convolve
