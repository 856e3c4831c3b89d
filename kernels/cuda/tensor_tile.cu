// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `tensor` for wide masks: products of 8 rows x 2 adjacent samples from tiles of shared
// memory.
//
// The products are those of tensor_pairs.cu, with windows of 16 samples in two picture rows or of
// 32 in one, and as many of these side by side as the mask is wide: (K + 7) / 2 or K + 7 groups of
// picture rows for 128 x 8 outputs, where a product for each mask row and window of 16 outputs
// takes K, or 2 K. A tile holds each interleaved component as a plane of its own, so that no
// product meets another component's samples: RGBA costs as much as four grey pictures, not as a
// mask four times as wide. What lies in registers serves two blocks of eight rows where there is
// one component.
//
// What binds (H100): products, 6 clocks of a tensor core each, and beside each eight of them some
// twenty instructions that load and align the 24 bytes they see.
#include "kernels/cuda/tensor_pair.cuh"
#include "kernels/cuda/tensor_tile.cuh"

namespace convolve {
namespace {

/// Blocks of 8 output rows of a warp, and warps side by side.
CONVOLVE_HD constexpr int row_blocks(int step) {
  return step == 1 ? 2 : 1;
}
CONVOLVE_HD constexpr int warps_across(int step) {
  return step == 1 ? 2 : 1;
}

/// permute() with selectors that are known at run time only.
__device__ __forceinline__ unsigned select_bytes(unsigned low, unsigned high, unsigned select) {
  unsigned made;
  asm volatile("prmt.b32 %0, %1, %2, %3;" : "=r"(made) : "r"(low), "r"(high), "r"(select));
  return made;
}

/// What a lane sees of a group of picture rows.
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

  /// The window of product i.
  __device__ __forceinline__ uint2 window(int i, unsigned even) const {
    const unsigned select = i % 2 == 0 ? even : even + 0x2222;
    return make_uint2(select_bytes(words[i / 2], words[i / 2 + 1], select),
                      select_bytes(words[i / 2 + 1], words[i / 2 + 2], select));
  }
};

/// sum += a digit of the mask times what a lane sees from `from` on; returns the next digit's
/// fragments. What a step needs is loaded a step before, the last time for none: tile and fragments
/// have room for that.
template <int kGroupRows, int kBlocks>
__device__ __forceinline__ const uint4* add_digit(const TensorArguments& a, int pitch,
                                                  const std::uint8_t* from, const uint4* fragment,
                                                  int (&sum)[kBlocks][kRows][4]) {
  constexpr int kApart = kRows / kGroupRows;
  const unsigned even = 0x3210 + 0x1111 * a.window.shift;
  const int down = kGroupRows * pitch, steps = a.window.steps;
#pragma unroll 1
  for (int segment = 0; segment < a.window.segments; ++segment) {
    const std::uint8_t* at = from + kWindowBytes * segment;
    TileWords next;
    next.load(at);
    uint4 next_upper = __ldg(fragment), next_lower = next_upper;
    const auto step = [&](bool upper, bool lower, bool lower_next) {
      const TileWords seen = next;
      const uint4 upper_weights = next_upper, lower_weights = next_lower;
      at += down;
      fragment += 32;
      next.load(at);
      if (upper) next_upper = __ldg(fragment);
      if (lower_next) next_lower = __ldg(fragment - 32 * kApart);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const uint2 window = seen.window(i, even);
        if (upper) multiply(sum[0][i], upper_weights, window, sum[0][i]);
        if (lower) multiply(sum[kBlocks - 1][i], lower_weights, window, sum[kBlocks - 1][i]);
      }
    };
    if constexpr (kBlocks == 1) {
#pragma unroll 2
      for (int s = 0; s < steps; ++s)
        step(true, false, false);
    } else {
#pragma unroll
      for (int s = 0; s < kApart; ++s)
        step(true, false, s == kApart - 1);
#pragma unroll 2
      for (int s = kApart; s < steps; ++s)
        step(true, true, true);
#pragma unroll
      for (int s = 0; s < kApart; ++s)
        step(false, true, s < kApart - 1);
      fragment -= 32 * kApart;
    }
  }
  return fragment;
}

