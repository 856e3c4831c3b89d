// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernels of form tensor-octets whose codes are made in doubles.
#pragma once

#include "kernels/cuda/tensor/tensor.h"
#include "kernels/cuda/tensor/tensor_launch.cuh"

namespace convolve {

/// The kernel for the window and the digits of `arguments` by kDouble or kGeneral.
TensorKernel select_double_octets(const TensorArguments& arguments, WideQuantiser quantiser);

}  // namespace convolve
