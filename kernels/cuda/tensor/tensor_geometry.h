// SPDX-License-Identifier: LGPL-2.1-or-later
// The launch geometry of kernel `tensor`: which tile columns of a plane are inner ones, how ghosts
// at its sides are made, and which blocks filter what. For planes whose memory and size are known.
#pragma once

#include <cstdint>

#include "kernels/cuda/tensor/tensor.h"

namespace convolve {

/// Sets TensorStores::plain and kept: whether rows can be stored in whole words.
void find_word_stores(TensorPlane& plane);

/// Sets the inner and the edge tile columns of `plane` for tensor-sliding and tensor-columns.
void find_inner_tile_columns(TensorPlane& plane);

/// Sets what pairs and quads, or of samples of two bytes octets, need to know of `plane`: windows,
/// ghosts and tile columns. `aligned16`: all planes lie on 16 bytes, which inner tile columns need.
/// `large`: for large quads.
void prepare_pairs(TensorPlane& plane, Border border, bool aligned16, bool large);

/// Sets the same for packed 4:2:2, all of whose tile columns are inner ones.
void prepare_packed(TensorPlane& plane, Border border);

/// True if all planes, source and destination, lie on 16 bytes.
bool aligned_to_16(const TensorArguments& arguments);

/// True if warpgroups can make the ghosts at the sides of `plane` inside the tile: the samples that
/// these ghosts repeat lie in the same tile, and all other samples can be loaded by eights.
bool ghosts_in_tile(const TensorPlane& plane, const TensorTile& tile, bool packed, Border border);

/// Numbers the tiles of all planes, which have `rows` rows and are `single_width` samples wide in
/// planes of one component and `width` elsewhere. Returns how many tiles there are.
int assign_tiles(TensorArguments& arguments, int single_width, int width, int rows);

/// Gives all planes their blocks, in the fewest steps a warp, up to `most_steps`, with which all
/// blocks run at once: a second wave of blocks would take as long again. Returns how many blocks
/// there are.
int assign_steps(TensorArguments& arguments, int resident_blocks, int most_steps);

/// The same for pairs, quads and octets. Where warps would slide far down with one digit, they take
/// a few steps in several waves of blocks, and prefetch all their rows to the L2 cache while other
/// blocks multiply: 10.5 us for 11.1 in one wave (NV12, 4K, 3x3, H100). Where one wave takes four
/// steps or fewer it stays one: 7.2 us for 7.8 (GRAY8). In one wave all warps load at once, and
/// prefetching the rows of all four steps takes 7.5 us.
///
/// Warps of pixels of three and four bytes prefetch the rows of four steps, and never slide
/// further: 24.8 us for 29.7 in eight steps (BGR, 4K, 5x5, H100), RGBA with two digits 35.7 for
/// 38.7.
int assign_pair_steps(TensorArguments& arguments, int resident_blocks);

}  // namespace convolve
