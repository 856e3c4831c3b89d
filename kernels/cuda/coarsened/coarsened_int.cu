// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `coarsened` in int32: rational masks whose sums a float does not hold.
#include "kernels/cuda/coarsened/coarsened.cuh"

namespace convolve {

const Variant kCoarsenedIntVariant =
    CoarsenedVariant<select_kernel<Arithmetic<Accumulator::kInt32>>>::table();

}  // namespace convolve
