// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums that the bands of kernel `box` begin with where a mask has many rows, the same for however
// many: of every column, from the first row of a run down to each eighth one. Of any rows between
// two steps there is then the difference of two of them, and what whole runs between them have.
//
// A block has 256 columns of two runs, each of its warps a share of the rows. It is small but for
// the memory that its rows come to, so that it finds room beside the bands of the frame before, and
// those of its own frame find room beside it.
//
// Where no launch that may still run writes the picture, it is summed while the frame before ends,
// and bands follow block by block. Otherwise only the L2 cache fetches it till then.
#pragma once

#include "kernels/cuda/box/bands/box_bands.cuh"
#include "kernels/cuda/device/stages.cuh"

namespace convolve {
namespace {

constexpr int kStepThreads = 32 * kBandStepWarps;
/// What a thread copies at once.
constexpr int kStepPart = 16;

/// Copies 16 bytes, of which the first `bytes` are there and the others become 0, to shared memory.
__device__ __forceinline__ void copy_columns(std::uint8_t* to, const std::uint8_t* from, int bytes,
                                             bool aligned) {
#if __CUDA_ARCH__ >= 800
  if (aligned && (bytes == 0 || bytes == kStepPart)) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :
                 : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from), "r"(bytes)
                 : "memory");
    return;
  }
#endif
#pragma unroll 1
  for (int b = 0; b < kStepPart; ++b)
    to[b] = b < bytes ? __ldg(from + b) : std::uint8_t{0};
}

/// A warp's rows of a block, of which kStages steps are underway at a time: all, or a few that make
/// room for others.
template <int kStages>
class StepRows {
 public:
  __device__ StepRows(const LaunchArguments& a, std::uint8_t* memory)
      : steps_in_all_(band_steps(a.group.height)),
        pitch_(a.group.src_pitch),
        lane_(static_cast<int>(threadIdx.x % 32)),
        x0_(static_cast<int>(blockIdx.x) * kBandStepColumns),
        width_(min(kBandStepColumns, a.group.width - x0_)) {
    const int block = band_block_steps(a.group.height), each = block / kBandStepWarps;
    const int warp = static_cast<int>(threadIdx.x / 32);
    first_ = static_cast<int>(blockIdx.y) * block + warp * each;
    count_ = max(0, min(each, steps_in_all_ - first_));
    pixels_ = a.group.src + a.group.channel[0].offset + first_ * kBandStep * pitch_ + x0_;
    aligned_ = (reinterpret_cast<std::uintptr_t>(pixels_) | static_cast<std::uintptr_t>(pitch_)) %
                   kStepPart ==
               0;
    rows_ = memory + warp * (kAll ? each * kStepBytes : kStages * kStepBytes + each * kSumBytes);
  }

  __device__ __forceinline__ int first() const { return first_; }
  __device__ __forceinline__ int count() const { return count_; }

  __device__ __forceinline__ void fetch() const {
    if (!aligned_ || width_ % kStepPart != 0) return;
    for (int row = lane_; row < count_ * kBandStep; row += 32)
      prefetch_l2(pixels_ + row * pitch_, width_);
  }
  /// Has the first ones copied, each a stage.
  __device__ __forceinline__ void load() const {
#pragma unroll 1
    for (int step = 0; step < kStages; ++step) {
      load(step);
      end_stage();
    }
  }
  /// Adds step number `step`, of which nothing is read again, keeps what there is then, and has
  /// another step copied, if there is one.
  __device__ __forceinline__ void add(int step, EightSums<true>& sums) const {
    wait_for_stages<kStages - 1>();
    __syncwarp();
    const std::uint8_t* const rows = stage(step);
    uint2 row[kBandStep];
#pragma unroll
    for (int i = 0; i < kBandStep; ++i)
      row[i] = *reinterpret_cast<const uint2*>(rows + i * kBandStepColumns + lane_ * kBandWord);
#pragma unroll
    for (int i = 0; i < kBandStep; ++i)
      sums.add(row[i]);
    __syncwarp();
    reinterpret_cast<uint4*>(kept(step))[lane_] =
        make_uint4(sums.word[0], sums.word[1], sums.word[2], sums.word[3]);
    if (!kAll) load(step + kStages);
    end_stage();
  }
  __device__ __forceinline__ uint4 left(int step) const {
    return reinterpret_cast<const uint4*>(kept(step))[lane_];
  }
  /// The bytes of a row of sums where this thread's lie.
  __device__ __forceinline__ int place() const {
    return (x0_ + lane_ * kBandWord) * static_cast<int>(sizeof(std::uint16_t));
  }

