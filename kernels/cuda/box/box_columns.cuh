// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of samples into column sums, for kernel box: eight adjacent columns a thread.
#pragma once

#include <type_traits>

#include "kernels/core/shape/box_tile.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// Sums of eight adjacent columns. Packed, two of 16 bits lie in a word; they are added and
/// subtracted as one number, which is exact modulo 2^32 even where a difference in the low half is
/// negative on the way to a sum that is not.
template <bool kPacked>
struct ColumnSums {
  static constexpr int kWords = kPacked ? kBoxGroup / 2 : kBoxGroup;
  unsigned word[kWords] = {};

  __device__ void add(const ColumnSums& other) {
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      word[i] += other.word[i];
  }
  __device__ void subtract(const ColumnSums& other) {
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      word[i] -= other.word[i];
  }

  __device__ unsigned total() const {
    unsigned sum = 0;
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      sum = kPacked ? __dp2a_lo(word[i], 0x0101u, sum) : sum + word[i];
    return sum;
  }

  /// Writes the exclusive prefix sums of the eight columns, from `before` on.
  __device__ void store_prefixes(unsigned before, unsigned* to) const {
#pragma unroll
    for (int i = 0; i < kBoxGroup; i += 2) {
      to[i] = before;
      to[i + 1] = kPacked ? __dp2a_lo(word[i / 2], 0x0001u, before) : before + word[i];
      before = kPacked ? __dp2a_lo(word[i / 2], 0x0101u, before) : before + word[i] + word[i + 1];
    }
  }

  __device__ void load(const ColumnSums* from) {
    copy(reinterpret_cast<const uint4*>(from));
  }
  __device__ void store(ColumnSums* to) const {
    auto* out = reinterpret_cast<uint4*>(to);
#pragma unroll
    for (int i = 0; i < kWords / 4; ++i)
      out[i] = make_uint4(word[4 * i], word[4 * i + 1], word[4 * i + 2], word[4 * i + 3]);
  }

 private:
  __device__ void copy(const uint4* in) {
#pragma unroll
    for (int i = 0; i < kWords / 4; ++i) {
      const uint4 v = in[i];
      word[4 * i] = v.x;
      word[4 * i + 1] = v.y;
      word[4 * i + 2] = v.z;
      word[4 * i + 3] = v.w;
    }
  }
};

/// Eight adjacent samples as they lie in memory, on a multiple of their size.
template <class Stored>
using StoredGroup = std::conditional_t<sizeof(Stored) == 1, uint2, uint4>;

/// Where the columns of a group come from.
enum GroupKind : int {
  kWhole,     ///< Eight samples that can be loaded as one.
  kGathered,  ///< Samples one by one.
  kMirrored,  ///< Ghosts of columns in other groups of the block, whose sums they repeat.
};

/// A column without signal: no byte of a row, and no column to repeat.
constexpr int kNoPlace = -1;

/// Reads rows of one component as column sums of a single row.
template <class Stored, bool kPacked>
class ColumnReader {
 public:
  using Sums = ColumnSums<kPacked>;
  using Raw = StoredGroup<Stored>;

  __device__ explicit ColumnReader(const ChannelArguments& channel)
      : layout_(channel.layout), black_(channel.black) {
    const unsigned code_bits = static_cast<unsigned>(layout_.max_code);
    mask_ = sizeof(Stored) == 1 ? (code_bits & 0xFFu) * 0x01010101u : code_bits * 0x00010001u;
  }

  /// The group at byte `place` of a row of the picture.
  static __device__ Raw load(const std::uint8_t* row, unsigned place) {
    return __ldg(reinterpret_cast<const Raw*>(row + place));
  }

  __device__ Sums decode(const Raw& raw) const {
    Sums sums;
    if constexpr (sizeof(Stored) == 1) {
      decode_bytes(raw.x, sums, 0);
      decode_bytes(raw.y, sums, kBoxGroup / 2);
    } else {
      decode_pair(raw.x, sums, 0);
      decode_pair(raw.y, sums, 2);
      decode_pair(raw.z, sums, 4);
      decode_pair(raw.w, sums, 6);
    }
    return sums;
  }

  /// The same sample by sample, each at its own byte of the row: ghosts and interleaved components.
  /// Without a row, or a byte of it, a cell has no signal.
  __device__ Sums gather(const std::uint8_t* row, const int* places) const {
    int code[kBoxGroup];
#pragma unroll
    for (int i = 0; i < kBoxGroup; ++i) {
      const int place = places[i];
      code[i] = row == nullptr || place == kNoPlace
                    ? black_
                    : decode_sample(__ldg(reinterpret_cast<const Stored*>(row + place)), layout_);
    }
    Sums sums;
#pragma unroll
    for (int i = 0; i < Sums::kWords; ++i)
      sums.word[i] = static_cast<unsigned>(kPacked ? code[2 * i] | code[2 * i + 1] << 16 : code[i]);
    return sums;
  }

  /// Group `places` of any row, `whole` or not.
  __device__ Sums read(const std::uint8_t* row, const int* places, bool whole) const {
    return whole && row != nullptr ? decode(load(row, static_cast<unsigned>(places[0])))
                                   : gather(row, places);
  }

 private:
  /// Columns `first` .. `first` + 3.
  __device__ void decode_bytes(unsigned bytes, Sums& sums, int first) const {
    const unsigned codes = mask_ == 0xFFFFFFFFu ? bytes : bytes >> layout_.shift & mask_;
    if constexpr (kPacked) {
      sums.word[first / 2] = __byte_perm(codes, 0, 0x4140);
      sums.word[first / 2 + 1] = __byte_perm(codes, 0, 0x4342);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums.word[first + i] = __byte_perm(codes, 0, 0x4440u + static_cast<unsigned>(i));
    }
  }

  /// Columns `first` and `first` + 1.
  __device__ void decode_pair(unsigned pair, Sums& sums, int first) const {
    const unsigned codes =
        __byte_perm(pair, 0, layout_.swap ? 0x2301 : 0x3210) >> layout_.shift & mask_;
    if constexpr (kPacked) {
      sums.word[first / 2] = codes;
    } else {
      sums.word[first] = codes & 0xFFFFu;
      sums.word[first + 1] = codes >> 16;
    }
  }

  SampleLayout layout_;
  int black_;
  unsigned mask_;
};

}  // namespace
}  // namespace convolve
