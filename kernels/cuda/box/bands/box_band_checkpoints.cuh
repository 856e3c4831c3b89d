// SPDX-License-Identifier: LGPL-2.1-or-later
// Checkpoints of kernel `box` in bands: prefix sums down every column, stored after each interval
// of eight rows. With them a band makes its initial column sums from a few terms, however many rows
// the mask has: the sum over any intervals is the difference of two checkpoints, and what whole
// segments between them add.
//
// Layout: a block has 256 columns and up to 36 intervals in two segments, two warps each. A warp
// adds up its own intervals, a lane eight columns in packed sums of 16 bits, and then adds the
// totals of the warps above it in its segment. Rows come by asynchronous copies into shared memory.
//
// What binds is memory: the picture is read once, with few instructions. So rows are fetched as
// early as possible, and a block is small but for its rows: it fits a processor beside the bands of
// the frame before, and the bands of its own frame fit beside it.
//
// Where no launch that may still run writes the picture (LaunchArguments::settled), it is summed
// while the frame before ends, and bands follow block by block. Otherwise it is only prefetched
// into the L2 cache until the launch before is over.
#pragma once

#include "kernels/cuda/box/bands/box_bands.cuh"
#include "kernels/cuda/device/copy_async.cuh"

namespace convolve {
namespace {

constexpr int kCheckpointThreads = 32 * kBandCheckpointWarps;
/// Bytes of an asynchronous copy.
constexpr int kCopyBytes = 16;

/// Starts copying 16 bytes to shared memory, of which only the first `bytes` are read and the
/// others become 0; at once, if they cannot be copied as a vector.
__device__ __forceinline__ void copy_columns(std::uint8_t* to, const std::uint8_t* from, int bytes,
                                             bool aligned) {
#if __CUDA_ARCH__ >= 800
  if (aligned && (bytes == 0 || bytes == kCopyBytes)) return copy_16_async(to, from, bytes);
#endif
#pragma unroll 1
  for (int b = 0; b < kCopyBytes; ++b)
    to[b] = b < bytes ? __ldg(from + b) : std::uint8_t{0};
}

/// A warp's intervals, of which kStages are in flight at a time: all, or a few where that leaves
/// room for blocks of the other launch.
template <int kStages>
class CheckpointRows {
 public:
  __device__ CheckpointRows(const LaunchArguments& a, std::uint8_t* memory)
      : intervals_(band_intervals(a.group.height)),
        pitch_(a.group.src_pitch),
        lane_(static_cast<int>(threadIdx.x % 32)),
        x0_(static_cast<int>(blockIdx.x) * kBandCheckpointColumns),
        width_(min(kBandCheckpointColumns, a.group.width - x0_)) {
    const int block_intervals = band_block_intervals(a.group.height),
              warp_intervals = block_intervals / kBandCheckpointWarps;
    const int warp = static_cast<int>(threadIdx.x / 32);
    first_ = static_cast<int>(blockIdx.y) * block_intervals + warp * warp_intervals;
    count_ = max(0, min(warp_intervals, intervals_ - first_));
    pixels_ = a.group.src + a.group.channel[0].offset + first_ * kBandInterval * pitch_ + x0_;
    aligned_ = (reinterpret_cast<std::uintptr_t>(pixels_) | static_cast<std::uintptr_t>(pitch_)) %
                   kCopyBytes ==
               0;
    rows_ = memory + warp * (kAll ? warp_intervals * kIntervalBytes
                                  : kStages * kIntervalBytes + warp_intervals * kSumBytes);
  }

  __device__ __forceinline__ int first() const { return first_; }
  __device__ __forceinline__ int count() const { return count_; }

  __device__ __forceinline__ void prefetch() const {
    if (!aligned_ || width_ % kCopyBytes != 0) return;
    for (int row = lane_; row < count_ * kBandInterval; row += 32)
      prefetch_l2(pixels_ + row * pitch_, width_);
  }
  /// Issues the copies of the first kStages intervals, each a stage.
  __device__ __forceinline__ void load() const {
#pragma unroll 1
    for (int interval = 0; interval < kStages; ++interval) {
      load(interval);
      end_stage();
    }
  }
  /// Adds the rows of an interval, whose memory is not read again, stores the sums as its
  /// checkpoint, and issues the copies of the next interval that takes its stage.
  __device__ __forceinline__ void add(int interval, EightSums<true>& sums) const {
    wait_for_stages<kStages - 1>();
    __syncwarp();
    const std::uint8_t* const rows = stage(interval);
    uint2 row[kBandInterval];
#pragma unroll
    for (int i = 0; i < kBandInterval; ++i)
      row[i] = *reinterpret_cast<const uint2*>(rows + i * kBandCheckpointColumns +
                                               lane_ * kBandColumnsAThread);
#pragma unroll
    for (int i = 0; i < kBandInterval; ++i)
      sums.add(row[i]);
    __syncwarp();
    reinterpret_cast<uint4*>(checkpoint_address(interval))[lane_] =
        make_uint4(sums.word[0], sums.word[1], sums.word[2], sums.word[3]);
    if (!kAll) load(interval + kStages);
    end_stage();
  }
  __device__ __forceinline__ uint4 checkpoint(int interval) const {
    return reinterpret_cast<const uint4*>(checkpoint_address(interval))[lane_];
  }
  /// The byte of a row of checkpoints where this lane's eight columns lie.
  __device__ __forceinline__ int row_offset() const {
    return (x0_ + lane_ * kBandColumnsAThread) * static_cast<int>(sizeof(std::uint16_t));
  }

