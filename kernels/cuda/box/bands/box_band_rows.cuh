// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of a picture as the threads of bands of kernel `box` read them: eight adjacent columns each.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/core/shape/box_bands.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

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

/// Eight columns that can be loaded as one. Not to be put off till they are needed.
__device__ __forceinline__ uint2 load_eight(const std::uint8_t* from) {
  uint2 codes;
  asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(codes.x), "=r"(codes.y) : "l"(from));
  return codes;
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

  /// True if there are any in the picture.
  __device__ __forceinline__ bool any() const { return count_ > 0; }
  /// Where they lie in the first row, or the picture's last eight, if they lie behind.
  __device__ __forceinline__ const std::uint8_t* nearest() const { return from_ - behind_; }
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

/// Rows that enter and leave a batch of `count` rows, all of the picture: those from `leaving` on,
/// and as many that lie as far below as the mask is high. Behind them the last one that leaves
/// comes again, whichever is asked for, so that rows which are none do not differ from the last.
class InnerRows {
 public:
  __device__ InnerRows(const LaunchArguments& a, const std::uint8_t* columns, int leaving,
                       int count)
      : leave_(columns + leaving * a.group.src_pitch),
        enter_(leave_ + (a.mask.height - 1) * a.group.src_pitch),
        pitch_(static_cast<int>(a.group.src_pitch)),
        last_(count - 1) {}
  __device__ __forceinline__ uint2 enter(int i) const { return load(enter_, i); }
  __device__ __forceinline__ uint2 leave(int i) const { return load(leave_, i); }

 private:
  __device__ __forceinline__ uint2 load(const std::uint8_t* from, int i) const {
    return load_eight(from + static_cast<std::int64_t>(min(i, last_)) * pitch_);
  }

  const std::uint8_t *leave_, *enter_;
  int pitch_, last_;
};

/// The same, wherever they lie and however few. Behind them the last one that leaves comes again,
/// whichever is asked for, so that rows which are none do not differ from the last.
template <bool kWhole>
class OuterRows {
 public:
  /// `offsets`: of what enters and leaves with each row.
  __device__ OuterRows(const EightColumns<kWhole>& columns, const longlong2* offsets, uint2 black,
                       int count)
      : columns_(columns),
        mine_(columns.any()),
        offsets_(offsets),
        black_(black),
        last_(count - 1) {}
  __device__ __forceinline__ uint2 enter(int i) const {
    return read(i <= last_ ? offsets_[i].x : offsets_[last_].y);
  }
  __device__ __forceinline__ uint2 leave(int i) const { return read(offsets_[min(i, last_)].y); }

 private:
  __device__ __forceinline__ uint2 read(std::int64_t offset) const {
    return columns_.read(mine_ ? offset : kNoOffset, black_);
  }

  const EightColumns<kWhole>& columns_;
  bool mine_;
  const longlong2* offsets_;
  uint2 black_;
  int last_;
};

}  // namespace
}  // namespace convolve
