// SPDX-License-Identifier: LGPL-2.1-or-later
// The variants of kernel `coarsened`, one for each kind of sum.
#pragma once

#include "kernels/cuda/device/variant.h"

namespace convolve {

extern const Variant kCoarsenedIntVariant;   ///< int32; kCoarsenedVariant: float;
extern const Variant kCoarsenedWideVariant;  ///< double, and several digits.

}  // namespace convolve
