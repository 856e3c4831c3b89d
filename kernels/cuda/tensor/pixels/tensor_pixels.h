// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernels of tensor_pixels.cu: pairs (tensor_pairs.cu) of pixels of three or four bytes.
#pragma once

#include "kernels/cuda/tensor/tensor.h"

namespace convolve {

/// Pixels in a row of a warp's tile.
inline constexpr int kPixelTile = 64;

}  // namespace convolve
