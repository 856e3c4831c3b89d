// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/tensor/octets/double_octets.cuh"

#include "kernels/cuda/tensor/octets/tensor_octets.cuh"

namespace convolve {

TensorKernel select_double_octets(const TensorArguments& arguments, WideQuantiser quantiser) {
  return select_window(arguments, [&](auto products) -> TensorKernel {
    using Products = decltype(products);
    if (quantiser == WideQuantiser::kDouble)
      return select_octet_digits<Products, WideQuantiser::kDouble>(arguments);
    // This rarest quantiser takes any weights as three digits, of which the higher may be 0.
    return tensor_octets_kernel<
        typename Products::template Sums<WideQuantiser::kGeneral, kMostDigits>, 2>;
  });
}

}  // namespace convolve