template <int kGroupRows, int kBlocks>
__device__ __forceinline__ void add_digits(const TensorArguments& a, const TensorPlane& plane,
                                           int start, int pitch, const std::uint8_t* from,
                                           int (&sum)[kBlocks][kRows][4]) {
#pragma unroll
  for (int b = 0; b < kBlocks; ++b)
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        sum[b][i][k] = a.digits == 1 ? start : 0;
  const uint4* fragment = plane.fragments + threadIdx.x;
#pragma unroll 1
  for (int left = a.digits - 1;; --left) {
    fragment = add_digit<kGroupRows>(a, pitch, from, fragment, sum);
    if (left == 0) return;
#pragma unroll
    for (int b = 0; b < kBlocks; ++b)
#pragma unroll
      for (int i = 0; i < kRows; ++i)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          sum[b][i][k] = sum[b][i][k] * 256 + (left == 1 ? start : 0);
  }
}

/// Sixteen codes of a column, as the frame's epilogue makes them.
__device__ __forceinline__ uint4 tile_codes(const TensorArguments& a, const TensorPlane& plane,
                                            const TensorPhase& phase, int half,
                                            const int (&sum)[kRows][4]) {
  switch (a.codes) {
    case Codes::kBits:
      return pair_codes<Codes::kBits>(sum, half, phase.general, plane.scale, phase.base);
    case Codes::kFloat:
      return pair_codes<Codes::kFloat>(sum, half, phase.general, plane.scale, phase.base);
    case Codes::kGeneral:
      break;
  }
  return pair_codes<Codes::kGeneral>(sum, half, phase.general, plane.scale, phase.base);
}

/// Words of kStep components side by side as they lie in memory: word n of 4 kStep.
template <int kStep>
__device__ __forceinline__ unsigned interleaved(const unsigned (&components)[kStep][4], int n) {
  const int w = n / kStep;
  if constexpr (kStep == 1) {
    return components[0][w];
  } else if constexpr (kStep == 2) {
    return __byte_perm(components[0][w], components[1][w], n % 2 == 0 ? 0x5140 : 0x7362);
  } else if constexpr (kStep == 3) {
    const unsigned x = components[0][w], y = components[1][w], z = components[2][w];
    // x0 y0 z0 x1, y1 z1 x2 y2, z2 x3 y3 z3
    return n % 3 == 0   ? __byte_perm(__byte_perm(x, y, 0x1040), z, 0x3410)
           : n % 3 == 1 ? __byte_perm(__byte_perm(x, y, 0x6205), z, 0x3250)
                        : __byte_perm(__byte_perm(x, y, 0x0730), z, 0x7216);
  } else {
    const int pixel = n % 4;
    const unsigned low = __byte_perm(components[0][w], components[1][w], 0x0040 + 0x0011 * pixel);
    const unsigned high = __byte_perm(components[2][w], components[3][w], 0x0040 + 0x0011 * pixel);
    return __byte_perm(low, high, 0x5410);
  }
}

/// Stores sixteen pixels from sample x of a row on.
template <int kStep>
__device__ __forceinline__ void store_pixels(const TensorPlane& plane, int x, int y,
                                             const unsigned (&components)[kStep][4]) {
  std::uint8_t* to = plane.dst + y * plane.dst_pitch + x * kStep;
  const int room = plane.row_bytes - x * kStep;
  if (room >= kChunk * kStep) {
#pragma unroll
    for (int i = 0; i < kStep; ++i)
      reinterpret_cast<uint4*>(to)[i] = make_uint4(
          interleaved<kStep>(components, 4 * i), interleaved<kStep>(components, 4 * i + 1),
          interleaved<kStep>(components, 4 * i + 2), interleaved<kStep>(components, 4 * i + 3));
    return;
  }
#pragma unroll
  for (int n = 0; n < 4 * kStep; ++n) {
    const unsigned word = interleaved<kStep>(components, n);
#pragma unroll
    for (int b = 0; b < 4; ++b)
      if (4 * n + b < room) to[4 * n + b] = static_cast<std::uint8_t>(word >> (8 * b));
  }
}

