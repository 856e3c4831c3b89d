// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `coarsened` with sums in double and in several digits (kWide): masks whose sums neither
// float nor int32 holds. coarsened.cuh describes the kernel.
#include "kernels/cuda/coarsened/coarsened.cuh"

namespace convolve {
namespace {

CoarsenedKernel select_wide(const LaunchArguments& arguments) {
  const int width = arguments.mask.width;
  if (arguments.accumulator == Accumulator::kFloat64)
    return kernel_of<AnyMask<4, false>, Arithmetic<Accumulator::kFloat64>>(width);
  return kernel_of<AnyMask<1, false>, Arithmetic<Accumulator::kWide>>(width);
}

}  // namespace

const Variant kCoarsenedWideVariant = CoarsenedVariant<select_wide>::table();

}  // namespace convolve
