// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `box` in strips, on tensor cores: masks of equal weights and up to 257 rows over planes of
// one 8-bit component, at a cost that hardly depends on the size of the mask.
//
// A block slides down a strip, a batch of 16 rows at a time, and has warps for each part of the
// work:
//
//   rows      one warp copies what later batches need into a ring buffer in shared memory;
//   columns   a thread keeps the sums of the rows below the mask for four columns: a row enters, a
//             row leaves. It stores the high and the low bytes of its sums apart, as operands of
//             products;
//   windows   a warp makes 64 outputs of eight rows, as products of column sums with a banded
//             matrix of ones. Partial chunks of 32 columns, in which windows begin or end, have a
//             matrix each; full chunks between them belong to all windows and are added up once,
//             by a matrix of ones.
//
// All warps meet at one barrier a batch. Columns are summed once a row for all outputs that see
// them, and there are no weights to load: the mask is only where windows begin and end.
//
// What binds (H100, 127x127) is latency. Issue slots are busy a third of the time. The warps, which
// are few because windows and matrices take many registers, wait a third of the time at the barrier
// of a batch. It is not known which warps they wait for; blocks at the picture's sides read ghosts
// byte by byte.
#include "kernels/cuda/box/strip/box_strip.h"

#include "kernels/cuda/box/box_quantiser.cuh"
#include "kernels/cuda/box/strip/box_strip.cuh"
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/device/tensor_mma.cuh"

namespace convolve {
namespace {

/// Window sums of a warp, and their code values. kPartial: how many chunks have a matrix of their
/// own; kFull: there are full chunks between the first two and the last two of them.
template <int kPartial, bool kFull>
class WindowSums {
 public:
  static constexpr bool kWide = kPartial == kStripMostPartial;

  __device__ WindowSums(const Strip<kWide>& strip, const LaunchArguments& a, int warp)
      : strip_(strip),
        lane_(static_cast<int>(threadIdx.x % 32)),
        row_(8 * (warp % kRowTiles)),
        end_(min(a.tile_height, strip.group.height - strip.y0)) {
    const BoxReach reach = box_reach(a.mask.width, a.mask.anchor_x);
    const GroupArguments& group = strip.group;
    const int across = kStripWarpTile * (warp / kRowTiles), x = strip.x0 + across + 4 * (lane_ / 4);
    full_ = reach.chunks - kPartial;
    from_ = (row_ + lane_ / 4) * kSumPitch + reach.skip + across + 8 * (lane_ % 4);
    to_ = group.dst + strip.channel.offset + (strip.y0 + row_ + 2 * (lane_ % 4)) * group.dst_pitch +
          x;
    width_ = group.width - x;
    fast_ = strip.channel.division.plain && strip.x0 + across + kStripWarpTile <= group.width &&
            aligned(group.dst + strip.channel.offset, group.dst_pitch, 4);
#pragma unroll
    for (int p = 0; p < kPartial; ++p)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        banded_[p][half] = banded_matrix(chunk_of(p), half, reach.first);
  }

  /// Makes the warp's outputs of a batch.
  __device__ __forceinline__ void make(int batch) const {
    const int rows_left = end_ - batch * kStripBatch - row_;
    if (rows_left <= 0) return;
    const BoxDivision& division = strip_.channel.division;
    const std::uint8_t* const high = strip_.sums(batch) + from_;
    const std::uint8_t* const low = high + kStripBatch * kSumPitch;
    // Sums of high and low bytes, by: which 32 outputs, which half of them, which sum of a lane.
    int h[2][2][4], l[2][2][4];
    initialise(high, low, division.plain ? static_cast<int>(division.offset) : 0, h, l);
#pragma unroll
    for (int c = 0; c <= kPartial; ++c) {
      // A matrix that chunk c takes for the first 32 outputs, chunk c + 1 takes for the second 32.
      // The chunks after the full ones are counted in the same way.
      if (kFull && c == 2) {
        add(1, 1, high, low, 2, h, l);
        add(0, 2, high, low, chunk_of(2), h, l);
        continue;
      }
      const int chunk = c < 2 ? c : chunk_of(c);
      if (c < kPartial) add(0, c, high, low, chunk, h, l);
      if (c > 0) add(1, c - 1, high, low, chunk, h, l);
    }
    const std::int64_t pitch = strip_.group.dst_pitch;
    std::uint8_t* const to = to_ + batch * kStripBatch * pitch;
    if (fast_ && rows_left >= 8) {
#pragma unroll
      for (int row = 0; row < 2; ++row)
#pragma unroll
        for (int s = 0; s < 2; ++s)
          *reinterpret_cast<unsigned*>(to + row * pitch + 32 * s) =
              quantise_plain(division, h[s], l[s], row);
      return;
    }
#pragma unroll
    for (int row = 0; row < 2; ++row)
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const unsigned codes =
            division.plain ? quantise_plain(division, h[s], l[s], row)
                           : quantise_four(strip_.channel, strip_.mask.width * strip_.mask.height,
                                           sum_of(h[s], l[s], row, 0), sum_of(h[s], l[s], row, 1),
                                           sum_of(h[s], l[s], row, 2), sum_of(h[s], l[s], row, 3));
        if (2 * (lane_ % 4) + row < rows_left) store(to + row * pitch + 32 * s, 32 * s, codes);
      }
  }

