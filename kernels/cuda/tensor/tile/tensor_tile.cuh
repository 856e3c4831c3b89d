// SPDX-License-Identifier: LGPL-2.1-or-later
// Tiles in shared memory for kernel `tensor`: a part of the picture with its halo, ghosts included.
// Each interleaved component, and each byte of a sample, is a plane of its own.
#pragma once

#include <type_traits>

#include "kernels/cuda/device/copy_async.cuh"
#include "kernels/cuda/tensor/tensor_load.cuh"

namespace convolve {
namespace {

constexpr int kChunk = 16;  ///< Samples of each component that a thread copies at a time.
constexpr int kHalf = kChunk / 2;

/// Starts copying a chunk of one plane of bytes. kEights: `from` lies on 8 bytes only.
template <bool kEights>
__device__ __forceinline__ void copy_chunk_async(std::uint8_t* to, const std::uint8_t* from) {
  if constexpr (kEights) {
    copy_8_async(to, from);
    copy_8_async(to + kHalf, from + kHalf);
  } else {
    copy_16_async(to, from);
  }
}

/// A chunk, sixteen samples of each component, on its way into kPlanes planes of bytes: of kPlanes
/// components, or the low and high bytes of half as many.
template <int kPlanes>
struct Chunk {
  unsigned words[4 * kPlanes];  ///< As they lie in the picture.

  /// kEights: `from` lies on 8 samples only.
  template <bool kEights>
  __device__ __forceinline__ void load(const std::uint8_t* from) {
    if constexpr (kEights && kPlanes % 2 != 0) {
      load_halves(from, from + kHalf * kPlanes);
    } else {
#pragma unroll
      for (int i = 0; i < kPlanes; ++i)
        reinterpret_cast<uint4*>(words)[i] = __ldg(reinterpret_cast<const uint4*>(from) + i);
    }
  }

  /// Loads eight samples from `first` on, and eight from `second`.
  __device__ __forceinline__ void load_halves(const std::uint8_t* first,
                                              const std::uint8_t* second) {
#pragma unroll
    for (int i = 0; i < 2 * kPlanes; ++i) {
      const uint2 two = __ldg(i < kPlanes ? reinterpret_cast<const uint2*>(first) + i
                                          : reinterpret_cast<const uint2*>(second) + i - kPlanes);
      words[2 * i] = two.x;
      words[2 * i + 1] = two.y;
    }
  }

  /// Turns samples of two bytes into their codes.
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

/// Where a tile with its halo begins in the picture: its first column and row, which may lie
/// outside.
struct HaloOrigin {
  int x;
  int y;
};

/// Byte k % kBytes of component k / kBytes of a ghost without signal.
template <int kBytes>
__device__ __forceinline__ unsigned black_byte(const TensorPlane& plane, int k) {
  return static_cast<unsigned>(plane.phase[k / kBytes].black) >> (8 * (k % kBytes)) & 0xFF;
}

/// One sample of each component as it lies in the picture, on its way into a tile.
template <int kComponents, int kBytes>
struct GhostSample {
  using Stored = std::conditional_t<kBytes == 1, std::uint8_t, std::uint16_t>;
  int stored[kComponents];

  __device__ __forceinline__ void load(const std::uint8_t* from) {
#pragma unroll
    for (int k = 0; k < kComponents; ++k)
      stored[k] = __ldg(reinterpret_cast<const Stored*>(from) + k);
  }

  __device__ __forceinline__ void blacken(const TensorPlane& plane) {
#pragma unroll
    for (int k = 0; k < kComponents; ++k)
      stored[k] = kBytes == 1 ? plane.phase[k].black
                              : encode_sample<Stored>(plane.phase[k].black, plane.layout);
  }

