// SPDX-License-Identifier: LGPL-2.1-or-later
// The numbers of a coarse mask as the kernels of separable_coarse.cu read them.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/weights/coarse_mask.h"
#include "kernels/cuda/device/variant.h"

namespace convolve {

/// All in words of four 32-bit numbers.
///
///   looks    of a pixel, or, where pixels are bytes, of two that follow each other as the lower
///   and
///            the upper half of a number: its weight in each of the spline's pieces, of the
///            interval that it lies in and of the three before. Bytes: whole numbers; else floats
///            whose sum is 1.
///   weights  of the grid, then zeros up to whole words.
///   draws    of each phase.
///
/// `arguments`: where they lie, and what goes with them.
std::vector<std::uint32_t> coarse_tables(const CoarseMask& mask, CoarseArguments& arguments);

}  // namespace convolve
