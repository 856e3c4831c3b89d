// SPDX-License-Identifier: LGPL-2.1-or-later
// Packed 4:2:2 (YUY2 and its kin) in the tiles of tensor_warpgroups.cu. A tile is 128 samples of
// chroma wide: luma is deinterleaved to one plane of 256 samples, each chroma to a plane of 128. To
// products these are four components, two of which are the halves of luma side by side.
#pragma once

#include "kernels/cuda/tensor/packed/tensor_packed_samples.cuh"
#include "kernels/cuda/tensor/warpgroups/tensor_warpgroup_store.cuh"

namespace convolve {
namespace {

/// Where component k of a tile lies, from its first sample on. A vector has more luma left of the
/// tile than products read: it falls into the row above, behind all that is read there, or before
/// the tile (TensorWarpgroups::lead).
struct PackedLayout {
  int offset, pitch;

  __device__ __forceinline__ PackedLayout(const TensorTile& tile, int k)
      : offset(k < 2 ? k * kTensorTileBytes : k * tile.rows * tile.pitch),
        pitch(k < 2 ? 2 * tile.pitch : tile.pitch) {}
};

/// One of the three planes of a tile, whose column 0 is column x of the picture.
struct PackedTilePlane {
  const TensorPhase& phase;
  PackedLayout layout;
  int x;
  int last;  ///< No output inside the picture reads columns from here on.

