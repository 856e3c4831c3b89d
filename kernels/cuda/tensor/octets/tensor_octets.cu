// SPDX-License-Identifier: LGPL-2.1-or-later
// Form tensor-octets: sums of whole numbers (tensor_octets.cuh).
#include "kernels/cuda/tensor/octets/tensor_octets.cuh"

namespace convolve {
namespace {

template <class Products, WideQuantiser kQuantiser>
TensorKernel select_digits(const TensorArguments& a) {
  // Planes of two components come with planes of one (P010), which take the same kernel. A kernel
  // for planes of one alone would be no faster.
  switch (a.digits) {
    case 1:
      return tensor_octets_kernel<typename Products::template Sums<kQuantiser, 1>, 2>;
    case 2:
      return tensor_octets_kernel<typename Products::template Sums<kQuantiser, 2>, 2>;
    default:
      return tensor_octets_kernel<typename Products::template Sums<kQuantiser, 3>, 2>;
  }
}

TensorKernel select_kernel(const TensorArguments& a, WideQuantiser quantiser) {
  return select_window(a, [&](auto products) -> TensorKernel {
    using Products = decltype(products);
    if (quantiser == WideQuantiser::kFloat)
      return select_digits<Products, WideQuantiser::kFloat>(a);
    if (quantiser == WideQuantiser::kDouble)
      return select_digits<Products, WideQuantiser::kDouble>(a);
    // This rarest quantiser takes any weights as three digits, of which the higher may be 0.
    return tensor_octets_kernel<
        typename Products::template Sums<WideQuantiser::kGeneral, kMostDigits>, 2>;
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