 private:
  static constexpr bool kAll = kStages == kBandWarpIntervals;
  static constexpr int kIntervalBytes = kBandIntervalBytes, kSumBytes = kBandCheckpointBytes;

  __device__ __forceinline__ void load(int interval) const {
    if (interval >= count_) return;
    constexpr int kCopiesARow = kBandCheckpointColumns / kCopyBytes, kRowsAtOnce = 32 / kCopiesARow;
    const int x = lane_ % kCopiesARow * kCopyBytes;
    const int bytes = max(0, min(kCopyBytes, width_ - x));
    const std::uint8_t* from =
        pixels_ + (bytes > 0 ? x : 0) + (interval * kBandInterval + lane_ / kCopiesARow) * pitch_;
    std::uint8_t* to = stage(interval) + lane_ * kCopyBytes;
#pragma unroll
    for (int i = 0; i < kBandInterval; i += kRowsAtOnce) {
      copy_columns(to, from, bytes, aligned_);
      to += kRowsAtOnce * kBandCheckpointColumns;
      from += kRowsAtOnce * pitch_;
    }
  }
  __device__ __forceinline__ std::uint8_t* stage(int interval) const {
    return rows_ + (kAll ? interval : interval % kStages) * kIntervalBytes;
  }
  /// Where a checkpoint is kept until the warps above are done: over its interval's rows, if no
  /// other interval is copied there.
  __device__ __forceinline__ std::uint8_t* checkpoint_address(int interval) const {
    return kAll ? stage(interval) : rows_ + kStages * kIntervalBytes + interval * kSumBytes;
  }

  int intervals_;
  std::int64_t pitch_;
  int lane_, x0_, width_;
  int first_, count_;
  const std::uint8_t* pixels_;
  bool aligned_;
  std::uint8_t* rows_;
};

template <int kStages>
__global__ void __launch_bounds__(kCheckpointThreads, kProcessorThreads / kCheckpointThreads)
    box_checkpoint_kernel(const __grid_constant__ LaunchArguments a) {
  __shared__ uint4 totals[kCheckpointThreads];
  const CheckpointRows<kStages> rows(a, shared_cells<std::uint8_t>());
  rows.prefetch();
  // The order matters: box_band_kernel reads the picture before it waits (overlap.cuh).
  if (!a.settled) await_previous_launch();
  admit_next_launch();
  rows.load();
  EightSums<true> sums;
#pragma unroll 1
  for (int interval = 0; interval < rows.count(); ++interval)
    rows.add(interval, sums);
  totals[threadIdx.x] = make_uint4(sums.word[0], sums.word[1], sums.word[2], sums.word[3]);
  __syncthreads();
  // The sums of the warps above this one in its segment.
  constexpr unsigned kSegmentThreads = kCheckpointThreads / 2;
  uint4 above = make_uint4(0, 0, 0, 0);
#pragma unroll 1
  for (int t = static_cast<int>(threadIdx.x % 32 + threadIdx.x / kSegmentThreads * kSegmentThreads);
       t < static_cast<int>(threadIdx.x); t += 32) {
    above.x += totals[t].x;
    above.y += totals[t].y;
    above.z += totals[t].z;
    above.w += totals[t].w;
  }
  if (a.settled)
    await_previous_launch();  // The launch before may still read the memory that is written now.
  std::uint8_t* to = static_cast<std::uint8_t*>(a.intermediate) + rows.row_offset() +
                     rows.first() * a.intermediate_pitch;
#pragma unroll 1
  for (int interval = 0; interval < rows.count(); ++interval, to += a.intermediate_pitch) {
    const uint4 sum = rows.checkpoint(interval);
    *reinterpret_cast<uint4*>(to) =
        make_uint4(above.x + sum.x, above.y + sum.y, above.z + sum.z, above.w + sum.w);
  }
}

}  // namespace
}  // namespace convolve
