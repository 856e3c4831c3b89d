// SPDX-License-Identifier: LGPL-2.1-or-later
// Form tensor-split-octets: split sums (tensor_octets.cuh, split_digits.h).
#include <algorithm>

#include "kernels/cuda/tensor/octets/tensor_octets.cuh"

namespace convolve {
namespace {

TensorKernel select_kernel(const TensorArguments& a) {
  int components = 1;
  for (int p = 0; p < a.plane_count; ++p)
    components = std::max(components, a.plane[p].period);
  return select_window(a, [&](auto products) -> TensorKernel {
    using Sums = typename decltype(products)::template Sums<WideQuantiser::kSplit, kMostDigits>;
    return components == 1 ? tensor_octets_kernel<Sums, 1> : tensor_octets_kernel<Sums, 2>;
  });
}

cudaError_t load(const TensorArguments& arguments) {
  return load_kernel(select_kernel(arguments), 0);
}

cudaError_t resident(const TensorArguments& arguments, int* blocks) {
  return resident_warps(select_kernel(arguments), blocks);
}

cudaError_t launch(const TensorArguments& arguments, cudaStream_t stream) {
  return launch_warps(select_kernel(arguments), arguments, 0, stream);
}

}  // namespace

const TensorLauncher kTensorSplitOctetsLauncher = {load, resident, launch};

}  // namespace convolve