 private:
  static constexpr bool kAll = kStages == kBandWarpSteps;
  static constexpr int kStepBytes = kBandStepBytes, kSumBytes = kBandStepSumBytes;

  __device__ __forceinline__ void load(int step) const {
    if (step >= count_) return;
    constexpr int kParts = kBandStepColumns / kStepPart, kRowsAtOnce = 32 / kParts;
    const int x = lane_ % kParts * kStepPart;
    const int bytes = max(0, min(kStepPart, width_ - x));
    const std::uint8_t* from =
        pixels_ + (bytes > 0 ? x : 0) + (step * kBandStep + lane_ / kParts) * pitch_;
    std::uint8_t* to = stage(step) + lane_ * kStepPart;
#pragma unroll
    for (int i = 0; i < kBandStep; i += kRowsAtOnce) {
      copy_columns(to, from, bytes, aligned_);
      to += kRowsAtOnce * kBandStepColumns;
      from += kRowsAtOnce * pitch_;
    }
  }
  __device__ __forceinline__ std::uint8_t* stage(int step) const {
    return rows_ + (kAll ? step : step % kStages) * kStepBytes;
  }
  /// Where a step's sums are kept: in place of its rows, if nothing else comes there.
  __device__ __forceinline__ std::uint8_t* kept(int step) const {
    return kAll ? stage(step) : rows_ + kStages * kStepBytes + step * kSumBytes;
  }

  int steps_in_all_;
  std::int64_t pitch_;
  int lane_, x0_, width_;
  int first_, count_;
  const std::uint8_t* pixels_;
  bool aligned_;
  std::uint8_t* rows_;
};

template <int kStages>
__global__ void __launch_bounds__(kStepThreads, kProcessorThreads / kStepThreads)
    box_step_kernel(const __grid_constant__ LaunchArguments a) {
  __shared__ uint4 totals[kStepThreads];
  const StepRows<kStages> rows(a, shared_cells<std::uint8_t>());
  rows.fetch();
  // In this order: box_band_kernel reads the picture before it waits (overlap.cuh).
  if (!a.settled) await_previous_launch();
  admit_next_launch();
  rows.load();
  EightSums<true> sums;
#pragma unroll 1
  for (int step = 0; step < rows.count(); ++step)
    rows.add(step, sums);
  totals[threadIdx.x] = make_uint4(sums.word[0], sums.word[1], sums.word[2], sums.word[3]);
  __syncthreads();
  // What the warps above have, of the same run.
  constexpr unsigned kRun = kStepThreads / 2;
  uint4 above = make_uint4(0, 0, 0, 0);
#pragma unroll 1
  for (int t = static_cast<int>(threadIdx.x % 32 + threadIdx.x / kRun * kRun);
       t < static_cast<int>(threadIdx.x); t += 32) {
    above.x += totals[t].x;
    above.y += totals[t].y;
    above.z += totals[t].z;
    above.w += totals[t].w;
  }
  if (a.settled) await_previous_launch();  // It reads what is written now.
  std::uint8_t* to = static_cast<std::uint8_t*>(a.intermediate) + rows.place() +
                     rows.first() * a.intermediate_pitch;
#pragma unroll 1
  for (int step = 0; step < rows.count(); ++step, to += a.intermediate_pitch) {
    const uint4 sum = rows.left(step);
    *reinterpret_cast<uint4*>(to) =
        make_uint4(above.x + sum.x, above.y + sum.y, above.z + sum.z, above.w + sum.w);
  }
}

}  // namespace
}  // namespace convolve
