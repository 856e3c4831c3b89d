// SPDX-License-Identifier: LGPL-2.1-or-later
// Form tensor-octets: sums of whole numbers (tensor_octets.cuh).
#include "kernels/cuda/tensor/octets/double_octets.cuh"
#include "kernels/cuda/tensor/octets/tensor_octets.cuh"

namespace convolve {
namespace {

TensorKernel select_kernel(const TensorArguments& a, WideQuantiser quantiser) {
  if (quantiser != WideQuantiser::kFloat) return select_double_octets(a, quantiser);
  return select_window(a, [&](auto products) {
    return select_octet_digits<decltype(products), WideQuantiser::kFloat>(a);
  });
}

/// Scale and bias decide which quantiser a frame needs, so all of them are loaded.
cudaError_t load(const TensorArguments& arguments) {
  for (const WideQuantiser quantiser :
       {WideQuantiser::kFloat, WideQuantiser::kDouble, WideQuantiser::kGeneral})
    if (const cudaError_t error = load_kernel(select_kernel(arguments, quantiser), 0);
        error != cudaSuccess)
      return error;
  return cudaSuccess;
}

cudaError_t resident(const TensorArguments& arguments, int* blocks) {
  return resident_warps(select_kernel(arguments, WideQuantiser::kFloat), blocks);
}

cudaError_t launch(const TensorArguments& arguments, cudaStream_t stream) {
  return launch_warps(select_kernel(arguments, arguments.wide_quantiser), arguments, 0, stream);
}

}  // namespace

const TensorLauncher kTensorOctetsLauncher = {load, resident, launch};

}  // namespace convolve