template <int kGroupRows, int kStep>
__device__ __forceinline__ void filter_tile(const TensorArguments& a, const TensorPlane& plane,
                                            int block, std::uint8_t* memory) {
  constexpr int kBlocks = row_blocks(kStep), kAcross = warps_across(kStep);
  const TensorTile& tile = a.tile[kStep == 1 ? 0 : 1];
  const int tile_row = static_cast<int>(
      plane.columns == 1 ? block : __umulhi(static_cast<unsigned>(block), plane.inner_reciprocal));
  const int tile_x = (block - tile_row * plane.columns) * kTensorTileBytes * kAcross;
  const int tile_y = tile_row * kTensorTileRows;
  fill_tile<kStep>(a, plane, tile, {tile_x - tile.margin, tile_y - a.anchor_y}, memory);
  wait_for_copies();
  __syncthreads();

  const int lane = threadIdx.x, t = lane % 4, c = lane / 8 + 4 * (lane / 4 % 2);
  const int across = threadIdx.y % kAcross, top = threadIdx.y / kAcross * kRows * kBlocks;
  const int x = kTensorTileBytes * across;
  // What the lane sees of operand B, and where the outputs it will have lie in the tile.
  const int seen = (top + (kGroupRows == 2 ? t / 2 : 0)) * tile.pitch + tile.margin -
                   a.window.left + x + kColumnBytes * c + 8 * (kGroupRows == 2 ? t % 2 : t);
  const int own = (top + a.anchor_y + lane / 4) * tile.pitch + tile.margin + x + kColumnBytes * t;
  constexpr int kFar = 4 * kColumnBytes;
  unsigned codes[kBlocks][2][kStep][4];
#pragma unroll
  for (int k = 0; k < kStep; ++k) {
    const TensorPhase& phase = plane.phase[k];
    const std::uint8_t* const component = memory + k * tile.rows * tile.pitch;
    const auto keep = [&](int b, int half, uint4 sixteen) {
      codes[b][half][k][0] = sixteen.x;
      codes[b][half][k][1] = sixteen.y;
      codes[b][half][k][2] = sixteen.z;
      codes[b][half][k][3] = sixteen.w;
    };
    if (kStep > 1 && !phase.filtered) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        keep(0, half, *reinterpret_cast<const uint4*>(component + own + kFar * half));
      continue;
    }
    int sum[kBlocks][kRows][4];
    add_digits<kGroupRows>(a, plane, phase.start, tile.pitch, component + seen, sum);
#pragma unroll
    for (int b = 0; b < kBlocks; ++b)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        keep(b, half, tile_codes(a, plane, phase, half, sum[b]));
  }
#pragma unroll
  for (int b = 0; b < kBlocks; ++b) {
    const int row = tile_y + top + kRows * b + lane / 4;
    if (row >= plane.rows) break;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      store_pixels<kStep>(plane, tile_x + x + kColumnBytes * t + kFar * half, row, codes[b][half]);
  }
}

/// kKinds: as for tensor_tile_serves().
template <int kGroupRows, unsigned kKinds>
__global__ void __launch_bounds__(32 * kWarps, 4)
    tensor_tile_kernel(const __grid_constant__ TensorArguments a) {
  extern __shared__ __align__(16) std::uint8_t memory[];
  int p = 0;
  while (p + 1 < a.plane_count && static_cast<int>(blockIdx.x) >= a.plane[p + 1].first_block)
    ++p;
  const TensorPlane& plane = a.plane[p];
  const int block = static_cast<int>(blockIdx.x) - plane.first_block;
  if constexpr ((kKinds & 1) != 0)
    if (kKinds == 1 || plane.period == 1) filter_tile<kGroupRows, 1>(a, plane, block, memory);
  if constexpr ((kKinds & 2) != 0)
    if (plane.period == 2) filter_tile<kGroupRows, 2>(a, plane, block, memory);
  if constexpr ((kKinds & 4) != 0) filter_tile<kGroupRows, 3>(a, plane, block, memory);
  if constexpr ((kKinds & 8) != 0) filter_tile<kGroupRows, 4>(a, plane, block, memory);
}

using TileKernel = void (*)(TensorArguments);

template <int kGroupRows>
TileKernel select_kinds(unsigned kinds) {
  return kinds == 1   ? tensor_tile_kernel<kGroupRows, 1>
         : kinds == 4 ? tensor_tile_kernel<kGroupRows, 4>
         : kinds == 8 ? tensor_tile_kernel<kGroupRows, 8>
                      : tensor_tile_kernel<kGroupRows, 3>;
}

TileKernel select_kernel(const TensorArguments& a) {
  return a.window.group_rows == 2 ? select_kinds<2>(a.tile_kinds) : select_kinds<1>(a.tile_kinds);
}

}  // namespace

bool tensor_tile_serves(unsigned kinds) {
  return kinds == 1 || kinds == 2 || kinds == 3 || kinds == 4 || kinds == 8;
}

cudaError_t load_tensor_tile(const TensorArguments& arguments) {
  return load_kernel(select_kernel(arguments), arguments.tile_bytes);
}

cudaError_t launch_tensor_tile(const TensorArguments& arguments, cudaStream_t stream) {
  TensorArguments by_value = arguments;
  void* parameters[] = {&by_value};
  return cudaLaunchKernel(reinterpret_cast<const void*>(select_kernel(arguments)),
                          dim3(static_cast<unsigned>(arguments.blocks)), dim3(32, kWarps),
                          parameters, arguments.tile_bytes, stream);
}

}  // namespace convolve
