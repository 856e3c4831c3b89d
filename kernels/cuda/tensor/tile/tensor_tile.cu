// SPDX-License-Identifier: LGPL-2.1-or-later
// Form tensor-tiles, for samples of one or two bytes that lie side by side and masks whose tile
// with halo fits shared memory: products of 8 rows x 2 adjacent samples from tiles in shared
// memory.
//
// The products are those of tensor_pairs.cu, with windows of 16 samples in two picture rows or of
// 32 in one, and as many of these side by side (segments) as the mask is wide. A segment of a mask
// of K rows takes (K + 7) / 2 or K + 7 windows below each other, with eight products each, for 128
// x 8 outputs; tensor-columns takes eight times K, or 2 K, products. A tile holds each interleaved
// component as a plane of its own, so that no product meets another component's samples: RGBA costs
// as much as four grey pictures, not as a mask four times as wide.
//
// Lane l holds 24 bytes of column l / 8 + 4 (l / 4 % 2), from which it cuts the windows of eight
// products: from byte 8 (l % 4) of the window on, or of two picture rows from byte 8 (l % 2) on in
// row l / 2 % 2. Where there is one component, these registers serve two blocks of eight output
// rows. Of the sums it holds 16 adjacent samples of columns l % 4 and l % 4 + 4 in row l / 4.
//
// What binds (H100): products, 6 clocks of a tensor core each, and for every eight of them some
// twenty instructions that load and align the 24 bytes.
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/tensor/pairs/tensor_pair.cuh"
#include "kernels/cuda/tensor/tensor_interleave.cuh"
#include "kernels/cuda/tensor/tensor_launch.cuh"
#include "kernels/cuda/tensor/tile/tensor_tile.cuh"

namespace convolve {
namespace {

/// Blocks of 8 output rows that a warp makes.
CONVOLVE_HD constexpr int row_blocks(int components) {
  return components == 1 ? 2 : 1;
}
/// Warps side by side in a tile.
CONVOLVE_HD constexpr int warps_across(int components) {
  return components == 1 ? 2 : 1;
}

/// permute() with a selector that is known at run time only.
__device__ __forceinline__ unsigned select_bytes(unsigned low, unsigned high, unsigned select) {
  unsigned made;
  asm volatile("prmt.b32 %0, %1, %2, %3;" : "=r"(made) : "r"(low), "r"(high), "r"(select));
  return made;
}

/// What a lane holds of a window, for eight products.
struct TileWords {
  unsigned words[kPairWords];

  __device__ __forceinline__ void load(const std::uint8_t* from) {
#pragma unroll
    for (int i = 0; i < kPairWords / 2; ++i) {
      const uint2 two = reinterpret_cast<const uint2*>(from)[i];
      words[2 * i] = two.x;
      words[2 * i + 1] = two.y;
    }
  }

