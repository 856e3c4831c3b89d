// SPDX-License-Identifier: LGPL-2.1-or-later
// The obvious truth of colour weighted by alpha (core/weights/alpha_weighting.h): both sums of
// every sample in whole numbers or 113 bits, one division, one rounding. Shares the border rule
// with the engine, and no bound, no accumulator and no epilogue.
#pragma once

#include "kernels/reference/reference.h"

namespace convolve {

/// Filters `rows` of `input` as reference_filter() does, weighted by `alpha`: codes up to
/// `alpha_max`, of the same size as `input`.
ReferenceResult reference_filter_weighted(const Picture& input, const Picture& alpha, int alpha_max,
                                          const Component& rule, const Mask& mask,
                                          const RunArguments& arguments, RowRange rows = {});

/// Every `step_x`-th code of every `step_y`-th row: alpha as it lies below subsampled chroma.
Picture subsample(const Picture& picture, int step_x, int step_y, int width, int height);

}  // namespace convolve
