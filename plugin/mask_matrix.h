// SPDX-License-Identifier: LGPL-2.1-or-later
// The property `mask-matrix`: a mask as an array of rows of numbers.
#pragma once

#include <gst/gst.h>

#include "kernels/convolver.h"

namespace cudaconvolve {

/// The mask that `value`, a GST_TYPE_ARRAY of GST_TYPE_ARRAY of numbers (floating point, integer or
/// GstFraction), holds. The anchor is the default one. kInvalidArgument, naming row and column,
/// if it is empty, ragged, larger than convolve::kMaxMaskSide, or holds anything that is not a
/// finite number.
convolve::Result<convolve::MaskSource> mask_from_matrix(const GValue* value);

/// The other way: rows of double, a typed divisor divided out. `value` is a GST_TYPE_ARRAY. Masks
/// larger than convolve::kMaxMaskSide, which are kept as factors, give an empty array.
void matrix_from_mask(const convolve::MaskSource& mask, GValue* value);

}  // namespace cudaconvolve
