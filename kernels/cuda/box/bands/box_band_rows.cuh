// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of a picture as the threads of kernel `box` in bands load them: eight adjacent columns each.
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/core/shape/box_bands.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// The offset of a row without signal; others are bytes from the picture's first row.
constexpr std::int64_t kNoOffset = std::numeric_limits<std::int64_t>::min();
__device__ __forceinline__ bool has_signal(std::int64_t offset) {
  constexpr int kHigh = static_cast<int>(kNoOffset >> 32);
  return static_cast<int>(offset >> 32) != kHigh;
}

/// Loads eight aligned columns. It is volatile so that the compiler does not move the load down to
/// its first use: many loads must be in flight.
__device__ __forceinline__ uint2 load_eight(const std::uint8_t* from) {
  uint2 codes;
  asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(codes.x), "=r"(codes.y) : "l"(from));
  return codes;
}

/// Reads a thread's eight columns of the picture's rows, which the form's alignment lets it load as
/// one. The last thread's may end beyond the picture, where ghosts take the place of what it reads;
/// a row's pitch has room for them, and so has what is behind the last row, as allocations of
/// device memory end on 256 bytes.
class EightColumns {
 public:
  __device__ EightColumns(const GroupArguments& group, int x)
      : from_(group.src + group.channel[0].offset + x),
        beyond_(max(0, x - (group.width - 1) / kBandColumnsAThread * kBandColumnsAThread)),
        inside_(x < group.width) {}

  /// True if any of the columns lies in the picture.
  __device__ __forceinline__ bool inside() const { return inside_; }
  /// Where the columns lie in the picture's first row. For columns beyond its right edge these are
  /// the last that a thread has, so that every thread has an address it may read.
  __device__ __forceinline__ const std::uint8_t* nearest() const { return from_ - beyond_; }
  /// The columns of the row `offset` bytes after the first, or `other` if that has no signal.
  __device__ __forceinline__ uint2 read(std::int64_t offset, uint2 other) const {
    asm volatile(
        "{\n\t"
        ".reg .pred signal;\n\t"
        "setp.ne.s32 signal, %3, 0;\n\t"
        "@signal ld.global.nc.v2.u32 {%0, %1}, [%2];\n\t"
        "}"
        : "+r"(other.x), "+r"(other.y)
        : "l"(from_ + offset), "r"(static_cast<int>(has_signal(offset))));
    return other;
  }

 private:
  const std::uint8_t* from_;
  int beyond_;
  bool inside_;
};

/// The rows that enter and leave with a batch of `count` rows that sees none beyond the picture:
/// row `leaving` and the next ones leave, those mask.height - 1 further down enter. Rows after the
/// batch's last are read as the last one that leaves, both where they enter and where they leave,
/// so that they add nothing to any column sum.
class InteriorRows {
 public:
  __device__ InteriorRows(const LaunchArguments& a, const std::uint8_t* columns, int leaving,
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

/// The rows of a batch that may see rows beyond the picture, and of a short one. Rows after the
/// batch's last add nothing to column sums, as in InteriorRows.
class BorderRows {
 public:
  /// `offsets`: for each row of the batch, those of the row that enters and the row that leaves.
  __device__ BorderRows(const EightColumns& columns, const longlong2* offsets, uint2 black,
                        int count)
      : columns_(columns),
        inside_(columns.inside()),
        offsets_(offsets),
        black_(black),
        last_(count - 1) {}
  __device__ __forceinline__ uint2 enter(int i) const {
    return read(i <= last_ ? offsets_[i].x : offsets_[last_].y);
  }
  __device__ __forceinline__ uint2 leave(int i) const { return read(offsets_[min(i, last_)].y); }

 private:
  __device__ __forceinline__ uint2 read(std::int64_t offset) const {
    return columns_.read(inside_ ? offset : kNoOffset, black_);
  }

  const EightColumns& columns_;
  bool inside_;
  const longlong2* offsets_;
  uint2 black_;
  int last_;
};

}  // namespace
}  // namespace convolve