  __device__ __forceinline__ void store(const TensorPlane& plane, std::uint8_t* to,
                                        int plane_bytes) const {
#pragma unroll
    for (int k = 0; k < kComponents; ++k) {
      const int code = kBytes == 1
                           ? stored[k]
                           : decode_sample(static_cast<std::uint16_t>(stored[k]), plane.layout);
      to[k * kBytes * plane_bytes] = static_cast<std::uint8_t>(code);
      if constexpr (kBytes == 2)
        to[(k * kBytes + 1) * plane_bytes] = static_cast<std::uint8_t>(code >> 8);
    }
  }
};

/// Stores the sixteen samples of each plane of a chunk in a tile, from `to` in the first plane on.
template <int kPlanes>
__device__ __forceinline__ void store_chunk(const Chunk<kPlanes>& chunk, int plane_bytes,
                                            std::uint8_t* to) {
#pragma unroll
  for (int k = 0; k < kPlanes; ++k)
    *reinterpret_cast<uint4*>(to + k * plane_bytes) =
        make_uint4(chunk.plane(k, 0), chunk.plane(k, 1), chunk.plane(k, 2), chunk.plane(k, 3));
}

/// Rows that a thread copies together of a tile with several planes, so that their loads are in
/// flight at once.
CONVOLVE_HD constexpr int fill_batch(int planes) {
  return planes == 2 ? 4 : 2;
}

/// Fills a tile that lies inside the picture: a thread copies its chunk, from `from` to `to`, of
/// every tile.lines-th row, the first of them `line`.
template <int kComponents, int kBytes, bool kEights>
__device__ __forceinline__ void fill_inside(const TensorPlane& plane, const TensorTile& tile,
                                            const std::uint8_t* from, int line, std::uint8_t* to) {
  constexpr int kPlanes = kComponents * kBytes;
  const std::int64_t step = tile.lines * plane.src_pitch;
  const int down = tile.lines * tile.pitch;
  if constexpr (kPlanes == 1) {
#pragma unroll 4
    for (int r = line; r < tile.rows; r += tile.lines, from += step, to += down)
      copy_chunk_async<kEights>(to, from);
  } else {
    constexpr int kBatch = fill_batch(kPlanes);
    const int plane_bytes = tile.rows * tile.pitch;
#pragma unroll 1
    for (int r = line; r < tile.rows; r += kBatch * tile.lines) {
      Chunk<kPlanes> samples[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i, from += step)
        if (r + i * tile.lines < tile.rows) samples[i].template load<kEights>(from);
#pragma unroll
      for (int i = 0; i < kBatch; ++i, to += down) {
        if (r + i * tile.lines >= tile.rows) break;
        if constexpr (kBytes == 2) samples[i].decode(plane.layout);
        store_chunk(samples[i], plane_bytes, to);
      }
    }
  }
}

/// Rows of the picture that a tile's rows are: the row itself where none lies outside.
struct TileRows {
  Border border;
  int first;     ///< Row of the picture that the tile's first one is; may lie outside.
  int picture;   ///< The picture's rows.
  bool clipped;  ///< Some rows of the tile lie outside.

