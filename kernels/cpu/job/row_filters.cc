// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/job/row_filters.h"

#include <utility>

#include "kernels/cpu/box/box_bytes.h"
#include "kernels/cpu/dots/coarsened_dots.h"
#include "kernels/cpu/separable/areas.h"
#include "kernels/cpu/separable/separable_dots.h"

namespace convolve {
namespace {

template <class Filter>
Result<std::unique_ptr<RowFilter>> kept(Result<Filter> made) {
  if (!made.ok()) return made.status();
  return std::unique_ptr<RowFilter>(std::make_unique<Filter>(std::move(made.value())));
}

}  // namespace

Result<std::unique_ptr<RowFilter>> make_row_filter(const FrameFormat& format,
                                                   const PreparedPlan& planned, int workers) {
  const PreparedWeights& weights = *planned.weights;
  const Mask& mask = weights.mask;
  const Plan& plan = planned.plan;
  if (plan.form == Form::kCoarsenedDots)
    return kept(CoarsenedDots::make(format, mask, *weights.as<DigitWeights>(), workers));
  if (plan.form == Form::kSeparableAreas)
    return kept(
        SeparableAreas::make(format, factor_taps(mask, plan.accumulator, plan.rational), workers));
  if (plan.form == Form::kSeparableDots)
    return kept(SeparableDots::make(format, mask, *weights.as<SeparableIntegers>(), workers));
  if (plan.kernel() == KernelKind::kBox && BoxBytes::serves(format, mask))
    return kept(BoxBytes::make(format, box_mask(mask), workers));
  return std::unique_ptr<RowFilter>();
}

}  // namespace convolve
