// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles of shared memory for kernel `tensor`: a picture's rows with their halo, ghosts included,
// each interleaved component, and each byte of a sample, a plane of its own.
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

/// Sixteen samples of each component, on their way into kPlanes planes of bytes: of kPlanes
/// components, or the low and the high bytes of half as many.
template <int kPlanes>
struct Chunk {
  unsigned words[4 * kPlanes];  ///< As loaded.

  __device__ __forceinline__ void load(const std::uint8_t* from) {
#pragma unroll
    for (int i = 0; i < kPlanes; ++i)
      reinterpret_cast<uint4*>(words)[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
  }

  /// Makes codes of samples of two bytes.
  __device__ __forceinline__ void decode(SampleLayout layout) {
    const unsigned codes = 0x00010001u * static_cast<unsigned>(layout.max_code);
#pragma unroll
    for (unsigned& word : words) {
      if (layout.swap) word = __byte_perm(word, 0, 0x2301);
      word = word >> layout.shift & codes;
    }
  }

  /// Bytes 4 w .. 4 w + 3 of plane k.
  __device__ __forceinline__ unsigned plane(int k, int w) const {
    if constexpr (kPlanes == 2) {
      return __byte_perm(words[2 * w], words[2 * w + 1], k == 0 ? 0x6420 : 0x7531);
    } else if constexpr (kPlanes == 3) {
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

/// Byte k % kBytes of component k / kBytes where there is no signal.
template <int kBytes>
__device__ __forceinline__ unsigned black_byte(const TensorPlane& plane, int k) {
  return static_cast<unsigned>(plane.phase[k / kBytes].black) >> (8 * (k % kBytes)) & 0xFF;
}

/// Fills the tile, its planes of bytes one after the other. All threads of the block take part; a
/// barrier is to follow.
template <int kComponents, int kBytes>
__device__ __forceinline__ void fill_tile(const TensorArguments& a, const TensorPlane& plane,
                                          const TensorTile& tile, TilePlace at,
                                          std::uint8_t* memory) {
  constexpr int kPlanes = kComponents * kBytes;
  const int thread = threadIdx.x + 32 * threadIdx.y;
  const int width = plane.row_bytes / kPlanes, plane_bytes = tile.rows * tile.pitch;
  const auto row_at = [&](int r) { return border_index(a.border, at.y + r, plane.rows); };
  const auto limit = [&](int chunk) { return min(max(chunk, 0), tile.chunks); };
  // Chunks begin .. end - 1 are inside the picture, and can be loaded as such.
  const bool whole = aligned(plane.src, plane.src_pitch, kChunk);
  const int begin = whole ? limit((kChunk - 1 - at.x) >> 4) : 0;
  const int end = whole ? max(begin, limit((width - at.x) >> 4)) : begin;
  const int line = static_cast<int>(__umulhi(static_cast<unsigned>(thread), tile.reciprocal));
  const int chunk = thread - line * tile.chunks;
  if (line < tile.lines && chunk >= begin && chunk < end) {
    const std::uint8_t* const column = plane.src + (at.x + kChunk * chunk) * kPlanes;
    std::uint8_t* to = memory + line * tile.pitch + kChunk * chunk;
    const int down = tile.lines * tile.pitch;
    const bool clipped = at.y < 0 || at.y + tile.rows > plane.rows;
    const auto source = [&](int r) { return clipped ? row_at(r) : at.y + r; };
    if constexpr (kPlanes == 1) {
      const unsigned black = 0x01010101u * black_byte<1>(plane, 0);
#pragma unroll 4
      for (int r = line; r < tile.rows; r += tile.lines, to += down) {
        const int row = source(r);
        if (row != kNoSignal)
          copy_async(to, column + row * plane.src_pitch);
        else
          *reinterpret_cast<uint4*>(to) = make_uint4(black, black, black, black);
      }
    } else {
      // Some rows at a time, so that their loads are in flight together.
      constexpr int kBatch = kPlanes == 2 ? 4 : 2;
#pragma unroll 1
      for (int first = line; first < tile.rows; first += kBatch * tile.lines) {
        Chunk<kPlanes> samples[kBatch];
#pragma unroll
        for (int i = 0; i < kBatch; ++i) {
          const int row = source(min(first + i * tile.lines, tile.rows - 1));
          samples[i].load(column + max(row, 0) * plane.src_pitch);
        }
#pragma unroll
        for (int i = 0; i < kBatch; ++i, to += down) {
          const int r = first + i * tile.lines;
          if (r >= tile.rows) break;
          if constexpr (kBytes == 2) samples[i].decode(plane.layout);
          const bool black = clipped && source(r) == kNoSignal;
#pragma unroll
          for (int k = 0; k < kPlanes; ++k) {
            uint4 sixteen = make_uint4(samples[i].plane(k, 0), samples[i].plane(k, 1),
                                       samples[i].plane(k, 2), samples[i].plane(k, 3));
            if (black) {
              const unsigned none = 0x01010101u * black_byte<kBytes>(plane, k);
              sixteen = make_uint4(none, none, none, none);
            }
            *reinterpret_cast<uint4*>(to + k * plane_bytes) = sixteen;
          }
        }
      }
    }
  }
  // Ghosts at the sides, and what shares a chunk with them.
  const int ghosts = kChunk * (begin + tile.chunks - end);
#pragma unroll 1
  for (int i = threadIdx.x; i < ghosts; i += 32) {
    const int column = i < kChunk * begin ? i : i + kChunk * (end - begin);
    // Columns beyond what the picture's last outputs see are nobody's.
    if (at.x + column > width + tile.reach) break;
    const int sample = border_index(a.border, at.x + column, width);
#pragma unroll 4
    for (int r = threadIdx.y; r < tile.rows; r += kWarps) {
      const int row = row_at(r);
      const bool black = row == kNoSignal || sample == kNoSignal;
      const std::uint8_t* from =
          plane.src + max(row, 0) * plane.src_pitch + max(sample, 0) * kPlanes;
      std::uint8_t* to = memory + r * tile.pitch + column;
#pragma unroll
      for (int k = 0; k < kComponents; ++k) {
        if constexpr (kBytes == 1) {
          to[k * plane_bytes] =
              black ? static_cast<std::uint8_t>(black_byte<1>(plane, k)) : __ldg(from + k);
        } else {
          const int code =
              black ? plane.phase[k].black
                    : decode_sample(__ldg(reinterpret_cast<const std::uint16_t*>(from) + k),
                                    plane.layout);
          to[2 * k * plane_bytes] = static_cast<std::uint8_t>(code);
          to[(2 * k + 1) * plane_bytes] = static_cast<std::uint8_t>(code >> 8);
        }
      }
    }
  }
}

}  // namespace
}  // namespace convolve
