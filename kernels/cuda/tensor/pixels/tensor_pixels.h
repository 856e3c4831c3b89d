// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of tensor_pixels.cu: pairs (tensor_pairs.cu) of pixels of three or four bytes.
#pragma once

#include "kernels/cuda/tensor/tensor.h"

namespace convolve {

/// Pixels in a row of a warp's tile.
inline constexpr int kPixelTile = 64;

using PairsKernel = void (*)(TensorArguments);

/// The kernel for `a`, whose planes all have as many TensorPlane::parts, 3 or 4: with as many
/// threads as others for pairs, and no dynamic shared memory.
PairsKernel select_tensor_pixels(const TensorArguments& a, Codes codes);

}  // namespace convolve
