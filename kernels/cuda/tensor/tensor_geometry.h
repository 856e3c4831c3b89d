// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the blocks of kernel `tensor` stand in the planes of a frame, and what the columns at their
// edges need. For planes whose memory and size are known.
#pragma once

#include <cstdint>

#include "kernels/cuda/tensor/tensor.h"

namespace convolve {

/// Finds out if `plane`, whose memory is known, can be stored in words.
void find_word_stores(TensorPlane& plane);

/// Finds the inner columns of `plane`, whose memory and size are known.
void find_inner_tile_columns(TensorPlane& plane);

/// Has `plane`, whose memory and size are known, taken in pairs, or if its samples have two bytes
/// in octets. `sixteen`: all planes lie on 16 bytes, as inner columns must. `large`: as large
/// quads see it.
void prepare_pairs(TensorPlane& plane, Border border, bool aligned16, bool large);

/// The same for packed 4:2:2, of which all columns are inner ones.
void prepare_packed_pairs(TensorPlane& plane, Border border);

/// True if what is read and written lies on 16 bytes.
bool aligned_to_16(const TensorArguments& arguments);

/// True if the samples that ghosts at the sides of `plane` are lie in the ghosts' tile, all others
/// of which can be loaded by eights.
bool ghosts_in_tile(const TensorPlane& plane, const TensorTile& tile, bool packed, Border border);

/// Gives all planes their tiles of so many samples, of planes with one component and with several,
/// and rows; returns how many there are.
int assign_tiles(TensorArguments& arguments, int single_width, int width, int rows);

/// Gives all planes their blocks, in as few steps as have all blocks run at once: a second wave
/// would take as long again. Returns how many blocks there are.
int assign_steps(TensorArguments& arguments, int resident_blocks, int most_steps);

/// The same for pairs. Where warps would march far with one digit, they take short ways in several
/// waves, and have the L2 cache fetch all of it while others multiply: 10.5 us for 11.1 in one wave
/// (NV12, 4K, 3x3, H100), but 7.8 for 7.2 where one wave is four steps (GRAY8). In one wave all ask
/// at once, and all four steps of rows take 7.5.
///
/// Pixels of three and four bytes bring the rows of four steps before all else, and march no
/// further: 24.8 us for 29.7 in eight steps (BGR, 4K, 5x5, H100), RGBA with two digits 35.7
/// for 38.7.
int assign_pair_steps(TensorArguments& arguments, int resident_blocks);

}  // namespace convolve
