// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles of shared memory for kernel `tensor`: a picture's rows with their halo, ghosts included,
// each interleaved component a plane of its own.
#pragma once

#include "kernels/cuda/tensor_load.cuh"

namespace convolve {
namespace {

constexpr int kChunk = 16;  ///< Samples that a thread brings at a time.

/// Copies 16 bytes to shared memory, at the latest by wait_for_copies().
__device__ __forceinline__ void copy_async(std::uint8_t* to, const std::uint8_t* from) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from)
               : "memory");
#else
  *reinterpret_cast<uint4*>(to) = __ldg(reinterpret_cast<const uint4*>(from));
#endif
}

__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/// Sixteen samples of each of kStep interleaved components, apart.
template <int kStep>
struct Chunk {
  unsigned words[4 * kStep];  ///< As loaded.

  __device__ __forceinline__ void load(const std::uint8_t* from) {
#pragma unroll
    for (int i = 0; i < kStep; ++i)
      reinterpret_cast<uint4*>(words)[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
  }

  /// Samples 4 w .. 4 w + 3 of component k.
  __device__ __forceinline__ unsigned component(int k, int w) const {
    if constexpr (kStep == 2) {
      return __byte_perm(words[2 * w], words[2 * w + 1], k == 0 ? 0x6420 : 0x7531);
    } else if constexpr (kStep == 3) {
      // Bytes k, k + 3, k + 6 and k + 9 of three words.
      const unsigned select = k == 0 ? 0x0630 : k == 1 ? 0x0741 : 0x0052;
      const unsigned low = __byte_perm(words[3 * w], words[3 * w + 1], select);
      return __byte_perm(low, words[3 * w + 2], k == 0 ? 0x5210 : k == 1 ? 0x6210 : 0x7410);
    } else {
      const unsigned low = __byte_perm(words[4 * w], words[4 * w + 1], 0x0040 + 0x0011 * k);
      const unsigned high = __byte_perm(words[4 * w + 2], words[4 * w + 3], 0x0040 + 0x0011 * k);
      return __byte_perm(low, high, 0x5410);
    }
  }
};

/// Where a block's tile lies: its first column and row in the picture, either may be outside.
struct TilePlace {
  int x;
  int y;
};

/// Fills the tile, its components one after the other. All threads of the block take part; a
/// barrier is to follow.
template <int kStep>
__device__ __forceinline__ void fill_tile(const TensorArguments& a, const TensorPlane& plane,
                                          const TensorTile& tile, TilePlace at,
                                          std::uint8_t* memory) {
  const int thread = threadIdx.x + 32 * threadIdx.y;
  const int width = plane.row_bytes / kStep, component_bytes = tile.rows * tile.pitch;
  const auto row_at = [&](int r) { return border_index(a.border, at.y + r, plane.rows); };
  const auto limit = [&](int chunk) { return min(max(chunk, 0), tile.chunks); };
  // Chunks begin .. end - 1 are inside the picture.
  const int begin = limit((kChunk - 1 - at.x) >> 4), end = max(begin, limit((width - at.x) >> 4));
  const int line = static_cast<int>(__umulhi(static_cast<unsigned>(thread), tile.reciprocal));
  const int chunk = thread - line * tile.chunks;
  if (line < tile.lines && chunk >= begin && chunk < end) {
    const std::uint8_t* const column = plane.src + (at.x + kChunk * chunk) * kStep;
    std::uint8_t* to = memory + line * tile.pitch + kChunk * chunk;
    const bool clipped = at.y < 0 || at.y + tile.rows > plane.rows;
#pragma unroll 4
    for (int r = line; r < tile.rows; r += tile.lines, to += tile.lines * tile.pitch) {
      const int row = clipped ? row_at(r) : at.y + r;
      const std::uint8_t* from = column + max(row, 0) * plane.src_pitch;
      if constexpr (kStep == 1) {
        if (row == kNoSignal) {
          const unsigned black = 0x01010101u * static_cast<unsigned>(plane.phase[0].black);
          *reinterpret_cast<uint4*>(to) = make_uint4(black, black, black, black);
        } else {
          copy_async(to, from);
        }
      } else {
        Chunk<kStep> samples;
        samples.load(from);
#pragma unroll
        for (int k = 0; k < kStep; ++k) {
          uint4 sixteen = make_uint4(samples.component(k, 0), samples.component(k, 1),
                                     samples.component(k, 2), samples.component(k, 3));
          if (row == kNoSignal) {
            const unsigned black = 0x01010101u * static_cast<unsigned>(plane.phase[k].black);
            sixteen = make_uint4(black, black, black, black);
          }
          *reinterpret_cast<uint4*>(to + k * component_bytes) = sixteen;
        }
      }
    }
  }
  // Ghosts at the sides, and what shares a chunk with them.
  const int ghosts = kChunk * (begin + tile.chunks - end);
  if (ghosts == 0) return;
    // Columns beyond what the picture's last outputs see are nobody's.
#pragma unroll 1
  for (int i = threadIdx.x; i < ghosts; i += 32) {
    const int column = i < kChunk * begin ? i : i + kChunk * (end - begin);
    if (at.x + column > width + tile.reach) break;
    const int sample = border_index(a.border, at.x + column, width);
#pragma unroll 4
    for (int r = threadIdx.y; r < tile.rows; r += kWarps) {
      const int row = row_at(r);
      const bool black = row == kNoSignal || sample == kNoSignal;
      const std::uint8_t* from = plane.src + max(row, 0) * plane.src_pitch + max(sample, 0) * kStep;
#pragma unroll
      for (int k = 0; k < kStep; ++k)
        memory[k * component_bytes + r * tile.pitch + column] =
            black ? static_cast<std::uint8_t>(plane.phase[k].black) : __ldg(from + k);
    }
  }
}

}  // namespace
}  // namespace convolve
