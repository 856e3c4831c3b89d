// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `coarsened` with int32 sums: rational masks whose sums a float cannot hold exactly.
// coarsened.cuh describes the kernel.
#include "kernels/cuda/coarsened/coarsened.cuh"

namespace convolve {

const Variant kCoarsenedIntVariant =
    CoarsenedVariant<select_kernel<Arithmetic<Accumulator::kInt32>>>::table();

}  // namespace convolve