  /// The share of the window of product i.
  __device__ __forceinline__ uint2 window(int i, unsigned even) const {
    const unsigned select = i % 2 == 0 ? even : even + 0x2222;
    return make_uint2(select_bytes(words[i / 2], words[i / 2 + 1], select),
                      select_bytes(words[i / 2 + 1], words[i / 2 + 2], select));
  }
};

/// sum += a digit of the mask, from `fragment` on, times what a lane reads from `from` on. What a
/// step needs is loaded a step before; the last step loads what no step needs, for which tile and
/// fragments have room.
template <int kWindowRows, int kBlocks>
__device__ __forceinline__ void add_digit(const TensorArguments& a, int pitch,
                                          const std::uint8_t* from, const uint4* fragment,
                                          int (&sum)[kBlocks][kRows][4]) {
  constexpr int kApart = kRows / kWindowRows;
  const unsigned even = 0x3210 + 0x1111 * a.tiles.window.shift;
  const int down = kWindowRows * pitch, windows_down = a.tiles.window.windows_down;
#pragma unroll 1
  for (int segment = 0; segment < a.tiles.window.segments; ++segment) {
    const std::uint8_t* at = from + kWindowBytes * segment;
    TileWords next;
    next.load(at);
    uint4 next_upper = __ldg(fragment), next_lower = next_upper;
    const auto step = [&](bool upper, bool lower, bool lower_next) {
      const TileWords words = next;
      const uint4 upper_weights = next_upper, lower_weights = next_lower;
      at += down;
      fragment += 32;
      next.load(at);
      if (upper) next_upper = __ldg(fragment);
      if (lower_next) next_lower = __ldg(fragment - 32 * kApart);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const uint2 window = words.window(i, even);
        if (upper) multiply(sum[0][i], upper_weights, window, sum[0][i]);
        if (lower) multiply(sum[kBlocks - 1][i], lower_weights, window, sum[kBlocks - 1][i]);
      }
    };
    if constexpr (kBlocks == 1) {
#pragma unroll 2
      for (int s = 0; s < windows_down; ++s)
        step(true, false, false);
    } else {
#pragma unroll
      for (int s = 0; s < kApart; ++s)
        step(true, false, s == kApart - 1);
#pragma unroll 2
      for (int s = kApart; s < windows_down; ++s)
        step(true, true, true);
#pragma unroll
      for (int s = 0; s < kApart; ++s)
        step(false, true, s < kApart - 1);
      fragment -= 32 * kApart;
    }
  }
}

/// sum = start + the mask times a component. The plane of a sample's high byte follows that of its
/// low byte.
template <int kWindowRows, int kBytes, int kBlocks>
__device__ __forceinline__ void add_digits(const TensorArguments& a, const TensorPlane& plane,
                                           int start, const TensorTile& tile,
                                           const std::uint8_t* from,
                                           int (&sum)[kBlocks][kRows][4]) {
  // Digit d times byte b counts 256^(d + b).
  int power = a.digits + kBytes - 2;
  begin_sums(power == 0, start, sum);
  const int size = 32 * a.tiles.window.windows_down * a.tiles.window.segments;
#pragma unroll 1
  for (;; --power) {
#pragma unroll 1
    for (int byte = 0; byte < kBytes; ++byte) {
      const int digit = power - byte;
      if (digit < 0 || digit >= a.digits) continue;
      add_digit<kWindowRows>(a, tile.pitch, from + byte * tile.rows * tile.pitch,
                             plane.fragments + threadIdx.x + (a.digits - 1 - digit) * size, sum);
    }
    if (power == 0) return;
    shift_sums(power == 1, start, sum);
  }
}

/// Quantises sixteen samples of a column, as they lie in memory: 4 kBytes words.
template <Quantiser kQuantiser, int kBytes>
__device__ __forceinline__ void quantise_column(const TensorPlane& plane, const TensorPhase& phase,
                                                int half, const int (&sum)[kRows][4],
                                                unsigned (&words)[4 * kBytes]) {
  if constexpr (kBytes == 1) {
    const uint4 vector =
        quantise_pair_column<kQuantiser>(sum, half, phase.general, plane.scale, phase.base);
    words[0] = vector.x;
    words[1] = vector.y;
    words[2] = vector.z;
    words[3] = vector.w;
  } else {
    quantise_to_samples<kQuantiser>(
        plane, phase, [&](int i) { return make_int2(sum[i][half], sum[i][2 + half]); }, words);
  }
}

/// The same with the quantiser that the arguments name.
template <int kBytes>
__device__ __forceinline__ void quantise_tile_column(const TensorArguments& a,
                                                     const TensorPlane& plane,
                                                     const TensorPhase& phase, int half,
                                                     const int (&sum)[kRows][4],
                                                     unsigned (&words)[4 * kBytes]) {
  with_quantiser(a.quantiser, [&](auto of) {
    quantise_column<decltype(of)::value, kBytes>(plane, phase, half, sum, words);
  });
}

/// Fills tile number `block` of a plane, filters it component by component, and stores it.
template <int kWindowRows, int kComponents, int kBytes>
__device__ __forceinline__ void filter_tile(const TensorArguments& a, const TensorPlane& plane,
                                            int block, std::uint8_t* memory) {
  constexpr int kBlocks = row_blocks(kComponents), kAcross = warps_across(kComponents);
  const TensorTile& tile = a.tiles.tile[kComponents == 1 ? 0 : 1];
  const int tile_row =
      static_cast<int>(plane.grid.tile_columns == 1
                           ? block
                           : __umulhi(static_cast<unsigned>(block), plane.grid.inner_reciprocal));
  const int tile_x = (block - tile_row * plane.grid.tile_columns) * kTensorTileBytes * kAcross;
  const int tile_y = tile_row * kTensorTileRows;
  fill_tile<kComponents, kBytes>(a, plane, tile, {tile_x - tile.margin, tile_y - a.anchor_y},
                                 memory, static_cast<int>(threadIdx.x + 32 * threadIdx.y));
  wait_for_copies();
  __syncthreads();

  const int lane = threadIdx.x, t = lane % 4, c = lane / 8 + 4 * (lane / 4 % 2);
  const int across = threadIdx.y % kAcross, top = threadIdx.y / kAcross * kRows * kBlocks;
  const int x = kTensorTileBytes * across;
  // Where the lane reads operand B in the tile, and where its outputs lie there.
  const int window_at = (top + (kWindowRows == 2 ? t / 2 : 0)) * tile.pitch + tile.margin -
                        a.tiles.window.left + x + kColumnBytes * c +
                        8 * (kWindowRows == 2 ? t % 2 : t);
  const int own = (top + a.anchor_y + lane / 4) * tile.pitch + tile.margin + x + kColumnBytes * t;
  constexpr int kFar = 4 * kColumnBytes;
  unsigned samples[kBlocks][2][kComponents][4 * kBytes];
#pragma unroll
  for (int k = 0; k < kComponents; ++k) {
    const TensorPhase& phase = plane.phase[k];
    const std::uint8_t* const component = memory + k * kBytes * tile.rows * tile.pitch;
    if constexpr (kComponents > 1 && kBytes == 1) {
      if (!phase.filtered) {
#pragma unroll
        for (int half = 0; half < 2; ++half)
          *reinterpret_cast<uint4*>(samples[0][half][k]) =
              *reinterpret_cast<const uint4*>(component + own + kFar * half);
        continue;
      }
    }
    int sum[kBlocks][kRows][4];
    add_digits<kWindowRows, kBytes>(a, plane, phase.start, tile, component + window_at, sum);
#pragma unroll
    for (int b = 0; b < kBlocks; ++b)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        quantise_tile_column<kBytes>(a, plane, phase, half, sum[b], samples[b][half][k]);
  }
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    const int row = tile_y + top + kRows * b + lane / 4;
    if (row >= plane.rows) break;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int at = (tile_x + x + kColumnBytes * t + kFar * half) * kComponents * kBytes;
      const int room = plane.row_bytes - at;
      const bool whole =
          room >= kChunk * kComponents * kBytes && aligned(plane.dst, plane.dst_pitch, kChunk);
      store_pixels<kBytes>(plane.dst + row * plane.dst_pitch + at, room, whole, samples[b][half]);
    }
  }
}

