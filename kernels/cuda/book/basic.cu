// SPDX-License-Identifier: LGPL-2.1-or-later
// The basic kernel: one thread for each output, picture and mask from global memory.
//
// PMPP 7.2, Fig. 7.6, taken to two dimensions as exercise 8 asks (one_output.cuh). Each of the K x
// K steps loads a cell and a weight, 8 bytes for one multiplication and one addition: 0.25
// floating-point operations a byte, so the memory system sets the pace, not the arithmetic. Every
// kernel beside this one removes some of these loads.
//
// Neighbouring threads do share what they load, through L1 and L2: the caches that the chapter's
// first GPUs did not have, and the reason why this kernel is not as slow as the ratio says.
#include "kernels/cuda/book/one_output.cuh"

namespace convolve {
namespace {

template <class Arithmetic, class Stored>
__global__ void basic(const __grid_constant__ LaunchArguments arguments) {
  make_one_output<Arithmetic, Stored, GlobalStorage>(arguments);
}

Kernel select(const LaunchArguments& arguments) {
  return select_types(arguments, [](auto arithmetic, auto stored) -> Kernel {
    return basic<decltype(arithmetic), decltype(stored)>;
  });
}

}  // namespace

const Variant kBasicVariant = {KernelKind::kBasic, false, nullptr, load_one_output<select>,
                               launch_one_output<select>};

}  // namespace convolve
