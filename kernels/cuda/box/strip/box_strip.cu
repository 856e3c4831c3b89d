// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `box` on tensor cores: planes of one 8-bit component under masks of up to 257 rows, at a
// cost that hardly depends on the mask.
//
// A block walks down a strip, 16 rows at a time, and has warps for each part of it:
//
//   rows      one warp brings what batches to come see into a ring of shared memory;
//   columns   a thread keeps the sum of the rows below the mask for four columns: a row enters, a
//             row leaves. It writes high and low bytes of its sums apart;
//   windows   a warp makes 64 outputs of eight rows: products of column sums with a band of ones.
//             Chunks of 32 columns in which windows begin or end take a band of their own; those
//             between are part of all windows, and are added up once, by a matrix of ones.
//
// All meet once a batch. Columns are summed once a row for all outputs that see them, and the mask
// is nothing but the ends of its windows: there are no weights to load.
//
// What binds (H100, 127x127) is latency: issue slots are busy a third of the time, and a third of
// it warps, of which there are few as windows and their bands take registers, stand at the barrier
// of a batch. Not known is for whom; blocks at the sides gather ghosts byte by byte.
#include "kernels/cuda/box/strip/box_strip.h"

#include "kernels/cuda/box/box_codes.cuh"
#include "kernels/cuda/box/strip/box_strip.cuh"
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/device/tensor_mma.cuh"

namespace convolve {
namespace {

/// Window sums of a warp, and their codes. kPartial: chunks with a band of their own; kWhole: there
/// are others between the first two and the last two of them.
template <int kPartial, bool kWhole>
class WindowSums {
 public:
  static constexpr bool kWide = kPartial == kStripMostPartial;

  __device__ WindowSums(const Strip<kWide>& strip, const LaunchArguments& a, int warp)
      : strip_(strip),
        lane_(static_cast<int>(threadIdx.x % 32)),
        row_(8 * (warp % kGroups)),
        end_(min(a.tile_height, strip.group.height - strip.y0)) {
    const BoxReach reach = box_reach(a.mask.width, a.mask.anchor_x);
    const GroupArguments& group = strip.group;
    const int across = kStripUnit * (warp / kGroups), x = strip.x0 + across + 4 * (lane_ / 4);
    whole_ = reach.chunks - kPartial;
    from_ = (row_ + lane_ / 4) * kSumPitch + reach.skip + across + 8 * (lane_ % 4);
    to_ = group.dst + strip.channel.offset + (strip.y0 + row_ + 2 * (lane_ % 4)) * group.dst_pitch +
          x;
    width_ = group.width - x;
    fast_ = strip.channel.division.plain && strip.x0 + across + kStripUnit <= group.width &&
            aligned(group.dst + strip.channel.offset, group.dst_pitch, 4);
#pragma unroll
    for (int p = 0; p < kPartial; ++p)
#pragma unroll
      for (int half = 0; half < 2; ++half)
        band_[p][half] = band(chunk_of(p), half, reach.first);
  }

