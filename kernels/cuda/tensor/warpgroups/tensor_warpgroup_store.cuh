// SPDX-License-Identifier: LGPL-2.1-or-later
// From sums of warpgroups (tensor_warpgroups.cu) to the picture: through registers where a plane
// has one component, and otherwise by way of the tile in shared memory, where components meet.
#pragma once

#include "kernels/cuda/tensor/tensor_interleave.cuh"
#include "kernels/cuda/tensor/tile/tensor_tile.cuh"

namespace convolve {
namespace {

/// Row groups of a tile: a product makes four adjacent output rows of each, and warp w of the
/// warpgroup holds row w of each.
constexpr int kTileRowGroups = kWarpgroupTileRows / kWarpgroupOutputRows;
static_assert(kWarps == kWarpgroupOutputRows, "a warp holds one row of each row group");

/// The first output of a tile.
struct TileOrigin {
  int x, y;

  /// Where the samples of the tile begin in the picture, halo included.
  __device__ __forceinline__ HaloOrigin with_halo(const TensorArguments& a) const {
    return {x - a.warpgroups.tile.margin, y - a.anchor_y};
  }
};

/// Quantises the sums of a lane, and calls work(i, words) for each row group i: the words are four
/// adjacent samples of the lane's output row, as they lie in memory. kSplit: `sum` holds values, as
/// the bits of floats.
template <Quantiser kQuantiser, bool kSplit, int kBytes, class Work>
__device__ __forceinline__ void for_each_word(const TensorPlane& plane, const TensorPhase& phase,
                                              const int (&sum)[kTileRowGroups][4],
                                              const Work& work) {
  if constexpr (kBytes == 1 && kQuantiser == Quantiser::kGeneral) {
    with_general_quantiser(phase.general, [&](const auto& quantise) {
      const int most = phase.general.max_code;
#pragma unroll
      for (int i = 0; i < kTileRowGroups; ++i) {
        unsigned bytes[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
          bytes[k] = static_cast<unsigned>(min(max(quantise(sum[i][k]), 0), most));
        const unsigned words[1] = {
            transpose(bytes[0] | bytes[2] << 8 | bytes[1] << 16 | bytes[3] << 24)};
        work(i, words);
      }
    });
  } else {
#pragma unroll
    for (int i = 0; i < kTileRowGroups; ++i) {
      if constexpr (kBytes == 1) {
        const float bases[4] = {phase.base, phase.base, phase.base, phase.base};
        const unsigned words[1] = {
            transpose(quantise_fast<kQuantiser>(sum[i], plane.scale, bases))};
        work(i, words);
      } else {
        unsigned pairs[2];
        if constexpr (kSplit) {
          const auto quantise = [&](int k) { return __float2int_rn(__int_as_float(sum[i][k])); };
          const unsigned most = 0x00010001u * static_cast<unsigned>(plane.layout.max_code);
#pragma unroll
          for (int n = 0; n < 2; ++n)
            pairs[n] = encode_two(__vminu2(clamp_two(quantise(2 * n), quantise(2 * n + 1)), most),
                                  plane.layout);
        } else {
          quantise_to_samples<kQuantiser>(
              plane, phase, [&](int n) { return make_int2(sum[i][2 * n], sum[i][2 * n + 1]); },
              pairs);
        }
        const unsigned even = transpose(pairs[0]), odd = transpose(pairs[1]);
        const unsigned words[2] = {__byte_perm(even, odd, 0x5410), __byte_perm(even, odd, 0x7632)};
        work(i, words);
      }
    }
  }
}

/// The output rows of a lane, one of each row group and of four pixels each: where they go in the
/// picture.
template <int kPixelBytes>
struct OutputRows {
  std::uint8_t* to;
  std::int64_t step;  ///< Bytes from one of the lane's rows to the next.
  int rows;           ///< Rows of the lane that lie in the picture.
  int room;           ///< Bytes of a row from here to the end of the picture.
  bool in_words;      ///< Rows lie on 16 bytes.
  bool whole;  ///< All lanes of the warpgroup have all of their rows in the picture, on 16 bytes.

  __device__ __forceinline__ OutputRows(const TensorPlane& plane, TileOrigin origin, int column,
                                        int row) {
    const int at = (origin.x + column) * kPixelBytes, y = origin.y + row;
    to = plane.dst + y * plane.dst_pitch + at;
    step = kWarpgroupOutputRows * plane.dst_pitch;
    room = plane.row_bytes - at;
    rows = (plane.rows - y + kWarpgroupOutputRows - 1) / kWarpgroupOutputRows;
    in_words = plane.aligned16;
    // By the tile's last row, not the lane's: the warps of a warpgroup must all take the same
    // branch, since they meet at a barrier in one of the two.
    whole = in_words && origin.y + kWarpgroupTileRows <= plane.rows &&
            origin.x * kPixelBytes + kTensorTileBytes * kPixelBytes <= plane.row_bytes;
  }

  /// Stores row i of the lane, of four pixels.
  template <int kBytes, int kComponents>
  __device__ __forceinline__ void store(int i, const unsigned (&words)[kComponents][kBytes]) const {
    std::uint8_t* at = to + i * step;
    if (whole)
      store_pixels<kBytes>(at, room, true, words);
    else if (i < rows)
      store_pixels<kBytes>(at, room, in_words && room >= 4 * kPixelBytes, words);
  }
};

/// Quantises sums and stores them in the picture, where a plane has one component and the tile lies
/// inside.
template <Quantiser kQuantiser, bool kSplit, int kBytes>
__device__ __forceinline__ void quantise_to_picture(const TensorPlane& plane,
                                                    const OutputRows<kBytes>& out,
                                                    const int (&sum)[kTileRowGroups][4]) {
  for_each_word<kQuantiser, kSplit, kBytes>(
      plane, plane.phase[0], sum, [&](int i, const auto& words) {
        unsigned component[1][kBytes];
#pragma unroll
        for (int b = 0; b < kBytes; ++b)
          component[0][b] = words[b];
        store_pixels<kBytes>(out.to + i * out.step, 0, true, component);
      });
}

/// Quantises sums and keeps the samples in shared memory where the first samples of the component
/// were: four pixels a lane and row, from `to` on, planes of bytes `plane_bytes` apart, rows
/// `step`.
template <Quantiser kQuantiser, bool kSplit, int kBytes>
__device__ __forceinline__ void quantise_to_tile(const TensorPlane& plane, const TensorPhase& phase,
                                                 std::uint8_t* to, int plane_bytes, int step,
                                                 const int (&sum)[kTileRowGroups][4]) {
  for_each_word<kQuantiser, kSplit, kBytes>(plane, phase, sum, [&](int i, const auto& words) {
#pragma unroll
    for (int b = 0; b < kBytes; ++b)
      *reinterpret_cast<unsigned*>(to + i * step + b * plane_bytes) = words[b];
  });
}

/// Stores in the picture what quantise_to_tile() kept of filtered components, and copied components
/// from where their samples lie in the tile.
template <int kBytes, int kComponents>
__device__ __forceinline__ void store_components(const TensorArguments& a, const TensorPlane& plane,
                                                 OutputRows<kComponents * kBytes> out,
                                                 const std::uint8_t* own) {
  const TensorTile& shape = a.warpgroups.tile;
  const int plane_bytes = shape.rows * shape.pitch;
  const int centre = a.anchor_y * shape.pitch + a.warpgroups.window.left;
#pragma unroll 4
  for (int i = 0; i < kTileRowGroups; ++i, own += kWarpgroupOutputRows * shape.pitch) {
    unsigned words[kComponents][kBytes];
#pragma unroll
    for (int k = 0; k < kComponents; ++k)
#pragma unroll
      for (int b = 0; b < kBytes; ++b)
        words[k][b] = *reinterpret_cast<const unsigned*>(own + (k * kBytes + b) * plane_bytes +
                                                         (plane.phase[k].filtered ? 0 : centre));
    out.store(i, words);
  }
}

}  // namespace
}  // namespace convolve
