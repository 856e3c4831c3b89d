// SPDX-License-Identifier: LGPL-2.1-or-later
// The factors of a mask as tensor cores read them: operand A of mma.m16n8k32, made on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/separable_digits.h"

namespace convolve {

/// Fragments of 32 lanes x 4 words: for each chunk of 32 samples and two more, each half of 32
/// outputs and each digit, the higher first.
///
/// Along a row, row m of operand A in half p belongs to output
/// 8 (m % 8 / 2) + 4 p + 2 (m / 8) + m % 2, so that a lane ends up with eight adjacent outputs; and
/// position k to sample 8 (k / 4 % 4) + k % 4 + 4 (k / 16) of the chunk, so that its part of
/// operand B is eight adjacent samples.
///
/// Down a column, row m in half p is output 16 p + m, and position k the row sum
/// 2 (k / 4 % 4) + k % 2 + 8 (k / 2 % 2) + 16 (k / 16): what a lane has of two products of the
/// row pass is its part of operand B as it is.
///
/// The chunks behind the last are of zeros: for 64 outputs, of which the second half is a chunk
/// behind, and because the kernels read one ahead.
struct SeparableFragments {
  std::vector<std::uint32_t> words;
  std::size_t column = 0;  ///< Where those of the column begin.
};
SeparableFragments separable_fragments(const Mask& mask, const SeparableDigits& digits);

}  // namespace convolve