  /// The row of the picture that row `r` of the tile shows, or kNoSignal.
  __device__ __forceinline__ int operator()(int r) const {
    return clipped ? border_index(border, first + r, picture) : first + r;
  }
};

/// Fills the chunks of one column of a tile some rows of which lie outside the picture, or which
/// has ghosts at its sides: those of every tile.lines-th row, the first of them `line`. The chunk
/// lies at `column` in each row of the picture, and at `to` in row `line` of the tile.
template <int kComponents, int kBytes, bool kEights>
__device__ __forceinline__ void fill_column(const TensorPlane& plane, const TensorTile& tile,
                                            const TileRows& rows, const std::uint8_t* column,
                                            int line, std::uint8_t* to) {
  constexpr int kPlanes = kComponents * kBytes;
  const int down = tile.lines * tile.pitch;
  if constexpr (kPlanes == 1) {
    const unsigned black = 0x01010101u * black_byte<1>(plane, 0);
#pragma unroll 4
    for (int r = line; r < tile.rows; r += tile.lines, to += down) {
      const int row = rows(r);
      if (row != kNoSignal)
        copy_chunk_async<kEights>(to, column + row * plane.src_pitch);
      else
        *reinterpret_cast<uint4*>(to) = make_uint4(black, black, black, black);
    }
  } else {
    // Several rows at a time, so that their loads are in flight together.
    constexpr int kBatch = fill_batch(kPlanes);
    const int plane_bytes = tile.rows * tile.pitch;
#pragma unroll 1
    for (int first = line; first < tile.rows; first += kBatch * tile.lines) {
      Chunk<kPlanes> samples[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int row = rows(min(first + i * tile.lines, tile.rows - 1));
        samples[i].template load<kEights>(column + max(row, 0) * plane.src_pitch);
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i, to += down) {
        const int r = first + i * tile.lines;
        if (r >= tile.rows) break;
        if constexpr (kBytes == 2) samples[i].decode(plane.layout);
        if (rows.clipped && rows(r) == kNoSignal) {
#pragma unroll
          for (int k = 0; k < kPlanes; ++k) {
            const unsigned none = 0x01010101u * black_byte<kBytes>(plane, k);
            *reinterpret_cast<uint4*>(to + k * plane_bytes) = make_uint4(none, none, none, none);
          }
        } else {
          store_chunk(samples[i], plane_bytes, to);
        }
      }
    }
  }
}

/// Fills the columns of a tile left of chunk `begin` and from chunk `end` on: the ghosts at the
/// picture's sides, and samples that share a chunk with them. A thread takes one column of a chunk.
template <int kComponents, int kBytes>
__device__ __forceinline__ void fill_sides(const TensorPlane& plane, const TensorTile& tile,
                                           const TileRows& rows, int tile_x, int begin, int end,
                                           std::uint8_t* memory, int thread) {
  constexpr int kPlanes = kComponents * kBytes;
  constexpr int kLines = 32 * kWarps / kChunk;
  // All rows of a tile at once where they are few bytes each, since each load waits for memory.
  constexpr int kBatch = kPlanes == 1 ? 12 : 4;
  const int width = plane.row_bytes / kPlanes, plane_bytes = tile.rows * tile.pitch;
#pragma unroll 1
  for (int c = 0; c < tile.chunks; ++c) {
    if (c == begin) c = end;
    const int column = kChunk * c + thread % kChunk;
    // No output inside the picture reads further columns.
    if (c >= tile.chunks || tile_x + column > width + tile.reach) break;
    const int sample = border_index(rows.border, tile_x + column, width);
    const std::uint8_t* const top = plane.src + max(sample, 0) * kPlanes;
#pragma unroll 1
    for (int first = thread / kChunk; first < tile.rows; first += kBatch * kLines) {
      GhostSample<kComponents, kBytes> ghost[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int r = first + i * kLines;
        if (r >= tile.rows) break;
        const int row = rows(r);
        if (row == kNoSignal || sample == kNoSignal)
          ghost[i].blacken(plane);
        else
          ghost[i].load(top + row * plane.src_pitch);
      }
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        const int r = first + i * kLines;
        if (r >= tile.rows) break;
        ghost[i].store(plane, memory + r * tile.pitch + column, plane_bytes);
      }
    }
  }
}

/// Fills a tile, its planes of bytes one after the other. Four warps take part, of which the caller
/// is thread number `thread`; a barrier is to follow. `at.x` is a multiple of 16, or with kEights
/// of 8.
template <int kComponents, int kBytes, bool kEights = false>
__device__ __forceinline__ void fill_tile(const TensorArguments& a, const TensorPlane& plane,
                                          const TensorTile& tile, HaloOrigin at,
                                          std::uint8_t* memory, int thread) {
  constexpr int kPlanes = kComponents * kBytes;
  const int width = plane.row_bytes / kPlanes;
  const auto limit = [&](int chunk) { return min(max(chunk, 0), tile.chunks); };
  // Chunks begin .. end - 1 lie inside the picture, and are loaded whole.
  const bool whole = aligned(plane.src, plane.src_pitch, kChunk);
  const int begin = whole ? limit((kChunk - 1 - at.x) >> 4) : 0;
  const int end = whole ? max(begin, limit((width - at.x) >> 4)) : begin;
  const int line = static_cast<int>(__umulhi(static_cast<unsigned>(thread), tile.reciprocal));
  const int chunk = thread - line * tile.chunks;
  const TileRows rows = {a.border, at.y, plane.rows, at.y < 0 || at.y + tile.rows > plane.rows};
  if (!rows.clipped && end - begin == tile.chunks) {
    if (line < tile.lines)
      fill_inside<kComponents, kBytes, kEights>(
          plane, tile,
          plane.src + (at.y + line) * plane.src_pitch + (at.x + kChunk * chunk) * kPlanes, line,
          memory + line * tile.pitch + kChunk * chunk);
    return;
  }
  if (line < tile.lines && chunk >= begin && chunk < end)
    fill_column<kComponents, kBytes, kEights>(plane, tile, rows,
                                              plane.src + (at.x + kChunk * chunk) * kPlanes, line,
                                              memory + line * tile.pitch + kChunk * chunk);
  fill_sides<kComponents, kBytes>(plane, tile, rows, at.x, begin, end, memory, thread);
}

}  // namespace
}  // namespace convolve
