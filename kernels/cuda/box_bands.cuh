// SPDX-License-Identifier: LGPL-2.1-or-later
// Column sums of kernel `box` in bands: eight adjacent columns a thread, which follow the rows
// down.
#pragma once

#include <limits>
#include <type_traits>

#include "kernels/core/box_bands.h"
#include "kernels/cuda/box_band_start.cuh"
#include "kernels/cuda/kernel.cuh"
#include "kernels/cuda/overlap.cuh"

namespace convolve {
namespace {

/// Eight adjacent columns. Packed, two sums of 16 bits are a word: added and subtracted as one
/// number, which is exact modulo 2^32 even where a half is negative on the way.
template <bool kPacked>
struct EightSums {
  static constexpr int kWords = kPacked ? 4 : 8;
  unsigned word[kWords] = {};

  /// Adds codes as they lie in memory, so many times.
  __device__ __forceinline__ void add(uint2 codes, unsigned times = 1) {
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      word[i] += times * part(codes, i);
  }
  /// Adds one's, and takes the other's away.
  __device__ __forceinline__ void exchange(uint2 enter, uint2 leave) {
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      word[i] = word[i] + part(enter, i) - part(leave, i);
  }
  /// Adds those of a step, packed, so many times.
  __device__ __forceinline__ void add(uint4 step, unsigned times) {
    const unsigned pair[4] = {step.x, step.y, step.z, step.w};
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      word[i] += times * (kPacked      ? pair[i]
                          : i % 2 == 0 ? pair[i / 2] & 0xFFFFu
                                       : pair[i / 2] >> 16);
  }

 private:
  static __device__ __forceinline__ unsigned part(uint2 codes, int i) {
    constexpr int kInHalf = kWords / 2;
    return __byte_perm(i < kInHalf ? codes.x : codes.y, 0,
                       kPacked ? 0x4140 + 0x202 * (i % kInHalf) : 0x4440 + i % kInHalf);
  }
};

/// A row without signal, among the bytes from the first row to others.
constexpr std::int64_t kNoOffset = std::numeric_limits<std::int64_t>::min();
__device__ __forceinline__ bool has_signal(std::int64_t offset) {
  constexpr int kHigh = static_cast<int>(kNoOffset >> 32);
  return static_cast<int>(offset >> 32) != kHigh;
}

/// True if the eight columns of every thread can be loaded as one.
CONVOLVE_HD inline bool whole_columns(const GroupArguments& group) {
  const auto first = reinterpret_cast<std::uintptr_t>(group.src + group.channel[0].offset);
  return (first | static_cast<std::uintptr_t>(group.src_pitch) |
          static_cast<std::uintptr_t>(group.width)) %
             kBandWord ==
         0;
}

/// Reads a thread's eight columns of the picture's rows; kWhole if all threads can load theirs as
/// one.
template <bool kWhole>
class EightColumns {
 public:
  __device__ EightColumns(const GroupArguments& group, int x)
      : from_(group.src + group.channel[0].offset + x),
        count_(min(kBandWord, group.width - x)),
        behind_(max(0, x + kBandWord - group.width)) {
    const auto first = reinterpret_cast<std::uintptr_t>(group.src + group.channel[0].offset);
    whole_ = (first | static_cast<std::uintptr_t>(group.src_pitch)) % kBandWord == 0 &&
             count_ == kBandWord;
  }

  /// Where they lie in the first row, or the picture's last eight, if they lie behind.
  __device__ __forceinline__ const std::uint8_t* nearest() const { return from_ - behind_; }
  /// Eight columns that can be loaded as one. Not to be put off till they are needed.
  static __device__ __forceinline__ uint2 load(const std::uint8_t* from) {
    uint2 codes;
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(codes.x), "=r"(codes.y) : "l"(from));
    return codes;
  }
  /// Of the row `offset` bytes after the first, or `other` if it has no signal.
  __device__ __forceinline__ uint2 read(std::int64_t offset, uint2 other) const {
    const bool signal = has_signal(offset);
    if constexpr (kWhole) {
      asm volatile(
          "{\n\t"
          ".reg .pred signal;\n\t"
          "setp.ne.s32 signal, %3, 0;\n\t"
          "@signal ld.global.nc.v2.u32 {%0, %1}, [%2];\n\t"
          "}"
          : "+r"(other.x), "+r"(other.y)
          : "l"(from_ + offset), "r"(static_cast<int>(signal)));
      return other;
    }
    if (!signal) return other;
    const std::uint8_t* const from = from_ + offset;
    if (whole_) return __ldg(reinterpret_cast<const uint2*>(from));
    unsigned word[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < kBandWord; ++i)
      if (i < count_) word[i / 4] |= static_cast<unsigned>(__ldg(from + i)) << (8 * (i % 4));
    return make_uint2(word[0], word[1]);
  }

 private:
  const std::uint8_t* from_;
  int count_, behind_;
  bool whole_;
};

/// Column sums of a block's band, of a thread's columns.
template <bool kPacked, int kPitch, bool kWhole>
class BandColumns {
 public:
  using Sums = EightSums<kPacked>;
  static constexpr int kAhead = band_rows_at_once(kPacked, kPitch);
  /// There are registers to ask for the next batch's while windows are made of this one's.
  static constexpr bool kAsksEarly = kAhead <= 6;

