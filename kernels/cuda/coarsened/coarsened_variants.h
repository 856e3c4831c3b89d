// SPDX-License-Identifier: LGPL-2.1-or-later
// The variants of kernel `coarsened`, one for each kind of accumulator.
#pragma once

#include "kernels/cuda/device/variant.h"

namespace convolve {

// kCoarsenedVariant, with float sums, is in variant.h.
extern const Variant kCoarsenedIntVariant;   ///< Sums in int32.
extern const Variant kCoarsenedWideVariant;  ///< Sums in double and in several digits.

}  // namespace convolve
