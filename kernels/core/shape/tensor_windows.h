// SPDX-License-Identifier: LGPL-2.1-or-later
// What the products of the CUDA kernel tensor see of a picture: windows of columns, pairs, quads
// and octets. Pure, so that the planner can count on it.
#pragma once

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/shape/tensor_tiles.h"

namespace convolve {

inline constexpr int kColumnBytes = 16;
inline constexpr int kWindowBytes = 32;

/// Pixels in a row of the tile of a warp of tensor_pixels.cu, which takes pixels of three or four
/// bytes.
inline constexpr int kPixelTileWidth = 64;

/// Rows of the tallest mask that is filtered with a sliding window: each picture row is
/// loaded once.
inline constexpr int kTensorSlidingRows = 17;

/// How far the windows of columns of 16 bytes reach.
struct TensorWindow {
  int left = 0;      ///< Bytes before a column, a multiple of 8, so that windows lie on 8 bytes.
  int segments = 1;  ///< Windows of 32 bytes from there on.
};
TensorWindow tensor_window(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask);

/// Rows of the tallest mask that tensor_pairs.cu serves.
inline constexpr int kPairMaskRows = 9;

/// Groups of four picture rows that it takes for 8 output rows: of masks up to 5 rows, and of
/// others.
inline constexpr int kPairRowGroups[2] = {3, 4};

/// Bytes of a pair's window, and of them before the output, or one less.
inline constexpr int kPairWindowBytes = 8;
inline constexpr int kPairLeft = 4;

/// A component of bytes with none beside it.
struct SingleComponentPlane {
  PlaneFormat plane;
  BytePhases phases;
  SingleComponentPlane();
};

/// How tensor_pairs.cu sees a picture: groups of four picture rows, of which the outputs at bytes x
/// and x + 1 of eight rows see 8 bytes each, from x - 4 + shift on.
struct PairWindow {
  int row_groups =
      0;  ///< Groups, one of kPairRowGroups; 0 if the mask is too high, or spans too many bytes.
  int shift = 0;  ///< 0 or 1.
  /// Above 1: the components, as many as a pixel has bytes, are parted first, as their bytes would
  /// span too much; then bytes, above, are samples of one. Of four, one is copied. So it is
  /// with the components of packed 4:2:2.
  int deinterleaved = 1;
};
PairWindow pair_window(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask);

/// What four output rows see in quads: groups of four picture rows, and of each words of four
/// bytes, from 4 (words / 2) before their own on.
struct QuadWindow {
  int row_groups = 0;
  int words = 0;

  /// The mask may reach so many samples to either side.
  constexpr int reach() const { return words / 2 * 4; }
  /// Of the tallest mask: the last of four rows sees it.
  constexpr int rows() const { return 4 * row_groups - 3; }
};
inline constexpr QuadWindow kQuadWindow = {3, 3}, kLargeQuadWindow = {4, 5};
inline constexpr int kQuadWords = kQuadWindow.words;

/// The lesser of these that serves the mask; no groups for none.
QuadWindow quad_window(const Mask& mask);

/// Components that quads find in bytes with these phases: one, or as many as lie in turn and are
/// parted first, as two are of packed 4:2:2; 0 if they do not serve it, or the mask is too large.
int quad_components(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask);

/// True if the rows of `plane`, packed 4:2:2, are whole columns, as tensor_packed_pairs.cu takes
/// them, and the last of them is not alone in its 128 bytes.
bool packed_columns_serve(const PlaneFormat& plane);

/// Samples to either side of an output that a mask may reach in tensor_octets.cu, which takes
/// planes of one or two components of two bytes.
inline constexpr int kOctetReach = 4;

/// How it sees a picture, in groups of four rows.
struct OctetWindow {
  int product_row_groups = 0;  ///< Groups that two output rows see, 1 to 3; 0 if it serves not this
                               ///< plane, or not this mask.
  int row_groups = 0;          ///< That eight output rows see, 3 or 4.
  /// Products are sparse (mma.sp): of four samples two and two, eight samples further, an output of
  /// a mask up to eight samples wide sees two at most.
  bool sparse = false;
};

/// Tallest mask of which two output rows see so many row_groups, and eight so many.
constexpr int octet_mask_rows(int product_row_groups, int row_groups) {
  // The last of two output rows sees the last of their groups' rows, that of eight the last of all.
  const int of_two = 4 * product_row_groups - 1, of_eight = 4 * row_groups - 7;
  return of_two < of_eight ? of_two : of_eight;
}

/// sparse_products: the device has them. Others always take the most groups.
OctetWindow octet_window(const PlaneFormat& plane, const Mask& mask, bool sparse_products);

}  // namespace convolve
