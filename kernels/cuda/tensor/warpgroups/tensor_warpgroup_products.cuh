// SPDX-License-Identifier: LGPL-2.1-or-later
// The products of tensor_warpgroups.cu: sums of a component of a tile in shared memory times the
// weights beside it, digit by digit and byte by byte.
#pragma once

#include "kernels/core/weights/split_digits.h"
#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/tensor/warpgroups/tensor_warpgroup_store.cuh"

namespace convolve {
namespace {

/// sum += a digit of the mask, at `weights`, times the tile at `samples`, both in shared memory.
/// Pairs of units and the odd unit share one product instruction: with two the compiler would move
/// sums between them, and wait for each product.
__device__ __forceinline__ void add_digit(const TensorArguments& a, unsigned weights,
                                          unsigned samples, int pitch,
                                          int (&sum)[kTileRowGroups][4]) {
  const WarpgroupWindow& window = a.warpgroups.window;
  const int unit_pairs = window.unit_pairs();
  const int last_row = unit_pair_products(a.mask_height) - 1;
  // The rows of the mask lie from the last to the first, as output row w multiplies picture row k
  // by mask row k - w.
  unsigned mask_at = weights + last_row * kWarpgroupMaskRowBytes;
#pragma unroll 1
  for (int i = 0; i < (window.units + 1) / 2; ++i) {
    const bool odd = i == unit_pairs;
    const int rows = odd ? 2 : 1;
    MatrixDescriptor mask(mask_at, 128, 256);
    MatrixDescriptor picture(samples, odd ? pitch : kWarpgroupUnit, kWarpgroupOutputRows * pitch);
    const int up = rows * kWarpgroupMaskRowBytes / 16, down = rows * pitch / 16;
#pragma unroll 1
    for (int n = odd ? odd_unit_products(a.mask_height) : last_row + 1; n > 0; --n) {
      start_product(sum, mask, picture);
      mask.low -= up;
      picture.low += down;
    }
    mask_at += warpgroup_mask_rows(a.mask_height) * kWarpgroupMaskRowBytes;
    samples += 2 * kWarpgroupUnit;
  }
}

/// sum = start + the mask times a component. The plane of a sample's high byte follows that of its
/// low byte.
template <int kBytes>
__device__ __forceinline__ void multiply_tile(const TensorArguments& a, int start, unsigned weights,
                                              unsigned samples, int pitch,
                                              int (&sum)[kTileRowGroups][4]) {
  const TensorWarpgroups& warpgroups = a.warpgroups;
  const unsigned digit_bytes = warpgroups.digit_bytes;
  const unsigned plane_bytes = warpgroups.tile.rows * warpgroups.tile.pitch;
  // Digit d times byte b counts 256^(d + b): from the highest power down.
  int power = a.digits + kBytes - 2, byte = kBytes - 1;
#pragma unroll
  for (auto& row_group : sum)
#pragma unroll
    for (int& s : row_group)
      s = power == 0 ? start : 0;
#pragma unroll 1
  for (;;) {
    begin_products();
    add_digit(a, weights + (a.digits - 1 - power + byte) * digit_bytes,
              samples + byte * plane_bytes, pitch, sum);
    wait_for_products(sum);
    ++byte;
    const bool next = byte > min(power, kBytes - 1);
    if (next && --power < 0) return;
    if (next) byte = max(0, power - a.digits + 1);
    const int factor = next ? 256 : 1, add = next && power == 0 ? start : 0;
#pragma unroll
    for (auto& row_group : sum)
#pragma unroll
      for (int& s : row_group)
        s = s * factor + add;
  }
}

/// sum = the values, as bits of floats, of the mask times a component of two bytes: see
/// split_digits.h.
__device__ __forceinline__ void multiply_split(const TensorArguments& a, float scale, float base,
                                               unsigned weights, unsigned samples,
                                               int (&sum)[kTileRowGroups][4]) {
  const TensorWarpgroups& warpgroups = a.warpgroups;
  const unsigned plane_bytes = warpgroups.tile.rows * warpgroups.tile.pitch;
  float value[kTileRowGroups][4];
#pragma unroll
  for (auto& row_group : value)
#pragma unroll
    for (float& v : row_group)
      v = base;
#pragma unroll
  for (auto& row_group : sum)
#pragma unroll
    for (int& s : row_group)
      s = 0;
  int power = a.digits, byte = 1;
#pragma unroll 1
  while (power > a.digits - kSplitSums) {
    begin_products();
    add_digit(a, weights + (a.digits - 1 - power + byte) * warpgroups.digit_bytes,
              samples + byte * plane_bytes, warpgroups.tile.pitch, sum);
    wait_for_products(sum);
    // No branches here: among branches products would wait for each other.
    const bool last = byte == 1 || power == 0;
    const float counted = last ? scale : 0;
    const int kept = last ? 0 : 1;
#pragma unroll
    for (int i = 0; i < kTileRowGroups; ++i)
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        value[i][k] = fmaf(static_cast<float>(sum[i][k]), counted, value[i][k]);
        sum[i][k] *= kept;
      }
    byte = 1 - byte;
    power -= last ? 1 : 0;
    scale *= last ? 1.0f / 256 : 1.0f;
  }
#pragma unroll
  for (int i = 0; i < kTileRowGroups; ++i)
#pragma unroll
    for (int k = 0; k < 4; ++k)
      sum[i][k] = __float_as_int(value[i][k]);
}

}  // namespace
}  // namespace convolve
