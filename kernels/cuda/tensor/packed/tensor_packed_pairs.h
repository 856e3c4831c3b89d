// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of tensor_packed_pairs.cu: pairs (tensor_pairs.cu) of packed 4:2:2, in a frame of one
// plane.
#pragma once

#include "kernels/cuda/tensor/tensor.h"

namespace convolve {

/// As load_tensor_pairs() and those behind it. All columns are inner ones.
cudaError_t load_tensor_packed_pairs(const TensorArguments& arguments);
cudaError_t resident_tensor_packed_pairs_blocks(const TensorArguments& arguments, int* blocks);
cudaError_t launch_tensor_packed_pairs(const TensorArguments& arguments, cudaStream_t stream);

}  // namespace convolve