  /// Outputs of a batch.
  __device__ __forceinline__ void make(int batch) const {
    const int room = end_ - batch * kStripBatch - row_;
    if (room <= 0) return;
    const BoxDivision& division = strip_.channel.division;
    const std::uint8_t* const high = strip_.sums(batch) + from_;
    const std::uint8_t* const low = high + kStripBatch * kSumPitch;
    int h[2][2][4], l[2][2][4];  // 32 outputs, half of them.
    start(high, low, division.plain ? static_cast<int>(division.offset) : 0, h, l);
#pragma unroll
    for (int c = 0; c <= kPartial; ++c) {
      // The second 32 outputs see by band c - 1 what the first ones see by band c; behind the
      // chunks in the middle the same holds.
      if (kWhole && c == 2) {
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
    if (fast_ && room >= 8) {
#pragma unroll
      for (int line = 0; line < 2; ++line)
#pragma unroll
        for (int s = 0; s < 2; ++s)
          *reinterpret_cast<unsigned*>(to + line * pitch + 32 * s) =
              plain_codes(division, h[s], l[s], line);
      return;
    }
#pragma unroll
    for (int line = 0; line < 2; ++line)
#pragma unroll
      for (int s = 0; s < 2; ++s) {
        const unsigned codes =
            division.plain ? plain_codes(division, h[s], l[s], line)
                           : other_codes(strip_.channel, strip_.mask.width * strip_.mask.height,
                                         sum_of(h[s], l[s], line, 0), sum_of(h[s], l[s], line, 1),
                                         sum_of(h[s], l[s], line, 2), sum_of(h[s], l[s], line, 3));
        if (2 * (lane_ % 4) + line < room) store(to + line * pitch + 32 * s, 32 * s, codes);
      }
  }

 private:
  static constexpr int kGroups = kStripBatch / 8;  ///< Of eight rows.
  static constexpr int kSumPitch = Strip<kWide>::kSumPitch;

  /// Where the chunk of a band lies.
  __device__ int chunk_of(int p) const {
    return kWhole && p >= 2 ? p + whole_ : p;
  }

  /// Operand A for outputs 4 (m % 8) + 2 half + m / 8: 1 where the window has the column.
  __device__ uint4 band(int chunk, int half, int first) const {
    unsigned word[4];
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      const int output = 4 * (lane_ / 4) + 2 * half + w % 2;
      const int tap = 32 * chunk + 8 * (lane_ % 4) + 4 * (w / 2) - output - first;
      // Bytes before the window, and up to its end.
      const int before = min(max(-tap, 0), 4), until = min(max(strip_.mask.width - tap, 0), 4);
      word[w] = __funnelshift_lc(0, 0x01010101u, 8 * before) &
                __funnelshift_rc(0x01010101u, 0, 8 * (4 - until));
    }
    return make_uint4(word[0], word[1], word[2], word[3]);
  }

  static __device__ __forceinline__ uint2 load(const std::uint8_t* sums, int chunk) {
    return *reinterpret_cast<const uint2*>(sums + 32 * chunk);
  }

  /// What the sums begin with: the offset, and the chunks that all windows have.
  __device__ __forceinline__ void start(const std::uint8_t* high, const std::uint8_t* low,
                                        int offset, int (&h)[2][2][4], int (&l)[2][2][4]) const {
    int all_h[2][4] = {}, all_l[2][4];
#pragma unroll
    for (int s = 0; s < 2; ++s)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        all_l[s][k] = offset;
    if constexpr (kWhole) {
      const uint4 ones = make_uint4(0x01010101u, 0x01010101u, 0x01010101u, 0x01010101u);
      // Chunks that the first and the second 32 outputs share, and then one that only these have.
#pragma unroll 2
      for (int c = 3; c < 2 + whole_; ++c) {
        multiply(all_h[0], ones, load(high, c), all_h[0]);
        multiply(all_l[0], ones, load(low, c), all_l[0]);
      }
      multiply(all_h[1], ones, load(high, 2 + whole_), all_h[0]);
      multiply(all_l[1], ones, load(low, 2 + whole_), all_l[0]);
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
      multiply(h[s][half], band_[p][half], high_bytes, h[s][half]);
      multiply(l[s][half], band_[p][half], low_bytes, l[s][half]);
    }
  }

  /// Window sum `i` of four adjacent ones.
  static __device__ __forceinline__ unsigned sum_of(const int (&h)[2][4], const int (&l)[2][4],
                                                    int line, int i) {
    const int k = 2 * (i % 2) + line;
    return static_cast<unsigned>(h[i / 2][k] * 256 + l[i / 2][k]);
  }

  /// Of sums that have the offset.
  static __device__ __forceinline__ unsigned plain_codes(const BoxDivision& division,
                                                         const int (&h)[2][4], const int (&l)[2][4],
                                                         int line) {
    unsigned product[4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
      product[i] = __umulhi(sum_of(h, l, line, i), division.reciprocal);
    const unsigned pair = static_cast<unsigned>(division.shift) / 8 * 0x11 + 0x40;
    return __byte_perm(__byte_perm(product[0], product[1], pair),
                       __byte_perm(product[2], product[3], pair), 0x5410);
  }

  /// Four codes, those of them that lie in the picture; `x` from the lane's first output on.
  __device__ __forceinline__ void store(std::uint8_t* to, int x, unsigned codes) const {
#pragma unroll
    for (int i = 0; i < 4; ++i)
      if (x + i < width_) to[i] = static_cast<std::uint8_t>(codes >> (8 * i));
  }

  const Strip<kWide>& strip_;
  int lane_;
  int row_;           ///< Of the warp's first output, in the batch.
  int end_;           ///< Rows of the strip.
  std::uint8_t* to_;  ///< The lane's first output,
  int width_;         ///< and how many samples the row has from there on.
  bool fast_;         ///< The warp's words lie in the picture and can be stored as such.
  int whole_;
  int from_;  ///< What the lane sees of the first chunk.
  uint4 band_[kPartial][2];
};

template <int kPartial, bool kWhole>
__global__ void __launch_bounds__(strip_most_threads(kPartial == kStripMostPartial),
                                  strip_most_blocks(kPartial == kStripMostPartial))
    box_strip_kernel(const __grid_constant__ LaunchArguments a) {
  constexpr bool kWide = kPartial == kStripMostPartial;
  extern __shared__ __align__(16) std::uint8_t memory[];
  admit_next_launch();
  const Strip<kWide> strip(a, memory);
  const StripLayout& layout = strip.layout;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int warps = static_cast<int>(blockDim.x / 32), columns = strip_columns(layout);
  const int before = a.mask.height - 1;
  constexpr int kRawPitch = Strip<kWide>::kRawPitch;
  for (int row = static_cast<int>(threadIdx.x); row < layout.rows + kStripBatch; row += 32 * warps)
    memory[(row + 1) * kRawPitch - 16] = static_cast<std::uint8_t>(strip.channel.black);
  __shared__ Barrier barriers[RowLoader<kWide>::kBarriers];
  RowLoader<kWide> loader(strip, barriers);
  if (threadIdx.x == 0) loader.initialise(before + kStripBatch);
  __syncthreads();
  await_previous_launch();

  const bool loads = warp == columns;
  const int batches = divide_up(min(a.tile_height, a.group.height - strip.y0), kStripBatch);
  int leaving = strip.first_slot(), entering = leaving + before * kRawPitch;
  loader.load_first(before + kStripBatch, warp, warps);
  // Of the batch that is asked for next.
  int coming = strip.next_slot(entering);
  const auto ask_for = [&](int batch) {
    if (batch < batches) loader.load(batch, coming, before + batch * kStripBatch);
    end_stage();
  };
#pragma unroll 1
  for (int batch = 1; batch < kStripAhead; ++batch, coming = strip.next_slot(coming))
    if (loads) ask_for(batch);
  const ColumnWalk<kWide> walk(strip, 32 * (warp % columns) + lane);
  const WindowSums<kPartial, kWhole> windows(strip, a, max(warp - columns - 1, 0));
  loader.wait_for_first();
  __syncthreads();

  // The rows above the last of the first window, in shares.
  const int shares = warps / columns, share = warp / columns;
  uint2* const parts =
      reinterpret_cast<uint2*>(memory + layout.sums) + 32 * (warp % columns) + lane;
  if (share < shares) parts[share * 32 * columns] = walk.add_up(share, before, shares);
  __syncthreads();
  uint2 sum = make_uint2(0, 0);
  if (warp < columns)
    for (int s = 0; s < shares; ++s) {
      sum.x += parts[s * 32 * columns].x;
      sum.y += parts[s * 32 * columns].y;
    }
  __syncthreads();

#pragma unroll 1
  for (int step = 0; step <= batches; ++step) {
    if (warp < columns) {
      if (step < batches) walk.walk(step, entering, leaving, sum);
    } else if (loads) {
      ask_for(step + kStripAhead);
      wait_for_stages<kStripAhead - 1>();
      if (step + 1 < batches) loader.wait(step + 1);
    } else if (step > 0) {
      windows.make(step - 1);
    }
    entering = strip.next_slot(entering);
    leaving = strip.next_slot(leaving);
    coming = strip.next_slot(coming);
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
