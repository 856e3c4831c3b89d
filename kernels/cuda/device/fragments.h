// SPDX-License-Identifier: LGPL-2.1-or-later
// The size of a fragment of operand A, in which the host hands weights to tensor cores. Which
// weight each word has is up to the family of kernels; PTX ISA, mma, gives the layout of the
// product.
#pragma once

namespace convolve {

inline constexpr int kFragmentLanes = 32;  ///< The lanes of a warp, which load a fragment together.
inline constexpr int kFragmentWords = 4;   ///< Words of a lane, each of four weights.

}  // namespace convolve
