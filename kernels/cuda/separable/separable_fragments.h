// SPDX-License-Identifier: LGPL-2.1-or-later
// The factors of a mask as tensor cores read them: operand A of mma.m16n8k32, made on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/separable_digits.h"

namespace convolve {

/// Fragments of 32 lanes x 4 words: for each chunk of 32 samples and for two more, for each half of
/// 32 outputs, and for each digit, the higher first. Rows and columns of the operands are permuted
/// so that neither samples nor sums need be moved between lanes:
///
/// Along a row, row m of operand A in half p belongs to output 8 (m % 8 / 2) + 4 p + 2 (m / 8) + m
/// % 2, so that a lane ends up with eight adjacent outputs; and position k belongs to sample 8 (k /
/// 4 % 4) + k % 4 + 4 (k / 16) of the chunk, so that a lane's part of operand B is eight adjacent
/// samples.
///
/// Down a column, row m in half p is output 16 p + m, and position k is the row sum 2 (k / 4 % 4) +
/// k % 2 + 8 (k / 2 % 2) + 16 (k / 16): the results of two products of the row pass are, in the
/// same lanes, the lane's part of operand B.
///
/// The two chunks behind the last are zeros. A warp that makes 64 outputs multiplies the second 32
/// of them one chunk behind the first, and the kernels load one chunk ahead.
struct SeparableFragments {
  std::vector<std::uint32_t> words;
  std::size_t column = 0;  ///< Index of the first word of the column's fragments.
};
SeparableFragments separable_fragments(const Mask& mask, const SeparableDigits& digits);

}  // namespace convolve