  __device__ __forceinline__ PackedTilePlane(const TensorPlane& plane, const TensorTile& tile,
                                             int tile_x, int k)
      : phase(plane.phase[packed_phase(plane, k)]),
        layout(tile, k),
        x(k == 0 ? 2 * tile_x + tile.margin : tile_x),
        last(min(kChunk * tile.chunks + (k == 0 ? kTensorTileBytes : 0),
                 phase.width - x + tile.reach)) {}
};

/// Copies a thread's vector of some rows to the tile, the first of them `line`, kBatch at a time so
/// that their loads are in flight together: of picture row row_at(r), or black where that is no
/// signal.
template <int kBatch, class RowAt>
__device__ __forceinline__ void fill_vectors(const TensorPlane& plane, const TensorTile& tile,
                                             const std::uint8_t* from, int line, int vector,
                                             std::uint8_t* samples, const RowAt& row_at) {
  const bool first_luma = luma_first(plane);
  const int lines = tile.lines / 4, plane_bytes = tile.rows * tile.pitch;
  std::uint8_t* luma = samples + line * 2 * tile.pitch + kVectorLuma * vector - tile.margin;
  std::uint8_t* chroma = samples + 2 * plane_bytes + line * tile.pitch + kVectorChroma * vector;
#pragma unroll 1
  for (int first = line; first < tile.rows; first += kBatch * lines) {
    uint4 vectors[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int r = first + i * lines;
      const int row = r < tile.rows ? row_at(r) : kNoSignal;
      if (row != kNoSignal)
        vectors[i] = __ldg(reinterpret_cast<const uint4*>(from + row * plane.src_pitch));
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      const int r = first + i * lines;
      if (r >= tile.rows) break;
      PackedSamples samples_of_vector(vectors[i], first_luma);
      if (row_at(r) == kNoSignal) {
        samples_of_vector.luma.x = samples_of_vector.luma.y = packed_black(plane, 0);
        samples_of_vector.chroma[0] = packed_black(plane, 2);
        samples_of_vector.chroma[1] = packed_black(plane, 3);
      }
      *reinterpret_cast<uint2*>(luma) = samples_of_vector.luma;
      *reinterpret_cast<unsigned*>(chroma) = samples_of_vector.chroma[0];
      *reinterpret_cast<unsigned*>(chroma + plane_bytes) = samples_of_vector.chroma[1];
      luma += lines * 2 * tile.pitch;
      chroma += lines * tile.pitch;
    }
  }
}

/// Fills a tile, but for the ghosts at its sides where TensorPlane::ghosts_in_tile. Four warps take
/// part, of which the caller is thread number `thread`. `at.x` counts samples of chroma and is a
/// multiple of 8; what is loaded lies on 16 bytes.
__device__ __forceinline__ void fill_packed(const TensorArguments& a, const TensorPlane& plane,
                                            const TensorTile& tile, HaloOrigin at,
                                            std::uint8_t* samples, int thread) {
  const int line = static_cast<int>(__umulhi(static_cast<unsigned>(thread), tile.reciprocal)) / 4;
  const int vector = thread - line * 4 * tile.chunks;
  const int byte = 4 * at.x + kPackedVectorBytes * vector;
  if (line < tile.lines / 4 && byte >= 0 && byte + kPackedVectorBytes <= plane.whole_bytes) {
    const std::uint8_t* const from = plane.src + byte;
    if (at.y >= 0 && at.y + tile.rows <= plane.rows)
      fill_vectors<8>(plane, tile, from, line, vector, samples, [&](int r) { return at.y + r; });
    else
      fill_vectors<2>(plane, tile, from, line, vector, samples,
                      [&](int r) { return border_index(a.border, at.y + r, plane.rows); });
  }
  if (plane.ghosts_in_tile) return;
  const int vectors = plane.whole_bytes / kPackedVectorBytes;
#pragma unroll 1
  for (int k = 0; k < 4; k += k == 0 ? 2 : 1) {
    const PackedTilePlane component(plane, tile, at.x, k);
    const int whole = vectors * (k == 0 ? kVectorLuma : kVectorChroma);
    std::uint8_t* const to = samples + component.layout.offset;
#pragma unroll 1
    for (int column = thread % kChunk; column < component.last; column += kChunk) {
      const int x = component.x + column;
      if (x >= 0 && x < whole) continue;
      const int sample = border_index(a.border, x, component.phase.width);
      const std::uint8_t* const from =
          plane.src + component.phase.offset + max(sample, 0) * component.phase.step;
#pragma unroll 4
      for (int r = thread / kChunk; r < tile.rows; r += 32 * kWarps / kChunk) {
        const int row = border_index(a.border, at.y + r, plane.rows);
        to[r * component.layout.pitch + column] =
            sample == kNoSignal || row == kNoSignal
                ? static_cast<std::uint8_t>(component.phase.black)
                : __ldg(from + row * plane.src_pitch);
      }
    }
  }
}

/// True if a tile from column `tile_x` on has ghosts at its sides that are made of its own samples.
__device__ __forceinline__ bool has_packed_ghosts(const TensorPlane& plane, const TensorTile& tile,
                                                  int tile_x) {
  return plane.ghosts_in_tile &&
         (tile_x < 0 || 4 * (tile_x + kChunk * tile.chunks) > plane.row_bytes);
}

/// Makes the ghosts at the sides of a tile out of its own samples.
__device__ __forceinline__ void make_packed_ghosts(const TensorArguments& a,
                                                   const TensorPlane& plane, const TensorTile& tile,
                                                   int tile_x, std::uint8_t* samples, int thread) {
#pragma unroll 1
  for (int k = 0; k < 4; k += k == 0 ? 2 : 1) {
    const PackedTilePlane component(plane, tile, tile_x, k);
    std::uint8_t* const own = samples + component.layout.offset;
#pragma unroll 1
    for (int column = thread % kChunk; column < component.last; column += kChunk) {
      const int x = component.x + column;
      if (x >= 0 && x < component.phase.width) continue;
      const int from = border_index(a.border, x, component.phase.width);
#pragma unroll 4
      for (int r = thread / kChunk; r < tile.rows; r += 32 * kWarps / kChunk)
        own[r * component.layout.pitch + column] =
            from == kNoSignal ? static_cast<std::uint8_t>(component.phase.black)
                              : own[r * component.layout.pitch + from - component.x];
    }
  }
}

/// Stores those bytes of a vector that belong to samples, from byte x of row y on.
__device__ __noinline__ void store_packed_end(const TensorPlane& plane, int x, int y,
                                              uint4 vector) {
  std::uint8_t* const to = plane.dst + y * plane.dst_pitch + x;
  const std::uint8_t* const from = plane.src + y * plane.src_pitch + x;
  const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
  for (int b = 0; b < kPackedVectorBytes; ++b) {
    const TensorPhase& phase = plane.phase[b % 4];
    if (sample_of(phase, x + b) < phase.width)
      to[b] = static_cast<std::uint8_t>(words[b / 4] >> (8 * (b % 4)));
    else if (plane.stores.tail && x + b < plane.row_bytes)
      to[b] = __ldg(from + b);
  }
}

/// Stores in the picture what quantise_to_tile() kept of filtered components, and copied components
/// from where their samples lie in the tile.
__device__ __forceinline__ void store_packed(const TensorArguments& a, const TensorPlane& plane,
                                             TileOrigin origin, const std::uint8_t* samples) {
  const TensorTile& tile = a.warpgroups.tile;
  const int lane = threadIdx.x, row = threadIdx.y % kWarps;
  const auto samples_of = [&](int k, int width) {
    const PackedLayout layout(tile, k);
    const int centre = a.anchor_y * layout.pitch + tile.margin;
    return samples + layout.offset + row * layout.pitch + width * lane +
           (plane.phase[packed_phase(plane, k)].filtered ? 0 : centre);
  };
  const std::uint8_t* const luma = samples_of(0, kVectorLuma);
  const std::uint8_t* const even = samples_of(2, kVectorChroma);
  const std::uint8_t* const odd = samples_of(3, kVectorChroma);
  const bool first_luma = luma_first(plane);
  const int x = 4 * origin.x + kPackedVectorBytes * lane, y = origin.y + row;
  const bool whole = x + kPackedVectorBytes <= plane.whole_bytes;
  std::uint8_t* to = plane.dst + y * plane.dst_pitch + x;
  if (x >= plane.row_bytes) return;
#pragma unroll 4
  for (int i = 0; i < kTileRowGroups; ++i, to += kWarpgroupOutputRows * plane.dst_pitch) {
    const int down = kWarpgroupOutputRows * i * tile.pitch;
    if (y + kWarpgroupOutputRows * i >= plane.rows) break;
    const uint4 vector = packed_bytes(*reinterpret_cast<const uint2*>(luma + 2 * down),
                                      *reinterpret_cast<const unsigned*>(even + down),
                                      *reinterpret_cast<const unsigned*>(odd + down), first_luma);
    if (whole)
      *reinterpret_cast<uint4*>(to) = vector;
    else
      store_packed_end(plane, x, y + kWarpgroupOutputRows * i, vector);
  }
}

}  // namespace
}  // namespace convolve
