// SPDX-License-Identifier: LGPL-2.1-or-later
// The weights of a spline mask as the kernels of separable_spline.cu read them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/weights/spline_mask.h"
#include "kernels/cuda/device/variant.h"

namespace convolve {

/// Three tables for each axis, in words of four 32-bit numbers:
///
///   analysis_weights   for each pixel of an interval its weights in the four B-splines over it:
///                      first the one that begins in this interval, last the one that began three
///                      intervals before. Column and cross, which read bytes: whole numbers of
///                      16 bits, those of two adjacent pixels as the halves of a number. Row:
///                      floats that sum to 1.
///   weights            of the convolution, padded with zeros to whole words.
///   synthesis_weights  for each phase of a pixel in its interval.
///
/// `arguments`: receives the offsets of the tables and the scalars of each axis.
std::vector<std::uint32_t> spline_tables(const SplineMask& mask, SplineArguments& arguments);

}  // namespace convolve
