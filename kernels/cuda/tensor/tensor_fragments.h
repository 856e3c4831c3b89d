// SPDX-License-Identifier: LGPL-2.1-or-later
// The weights as tensor cores take them: fragments of operand A of mma.m16n8k32, made on the host.
// A fragment is a warp's share of operand A: 32 lanes x 4 words of four 8-bit digits.
//
// In PTX's layout word w of lane l holds row l / 4 + 8 (w % 2) of operand A, positions 4 (l % 4) +
// 16 (w / 2) to 4 (l % 4) + 16 (w / 2) + 3. Each form below says which output a row is and which
// sample a position is; these numberings are chosen so that a lane's words of operand B are
// adjacent bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/shape/tensor_windows.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

/// Fragments of tensor-sliding and tensor-columns: for each digit, the highest first, each segment
/// and each row of the mask; and one more fragment of zeros, as the kernel loads one ahead.
///
/// A row of operand A belongs to one byte of a column of 16, and holds a row of the mask where that
/// byte finds it in its window: operand A is a Toeplitz matrix. Row m is byte 2 m for m < 8 and 2
/// (m - 8) + 1 above, so that a lane gets neighbouring outputs; position k is byte 8 (k / 4 % 4) +
/// k % 4 + 4 (k / 16) of the window, so that a lane's share of operand B is 8 adjacent bytes.
std::vector<std::uint32_t> tensor_fragments(const PlaneFormat& plane, const BytePhases& phases,
                                            const Mask& mask, const DigitWeights& weights);

/// Fragments of pairs (pair_window()): for each digit, the highest first, and each row group.
///
/// Row m of operand A is output row m % 8, byte m / 8. Position k is byte k % 4 + 4 (k / 16) of the
/// window in picture row k / 4 % 4 of the row group.
std::vector<std::uint32_t> pair_fragments(const PlaneFormat& plane, const BytePhases& phases,
                                          const Mask& mask, const DigitWeights& weights);

/// Fragments of quads (quad_window()): for each digit, the highest first, each word of the window
/// and each pair of adjacent row groups.
///
/// Row m of operand A is output row m % 4, byte 2 (m / 4 % 2) + m / 8. Position k of the pair that
/// begins with row group g is byte k % 4 of the word in picture row k / 4 % 4 of row group g + k /
/// 16.
std::vector<std::uint32_t> quad_fragments(const Mask& mask, const DigitWeights& weights);

/// Fragments of octets (octet_window()). With sparse products 32 words come first, a word of
/// metadata for each lane: which two weights of each four the fragments hold (PTX, mma.sp). Then,
/// for each of kMostDigits digits, the lowest first, and each row group that two output rows read,
/// there is a fragment, or without sparse products there are two, one for each half of the 16
/// samples of a window. Digits that the weights lack are 0, so that kernels read as many as they
/// like.
///
/// Row m of operand A is output row m / 8, sample m % 8. Position k of half h is sample 8 h + 4 (k
/// / 16) + k % 4 of the window, which begins four samples before the outputs, in picture row k / 4
/// % 4 of the row group; the first row group begins with the first row that output row 0 reads.
/// With sparse products k is below 64, and position k is sample 2 (k / 16) + k % 2 + 8 (k / 2 % 2).
std::vector<std::uint32_t> octet_fragments(const OctetWindow& window, const Mask& mask,
                                           const DigitWeights& weights);

/// Fragments of tiles (tile_window()): for each digit, the highest first, each segment and each
/// window below each other; and one more fragment of zeros, as the kernel loads one ahead.
///
/// Rows of operand A are those of pairs; position k is sample b of picture row r of the window,
/// where 8 (k / 4 % 4) + k % 4 + 4 (k / 16) = 32 / window_rows r + b.
std::vector<std::uint32_t> tile_fragments(const Mask& mask, const DigitWeights& weights);

/// Operand A of warpgroups (warpgroup_window()), as shared memory holds it: for each digit, the
/// highest first, each pair of units, the odd unit last, and each row ky of the mask from the last
/// to the first, with the rows of zeros that warpgroup_mask_rows() counts, kWarpgroupMaskRowBytes.
///
/// Byte 256 h + 128 s + 16 m + b of a row is the weight by which output 2 m + h of a block reads
/// sample 16 s + b of the pair, or of the odd unit sample b in row ky + s.
std::vector<std::uint32_t> warpgroup_fragments(const Mask& mask, const DigitWeights& weights);

}  // namespace convolve
