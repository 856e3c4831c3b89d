// SPDX-License-Identifier: LGPL-2.1-or-later
// The mask as tensor cores read it: operand A of mma.m16n8k32, made on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/byte_phases.h"
#include "kernels/core/digits.h"
#include "kernels/core/mask.h"
#include "kernels/core/view.h"
#include "kernels/cuda/tensor.h"

namespace convolve {

/// How far the windows of one plane reach.
struct TensorWindow {
  int left = 0;      ///< Bytes before a column, a multiple of 8, so that windows lie on 8 bytes.
  int segments = 1;  ///< Windows of 32 bytes from there on.
};
TensorWindow tensor_window(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask);

/// Fragments of 32 lanes x 4 words: for each digit, the highest first, each segment and each row of
/// the mask; and one more of zeros, as the kernel reads one ahead.
///
/// A row of operand A belongs to one byte of a column of 16 and holds the mask's row as that byte
/// sees it: a Toeplitz matrix. Row m is byte 2 m for m < 8 and 2 (m - 8) + 1 above, so that a lane
/// gets neighbours; position k is byte 8 (k / 4 % 4) + k % 4 + 4 (k / 16) of the window, so that a
/// lane's part of operand B is 8 adjacent bytes.
std::vector<std::uint32_t> tensor_fragments(const PlaneFormat& plane, const BytePhases& phases,
                                            const Mask& mask, const DigitWeights& weights);

/// How tensor_pairs.cu sees a picture: groups of four picture rows, of which the outputs at bytes x
/// and x + 1 of eight rows see 8 bytes each, from x - 4 + shift on.
struct PairWindow {
  int steps =
      0;  ///< Groups, one of kPairSteps; 0 if the mask is too high, or spans too many bytes.
  int shift = 0;  ///< 0 or 1.
};
PairWindow pair_window(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask);

/// Fragments for it: for each digit, the highest first, and each step.
///
/// Row m of operand A is output row m % 8, byte m / 8. Position k is byte k % 4 + 4 (k / 16) of the
/// window in picture row k / 4 % 4 of the group.
std::vector<std::uint32_t> pair_fragments(const PlaneFormat& plane, const BytePhases& phases,
                                          const Mask& mask, const DigitWeights& weights);

/// Fragments for tile_window(): for each digit, the highest first, each window and each step; and
/// one more of zeros, as the kernel reads one ahead.
///
/// Rows of operand A as for pairs; position k is sample b of picture row r of the group, where
/// 8 (k / 4 % 4) + k % 4 + 4 (k / 16) = 32 / group_rows r + b.
std::vector<std::uint32_t> tile_fragments(const Mask& mask, const DigitWeights& weights);

}  // namespace convolve
