// SPDX-License-Identifier: LGPL-2.1-or-later
// The mask as tensor cores read it: operand A of mma.m16n8k32, made on the host.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/shape/tensor_windows.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

/// Fragments of 32 lanes x 4 words: for each digit, the highest first, each segment and each row of
/// the mask; and one more of zeros, as the kernel reads one ahead.
///
/// A row of operand A belongs to one byte of a column of 16 and holds the mask's row as that byte
/// sees it: a Toeplitz matrix. Row m is byte 2 m for m < 8 and 2 (m - 8) + 1 above, so that a lane
/// gets neighbours; position k is byte 8 (k / 4 % 4) + k % 4 + 4 (k / 16) of the window, so that a
/// lane's part of operand B is 8 adjacent bytes.
std::vector<std::uint32_t> tensor_fragments(const PlaneFormat& plane, const BytePhases& phases,
                                            const Mask& mask, const DigitWeights& weights);

/// Fragments for pair_window(): for each digit, the highest first, and each step.
///
/// Row m of operand A is output row m % 8, byte m / 8. Position k is byte k % 4 + 4 (k / 16) of the
/// window in picture row k / 4 % 4 of the group.
std::vector<std::uint32_t> pair_fragments(const PlaneFormat& plane, const BytePhases& phases,
                                          const Mask& mask, const DigitWeights& weights);

/// Fragments for quad_window(): for each digit, the highest first, each word of the window and each
/// pair of adjacent groups.
///
/// Row m of operand A is output row m % 4, byte 2 (m / 4 % 2) + m / 8. Position k of pair g is byte
/// k % 4 of the word in row k / 4 % 4 of group g + k / 16 of four picture rows.
std::vector<std::uint32_t> quad_fragments(const Mask& mask, const DigitWeights& weights);

/// Fragments for octet_window(): for each of kMostDigits digits, the lowest first (kernels read as
/// many as they multiply, and those that a weight lacks are 0), and each group that two output rows
/// see; without sparse products for each half of the 16 samples of a window, too, else after 32
/// words of metadata, which say which weights the fragments have.
///
/// Row m of operand A is output row m / 8, sample m % 8. Position k of half h is sample
/// 8 h + 4 (k / 16) + k % 4 of the window, which begins four samples before the outputs, in picture
/// row k / 4 % 4 of the group, of which the first is the first that output row 0 sees. Of sparse
/// products it is sample 2 (k / 16) + k % 2 + 8 (k / 2 % 2), k below 64.
std::vector<std::uint32_t> octet_fragments(const OctetWindow& window, const Mask& mask,
                                           const DigitWeights& weights);

/// Fragments for tile_window(): for each digit, the highest first, each window and each step; and
/// one more of zeros, as the kernel reads one ahead.
///
/// Rows of operand A as for pairs; position k is sample b of picture row r of the group, where
/// 8 (k / 4 % 4) + k % 4 + 4 (k / 16) = 32 / group_rows r + b.
std::vector<std::uint32_t> tile_fragments(const Mask& mask, const DigitWeights& weights);

/// Operand A for warpgroup_window(), of products of warpgroups: for each digit, the highest first,
/// each pair of units, the odd unit last, and each row ky of the mask from the last to the first,
/// with rows of zeros as warpgroup_mask_rows() says, kWarpgroupMaskRowBytes.
///
/// Of these, 256 h + 128 s + 16 m + b is the weight by which output 2 m + h of a block sees sample
/// 16 s + b of the pair, or of the odd unit sample b in row ky + s.
std::vector<std::uint32_t> warpgroup_fragments(const Mask& mask, const DigitWeights& weights);

}  // namespace convolve