  __device__ BandColumns(const LaunchArguments& a, int lead, int x)
      : a_(a),
        columns_(a.group, x),
        x_(x),
        mine_(x < a.group.width),
        black_(0x01010101u * static_cast<unsigned>(a.group.channel[0].black)) {
    constexpr int kPlanes = band_planes(kPacked);
#pragma unroll
    for (int i = 0; i < Sums::kWords; ++i) {
      const int word = (x + lead) / (kPacked ? 2 : 1) + i;
      to_[i] = word % kPlanes * kPitch + word / kPlanes;
    }
  }

  /// Asks for rows that enter and leave, all of the picture: those from `leaving` on, and as many
  /// that lie as far below as the mask is high. Where there are fewer, the last ones come again.
  __device__ __forceinline__ void begin_inner(int leaving, int count) {
    const std::int64_t pitch = a_.group.src_pitch;
    const std::uint8_t* leave = columns_.nearest() + leaving * pitch;
    const std::uint8_t* enter = leave + (a_.mask.height - 1) * pitch;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      enter_[i] = Columns::load(enter);
      leave_[i] = Columns::load(leave);
      const std::int64_t next = i + 1 < count ? pitch : 0;
      enter += next;
      leave += next;
    }
  }
  /// The same, wherever they lie: at `offsets`.
  __device__ __forceinline__ void begin(const longlong2* offsets, int count) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      longlong2 offset = offsets[min(i, count - 1)];
      if (!mine_ || i >= count) offset = make_longlong2(kNoOffset, kNoOffset);
      enter_[i] = columns_.read(offset.x, black());
      leave_[i] = columns_.read(offset.y, black());
    }
  }

  __device__ __forceinline__ bool mine() const {
    return mine_;
  }

  /// Adds up a start's rows.
  __device__ __forceinline__ void add_rows(const BandStart& start) {
    sums_.add(black(), static_cast<unsigned>(start.black));
#pragma unroll
    for (int i = 0; i < min(kAhead, kBandStep - 1); ++i) {
      if (i < start.leaving) sums_.add(leave_[i]);
      if (i < start.entering) sums_.add(enter_[i], -1u);
    }
#pragma unroll 1
    for (int i = 0; i < start.rows; i += kAtOnce) {
      uint2 row[kAtOnce];
      int times[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const bool there = i + k < start.rows;
        const BandStart::Part part = start.row[there ? i + k : 0];
        times[k] = there ? part.times : 0;
        row[k] = columns_.read(part.row * a_.group.src_pitch, black());
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
        sums_.add(row[k], static_cast<unsigned>(times[k]));
    }
  }
  /// The same without steps, row by row.
  __device__ __forceinline__ void add_each_row(int top) {
#pragma unroll 1
    for (int i = 0; i < a_.mask.height - 1; ++i) {
      const int row = border_index(a_.group.border, top + i, a_.group.height);
      sums_.add(columns_.read(row == kNoSignal ? kNoOffset : row * a_.group.src_pitch, black()));
    }
  }
  /// Adds up its steps.
  __device__ __forceinline__ void add_steps(const BandStart& start) {
    const auto* const from =
        static_cast<const std::uint8_t*>(a_.intermediate) + x_ * sizeof(std::uint16_t);
#pragma unroll 1
    for (int i = 0; i < start.steps; i += kAtOnce) {
      uint4 sum[kAtOnce];
      int times[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        const bool there = i + k < start.steps;
        const BandStart::Part part = start.step[there ? i + k : 0];
        times[k] = there ? part.times : 0;
        sum[k] = *reinterpret_cast<const uint4*>(from + part.row * a_.intermediate_pitch);
      }
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k)
        sums_.add(sum[k], static_cast<unsigned>(times[k]));
    }
  }

  /// The next `count` rows of sums, which have been asked for.
  __device__ __forceinline__ void walk(int count, unsigned* sums) {
    constexpr int kWords = band_planes(kPacked) * kPitch;
    sums_.add(enter_[0]);
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (i >= count) break;
      if (mine_) {
#pragma unroll
        for (int w = 0; w < Sums::kWords; ++w)
          sums[i * kWords + to_[w]] = sums_.word[w];
      }
      if (i + 1 < kAhead && i + 1 < count)
        sums_.exchange(enter_[(i + 1) % kAhead], leave_[i]);
      else
        sums_.add(leave_[i], -1u);
    }
  }

 private:
  /// Parts of a start that are loaded at once.
  static constexpr int kAtOnce = 4;

  __device__ uint2 black() const {
    return make_uint2(black_, black_);
  }

  using Columns = EightColumns<kWhole>;

  const LaunchArguments& a_;
  Columns columns_;
  int x_;
  bool mine_;             ///< They lie in the picture.
  int to_[Sums::kWords];  ///< Where the sums go in their row.
  unsigned black_;
  Sums sums_;
  uint2 enter_[kAhead], leave_[kAhead];
};

}  // namespace
}  // namespace convolve