 private:
  static constexpr int kRowTiles = kStripBatch / 8;  ///< Tiles of eight rows in a batch.
  static constexpr int kSumPitch = Strip<kWide>::kSumPitch;

  /// The chunk that matrix `p` belongs to, for the first 32 outputs.
  __device__ int chunk_of(int p) const {
    return kFull && p >= 2 ? p + full_ : p;
  }

  /// The part of the banded matrix in a chunk, as operand A: row m is for output 4 (m % 8) + 2 half
  /// + m / 8, and has 1 in the columns that its window covers.
  __device__ uint4 banded_matrix(int chunk, int half, int first) const {
    unsigned word[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const int output = 4 * (lane_ / 4) + 2 * half + w % 2;
      const int tap = 32 * chunk + 8 * (lane_ % 4) + 4 * (w / 2) - output - first;
      // How many of a word's four bytes lie before the window, and how many before its end.
      const int before = min(max(-tap, 0), 4), until = min(max(strip_.mask.width - tap, 0), 4);
      word[w] = __funnelshift_lc(0, 0x01010101u, 8 * before) &
                __funnelshift_rc(0x01010101u, 0, 8 * (4 - until));
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
  }

  static __device__ __forceinline__ uint2 load(const std::uint8_t* sums, int chunk) {
    return *reinterpret_cast<const uint2*>(sums + 32 * chunk);
  }

  /// Initialises the sums with the division's offset and the full chunks, which all windows have.
  __device__ __forceinline__ void initialise(const std::uint8_t* high, const std::uint8_t* low,
                                             int offset, int (&h)[2][2][4],
                                             int (&l)[2][2][4]) const {
    int all_h[2][4] = {}, all_l[2][4];
#pragma unroll
    for (int s = 0; s < 2; ++s)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        all_l[s][k] = offset;
    if constexpr (kFull) {
      const uint4 ones = make_uint4(0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u);
      // First the chunks that all 64 windows have, then the one that only the second 32 have, and
      // the one that only the first 32 have.
#pragma unroll 2
      for (int c = 3; c < 2 + full_; ++c) {
        multiply(all_h[0], ones, load(high, c), all_h[0]);
        multiply(all_l[0], ones, load(low, c), all_l[0]);
      }
      multiply(all_h[1], ones, load(high, 2 + full_), all_h[0]);
      multiply(all_l[1], ones, load(low, 2 + full_), all_l[0]);
      multiply(all_h[0], ones, load(high, 2), all_h[0]);
      multiply(all_l[0], ones, load(low, 2), all_l[0]);
    }
#pragma unroll
    for (int s = 0; s < 2; ++s)
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          h[s][half][k] = all_h[s][k];
          l[s][half][k] = all_l[s][k];
        }
  }

  __device__ __forceinline__ void add(int s, int p, const std::uint8_t* high,
                                      const std::uint8_t* low, int chunk, int (&h)[2][2][4],
                                      int (&l)[2][2][4]) const {
    const uint2 high_bytes = load(high, chunk), low_bytes = load(low, chunk);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      multiply(h[s][half], banded_[p][half], high_bytes, h[s][half]);
      multiply(l[s][half], banded_[p][half], low_bytes, l[s][half]);
    }
  }

  /// Window sum `i` of the lane's four adjacent ones in a row.
  static __device__ __forceinline__ unsigned sum_of(const int (&h)[2][4], const int (&l)[2][4],
                                                    int row, int i) {
    const int k = 2 * (i % 2) + row;
    return static_cast<unsigned>(h[i / 2][k] * 256 + l[i / 2][k]);
  }

