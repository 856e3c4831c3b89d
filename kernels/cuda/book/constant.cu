// SPDX-License-Identifier: LGPL-2.1-or-later
// The basic kernel with its mask in constant memory: PMPP 7.3, Fig. 7.8, in two dimensions.
//
// The mask is small, does not change while the grid runs, and all threads read its weights in the
// same order: what constant memory is made for. Its cache serves a whole warp with one broadcast,
// so a step's 8 bytes of DRAM traffic become 4 and the ratio doubles to 0.5 operations a byte.
// Nothing else differs from basic.cu, and the difference between the two is the lesson.
#include "kernels/cuda/book/one_output.cuh"
#include "kernels/cuda/device/bank.cuh"

namespace convolve {
namespace {

template <class Arithmetic, class Stored>
__global__ void constant(const __grid_constant__ LaunchArguments arguments) {
  make_one_output<Arithmetic, Stored, ConstantStorage>(arguments);
}

Kernel select(const LaunchArguments& arguments) {
  return select_types(arguments, [](auto arithmetic, auto stored) -> Kernel {
    return constant<decltype(arithmetic), decltype(stored)>;
  });
}

}  // namespace

const Variant kConstantVariant = {KernelKind::kConstant, true, upload_mask, load_one_output<select>,
                                  launch_one_output<select>};

}  // namespace convolve