/// Blocks that a processor is to hold. Three and four components are summed one at a time in half
/// the registers: five blocks take 52.8 us for 55.9 with RGBA, 43.8 for 46.6 with BGR (15x15, 4K,
/// H100), where with one component they take 36.1 for 33.6 (31x31).
CONVOLVE_HD constexpr int resident(unsigned kinds) {
  return kinds == 0b100 || kinds == 0b1000 ? 5 : 4;
}

/// kKinds: TensorTiles::kinds.
template <int kWindowRows, unsigned kKinds>
__global__ void __launch_bounds__(32 * kWarps, resident(kKinds))
    tensor_tile_kernel(const __grid_constant__ TensorArguments a) {
  extern __shared__ __align__(16) std::uint8_t memory[];
  admit_next_launch();
  const TensorPlane& plane = plane_of_block(a);
  const int block = static_cast<int>(blockIdx.x) - plane.first_block;
  await_previous_launch();
  if constexpr (kKinds == 0b11) {
    if (plane.period == 1)
      filter_tile<kWindowRows, 1, 1>(a, plane, block, memory);
    else
      filter_tile<kWindowRows, 2, 1>(a, plane, block, memory);
  } else if constexpr (kKinds == 0b110000) {
    if (plane.period == 1)
      filter_tile<kWindowRows, 1, 2>(a, plane, block, memory);
    else
      filter_tile<kWindowRows, 2, 2>(a, plane, block, memory);
  } else {
    constexpr int kComponents = kKinds == 0b1 ? 1 : kKinds == 0b10000 ? 1 : kKinds == 0b100 ? 3 : 4;
    filter_tile<kWindowRows, kComponents, kKinds == 0b10000 ? 2 : 1>(a, plane, block, memory);
  }
}

template <int kWindowRows>
TensorKernel select_kinds(unsigned kinds) {
  switch (kinds) {
    case 0b1:
      return tensor_tile_kernel<kWindowRows, 0b1>;
    case 0b100:
      return tensor_tile_kernel<kWindowRows, 0b100>;
    case 0b1000:
      return tensor_tile_kernel<kWindowRows, 0b1000>;
    case 0b10000:
      return tensor_tile_kernel<kWindowRows, 0b10000>;
    case 0b100000:
    case 0b110000:
      return tensor_tile_kernel<kWindowRows, 0b110000>;
    default:
      return tensor_tile_kernel<kWindowRows, 0b11>;
  }
}

TensorKernel select_kernel(const TensorArguments& a) {
  return a.tiles.window.window_rows == 2 ? select_kinds<2>(a.tiles.kinds)
                                         : select_kinds<1>(a.tiles.kinds);
}

cudaError_t load(const TensorArguments& arguments) {
  return load_kernel(select_kernel(arguments), arguments.tiles.bytes);
}

cudaError_t launch(const TensorArguments& arguments, cudaStream_t stream) {
  return launch_warps(select_kernel(arguments), arguments, arguments.tiles.bytes, stream);
}

}  // namespace

const TensorLauncher kTensorTilesLauncher = {load, nullptr, launch};

}  // namespace convolve