  /// Code values of a plain division, of sums that include the offset.
  static __device__ __forceinline__ unsigned quantise_plain(const BoxDivision& division,
                                                            const int (&h)[2][4],
                                                            const int (&l)[2][4], int row) {
    unsigned product[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      product[i] = __umulhi(sum_of(h, l, row, i), division.reciprocal);
    const unsigned selector = static_cast<unsigned>(division.shift) / 8 * 0x11 + 0x40;
    return __byte_perm(__byte_perm(product[0], product[1], selector),
                       __byte_perm(product[2], product[3], selector), 0x5410);
  }

  /// Stores those of four code values that lie in the picture; `x`: how far they are from the
  /// lane's first output.
  __device__ __forceinline__ void store(std::uint8_t* to, int x, unsigned codes) const {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (x + i < width_) to[i] = static_cast<std::uint8_t>(codes >> (8 * i));
  }

  const Strip<kWide>& strip_;
  int lane_;
  int row_;           ///< The row of the warp's first output in a batch.
  int end_;           ///< Rows of the strip in the picture.
  std::uint8_t* to_;  ///< Where the lane's first output goes,
  int width_;         ///< and how many samples the row has from there on.
  bool fast_;         ///< All words of the warp lie in the picture and are stored whole.
  int full_;
  int from_;  ///< The byte of the column sums where the lane's part of chunk 0 lies.
  uint4 banded_[kPartial][2];
};

template <int kPartial, bool kFull>
__global__ void __launch_bounds__(strip_most_threads(kPartial == kStripMostPartial),
                                  strip_most_blocks(kPartial == kStripMostPartial))
    box_strip_kernel(const __grid_constant__ LaunchArguments a) {
  constexpr bool kWide = kPartial == kStripMostPartial;
  extern __shared__ __align__(16) std::uint8_t memory[];
  admit_next_launch();
  const Strip<kWide> strip(a, memory);
  const StripLayout& layout = strip.layout;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int warps = static_cast<int>(blockDim.x / 32), column_warps = strip_column_warps(layout);
  const int before = a.mask.height - 1;
  constexpr int kRawPitch = Strip<kWide>::kRawPitch;
  for (int row = static_cast<int>(threadIdx.x); row < layout.rows + kStripBatch; row += 32 * warps)
    memory[(row + 1) * kRawPitch - 16] = static_cast<std::uint8_t>(strip.channel.black);
  __shared__ Barrier barriers[RowLoader<kWide>::kBarriers];
  RowLoader<kWide> loader(strip, barriers);
  if (threadIdx.x == 0) loader.initialise(before + kStripBatch);
  __syncthreads();
  await_previous_launch();

  const bool loads = warp == column_warps;
  const int batches = divide_up(min(a.tile_height, a.group.height - strip.y0), kStripBatch);
  int leaving = strip.first_slot(), entering = leaving + before * kRawPitch;
  loader.load_first(before + kStripBatch, warp, warps);
  // The slot of the batch that is prefetched next.
  int prefetch_slot = strip.next_slot(entering);
  const auto prefetch = [&](int batch) {
    if (batch < batches) loader.load(batch, prefetch_slot, before + batch * kStripBatch);
    end_stage();
  };
#pragma unroll 1
  for (int batch = 1; batch < kStripPrefetch;
       ++batch, prefetch_slot = strip.next_slot(prefetch_slot))
    if (loads) prefetch(batch);
  const SlidingColumns<kWide> sliding(strip, 32 * (warp % column_warps) + lane);
  const WindowSums<kPartial, kFull> windows(strip, a, max(warp - column_warps - 1, 0));
  loader.wait_for_first();
  __syncthreads();

  // The initial column sums: the rows below the mask of the first output row but the last one. They
  // are split among all warps, whose partial sums are then added.
  const int splits = warps / column_warps, split = warp / column_warps;
  uint2* const partials =
      reinterpret_cast<uint2*>(memory + layout.sums) + 32 * (warp % column_warps) + lane;
  if (split < splits) partials[split * 32 * column_warps] = sliding.sum_rows(split, before, splits);
  __syncthreads();
  uint2 sum = make_uint2(0, 0);
  if (warp < column_warps)
    for (int s = 0; s < splits; ++s) {
      sum.x += partials[s * 32 * column_warps].x;
      sum.y += partials[s * 32 * column_warps].y;
    }
  __syncthreads();

#pragma unroll 1
  for (int batch = 0; batch <= batches; ++batch) {
    if (warp < column_warps) {
      if (batch < batches) sliding.slide(batch, entering, leaving, sum);
    } else if (loads) {
      prefetch(batch + kStripPrefetch);
      wait_for_stages<kStripPrefetch - 1>();
      if (batch + 1 < batches) loader.wait(batch + 1);
    } else if (batch > 0) {
      windows.make(batch - 1);
    }
    entering = strip.next_slot(entering);
    leaving = strip.next_slot(leaving);
    prefetch_slot = strip.next_slot(prefetch_slot);
    __syncthreads();
  }
}

BoxReach reach_of(const LaunchArguments& a) {
  return box_reach(a.mask.width, a.mask.anchor_x);
}

Kernel select_kernel(const LaunchArguments& a) {
  switch (reach_of(a).chunks) {
    case 2:
      return box_strip_kernel<2, false>;
    case 3:
      return box_strip_kernel<3, false>;
    case kStripMostPartial:
      return box_strip_kernel<kStripMostPartial, false>;
    default:
      return box_strip_kernel<kStripMostPartial, true>;
  }
}

StripLayout layout_of(const LaunchArguments& a) {
  return strip_layout(a.tile_width, a.mask.width, a.mask.height, a.mask.anchor_x);
}

}  // namespace

cudaError_t load_box_strip(const LaunchArguments& arguments) {
  return load_kernel(select_kernel(arguments),
                     static_cast<std::size_t>(layout_of(arguments).bytes));
}

cudaError_t launch_box_strip(const LaunchArguments& arguments, cudaStream_t stream) {
  const StripLayout layout = layout_of(arguments);
  return launch_overlapping(
      select_kernel(arguments),
      grid_of_tiles(arguments.group, arguments.tile_width, arguments.tile_height),
      dim3(static_cast<unsigned>(strip_threads(arguments.tile_width, layout))),
      static_cast<std::size_t>(layout.bytes), stream, arguments);
}

}  // namespace convolve
