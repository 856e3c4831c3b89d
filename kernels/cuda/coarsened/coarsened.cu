// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `coarsened` with float sums: nearly all masks on 8-bit samples. coarsened.cuh describes
// the kernel.
#include "kernels/cuda/coarsened/coarsened.cuh"

namespace convolve {

const Variant kCoarsenedVariant =
    CoarsenedVariant<select_kernel<Arithmetic<Accumulator::kFloat32>>>::table();

}  // namespace convolve
