// SPDX-License-Identifier: LGPL-2.1-or-later
// What the loaders of rows share (tensor_pair_rows.cuh, tensor_packed_rows.cuh and
// tensor_octet_rows.cuh): which column a lane holds, and how row groups come from global memory to
// registers.
//
// The contract of a loader, which slide_down calls: the constructor takes the byte x at which the
// outputs of the warp start; load() starts loading row groups and does not wait; unpack() waits
// for one of them and makes the words that the products read. Load is what a lane holds in between,
// Words<kRowGroups> what it holds of a window. Ghosts above and below are made by load(), those
// left and right by unpack().
#pragma once

#include "kernels/cuda/tensor/pairs/tensor_pair.cuh"

namespace convolve {
namespace {

/// The column of 16 bytes that a lane of a pair's operand B holds. Lane group g = lane / 4 holds
/// column g / 2 + 4 (g % 2): of the sums PTX gives a lane two adjacent columns of operand B, and
/// neighbouring lanes then hold neighbouring columns of the picture. Of each row group a lane holds
/// row lane % 4.
struct PairColumn {
  int own;            ///< Its column among those of the warp; behind the picture the last.
  int last;           ///< The last column of the warp inside the picture.
  int before, after;  ///< Lanes of the columns left and right of its own.
  bool first, final;  ///< Its column is at an end of the warp's columns.
  bool left, right;   ///< It is at an end of the picture.

  /// The outputs start at byte x.
  __device__ __forceinline__ PairColumn(const TensorPlane& plane, int x) {
    const int lane = threadIdx.x, t = lane % 4;
    const int column = lane / 8 + 4 * (lane / 4 % 2);
    const auto lane_of = [&](int c) { return 4 * (2 * (c % 4) + c / 4) + t; };
    last = min(kColumns, (plane.row_bytes - x) / kColumnBytes) - 1;
    own = min(column, last);  // Columns behind the picture load something all the same.
    before = lane_of(max(column - 1, 0));
    after = lane_of(min(column + 1, kColumns - 1));
    first = own == 0;
    final = own == last;
    left = first && x == 0;
    right = final && x + kColumnBytes * (last + 1) == plane.row_bytes;
  }
};

/// Starts loading kCount row groups from picture row `top` on. `from` is the lane's column in its
/// row, where the row group begins with picture row 0; load_row(from, load) loads a row, and
/// fill(load) stands for a row without signal.
template <int kCount, class Load, class LoadRow, class Fill>
__device__ __forceinline__ void load_row_groups(const std::uint8_t* from, std::int64_t pitch,
                                                int top, int rows, Border border,
                                                Load (&loads)[kCount], const LoadRow& load_row,
                                                const Fill& fill) {
  const std::uint8_t* row_from = from + top * pitch;
  if (top >= 0 && top + kRowGroupRows * kCount <= rows) {
#pragma unroll
    for (int j = 0; j < kCount; ++j, row_from += kRowGroupRows * pitch)
      load_row(row_from, loads[j]);
    return;
  }
  const int t = threadIdx.x % 4;
#pragma unroll
  for (int j = 0; j < kCount; ++j) {
    const int row = border_index(border, top + kRowGroupRows * j + t, rows);
    if (row != kNoSignal)
      load_row(from + (row - t) * pitch, loads[j]);
    else
      fill(loads[j]);
  }
}

}  // namespace
}  // namespace convolve
