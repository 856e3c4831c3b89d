// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `coarsened` in float: nearly all masks on samples of 8 bits.
#include "kernels/cuda/coarsened/coarsened.cuh"

namespace convolve {

const Variant kCoarsenedVariant =
    CoarsenedVariant<select_kernel<Arithmetic<Accumulator::kFloat32>>>::table();

}  // namespace convolve
