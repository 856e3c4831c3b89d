// SPDX-License-Identifier: LGPL-2.1-or-later
// The windows of kernel `tensor`: which bytes of the picture a product of the tensor cores reads
// for its outputs, by columns, pairs, quads and octets. A window is the part of a picture row that
// holds all taps of the outputs that one product makes there. Pure, so that the planner can count
// products.
#pragma once

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/shape/tensor_tiles.h"

namespace convolve {

/// A column is 16 adjacent output bytes: one of the eight columns of operand B.
inline constexpr int kColumnBytes = 16;
/// Bytes of a picture row that one product of mma.m16n8k32 takes for a column.
inline constexpr int kWindowBytes = 32;

/// Pixels in a row of the tile of a warp of tensor_pixels.cu, which takes pixels of three or four
/// bytes.
inline constexpr int kPixelTileWidth = 64;

/// Rows of the tallest mask that is filtered with a sliding window of rows: warps go down the
/// picture and keep the rows of the window in registers, so that each picture row is loaded once.
inline constexpr int kTensorSlidingRows = 17;

/// The windows of a column. A mask that reaches further than one window takes several segments.
struct TensorWindow {
  int left = 0;  ///< Bytes from the first window to the column: a multiple of 8, so that lanes load
                 ///< 8 aligned bytes.
  int segments = 1;  ///< Windows of kWindowBytes side by side that cover the mask.
};
TensorWindow tensor_window(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask);

/// Rows of the tallest mask that pairs serve.
inline constexpr int kPairMaskRows = 9;

/// Row groups that 8 output rows of pairs read: with masks up to 5 rows, and up to kPairMaskRows. A
/// row group is four adjacent picture rows, of which each of four neighbouring lanes holds one.
inline constexpr int kPairRowGroups[2] = {3, 4};

/// Bytes of a pair's window.
inline constexpr int kPairWindowBytes = 8;
/// Bytes of the window before the pair; one less where PairWindow::shift is 1.
inline constexpr int kPairLeft = 4;

/// A plane of one 8-bit component: what each component of another plane is once it is
/// deinterleaved.
struct SingleComponentPlane {
  PlaneFormat plane;
  BytePhases phases;
  SingleComponentPlane();
};

/// The windows of pairs: the outputs at bytes x and x + 1 of eight rows read 8 bytes, from x - 4 +
/// shift on, in each picture row of some row groups.
struct PairWindow {
  /// One of kPairRowGroups; 0 if the mask is too high, or reaches beyond the window.
  int row_groups = 0;
  int shift = 0;  ///< 0 or 1.
  /// How many components are deinterleaved before the products, because their interleaved taps
  /// would reach beyond the window; 1 for none. Windows then count samples of one component. Of
  /// four components one may be copied. Packed 4:2:2 has 2: luma and chroma.
  int deinterleaved = 1;
};
PairWindow pair_window(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask);

/// The windows of quads: four adjacent outputs of four rows read some row groups, and in each
/// picture row some words of four bytes, from 4 (words / 2) bytes before the outputs on.
struct QuadWindow {
  int row_groups = 0;
  int words = 0;

  /// How many samples the mask may reach to either side of its anchor.
  constexpr int reach() const { return words / 2 * 4; }
  /// Rows of the tallest mask: the last of four output rows reads up to the last row of the groups.
  constexpr int rows() const { return 4 * row_groups - 3; }
};
inline constexpr QuadWindow kQuadWindow = {3, 3}, kLargeQuadWindow = {4, 5};
inline constexpr int kQuadWords = kQuadWindow.words;

/// The smaller of the two windows that holds the mask; no row groups if neither does.
QuadWindow quad_window(const Mask& mask);

/// How many components quads filter apart: 1, or as many as are interleaved and deinterleaved
/// before the products, which for packed 4:2:2 is 2; 0 if quads do not serve the plane, or the mask
/// is too large.
int quad_components(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask);

/// True if the rows of `plane`, packed 4:2:2, are whole columns, as tensor_packed.cu takes them,
/// and the last tile of a row has at least two columns.
bool packed_columns_serve(const PlaneFormat& plane);

/// How many samples a mask may reach to either side of its anchor in octets, which take planes of
/// one or two components of two bytes.
inline constexpr int kOctetReach = 4;

/// The windows of octets: two output rows of eight adjacent samples read 16 samples, from
/// kOctetReach before them on, in each picture row of some row groups.
struct OctetWindow {
  /// Row groups that one product reads for its two output rows, 1 to 3; 0 if octets do not serve
  /// this plane or this mask.
  int product_row_groups = 0;
  int row_groups = 0;  ///< Row groups that eight output rows read, 3 or 4.
  /// Products are sparse (mma.sp): of the samples n, n + 1, n + 8 and n + 9 an output under a mask
  /// up to eight samples wide reads two at most, so that operand A holds two of four weights.
  bool sparse = false;
};

/// Rows of the tallest mask under which two output rows read so many row groups, and eight so many.
constexpr int octet_mask_rows(int product_row_groups, int row_groups) {
  // With the tallest mask the last of two output rows reads the last row of their row groups, and
  // the last of eight output rows the last row of all.
  const int of_two = 4 * product_row_groups - 1, of_eight = 4 * row_groups - 7;
  return of_two < of_eight ? of_two : of_eight;
}

/// `sparse_products`: the device has sparse products; without them the window is always the
/// largest.
OctetWindow octet_window(const PlaneFormat& plane, const Mask& mask, bool sparse_products);

}  // namespace convolve
