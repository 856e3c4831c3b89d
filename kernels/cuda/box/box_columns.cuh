// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of samples into column sums, and these into prefix sums, for kernel box in runs: a thread
// has a panel of eight adjacent columns.
#pragma once

#include <type_traits>

#include "kernels/core/shape/box_tile.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// Sums of a panel of eight columns. Packed, two sums of 16 bits share a word and are added and
/// subtracted as one number. That is exact modulo 2^32: a difference may borrow from the upper half
/// on the way, but no final sum is negative, so the borrow is paid back.
template <bool kPacked>
struct ColumnSums {
  static constexpr int kWords = kPacked ? kBoxPanel / 2 : kBoxPanel;
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

  /// Writes the exclusive prefix sums of the eight columns, where `before` is the sum of all
  /// columns to their left.
  __device__ void store_prefixes(unsigned before, unsigned* to) const {
#pragma unroll
    for (int i = 0; i < kBoxPanel; i += 2) {
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

constexpr int kWarp = 32;
/// Panels of a row that each thread scans at a time, so that the latency of one scan hides behind
/// the other's.
constexpr int kScansInFlight = 2;

/// Makes the exclusive prefix sums of a row of `panels` panels, by one warp.
template <bool kPacked>
__device__ void make_prefixes(const ColumnSums<kPacked>* columns, int panels, unsigned* prefixes) {
  const int lane = threadIdx.x % kWarp;
  unsigned before = 0;
#pragma unroll 1
  for (int first = 0; first < panels; first += kScansInFlight * kWarp) {
    ColumnSums<kPacked> sums[kScansInFlight];
    unsigned total[kScansInFlight], sum[kScansInFlight];
#pragma unroll
    for (int s = 0; s < kScansInFlight; ++s) {
      if (first + s * kWarp + lane < panels) sums[s].load(columns + first + s * kWarp + lane);
      total[s] = sum[s] = sums[s].total();
    }
#pragma unroll
    for (int distance = 1; distance < kWarp; distance *= 2)
#pragma unroll
      for (int s = 0; s < kScansInFlight; ++s) {
        const unsigned other = __shfl_up_sync(kAllLanes, sum[s], distance);
        if (lane >= distance) sum[s] += other;
      }
#pragma unroll
    for (int s = 0; s < kScansInFlight; ++s) {
      const unsigned prefix = before + sum[s] - total[s];
      before += __shfl_sync(kAllLanes, sum[s], kWarp - 1);
      if (first + s * kWarp + lane < panels)
        sums[s].store_prefixes(prefix, prefixes + (first + s * kWarp + lane) * kBoxPrefixPitch);
    }
  }
}

/// A panel's samples as they lie in memory, aligned to their size, which one load brings.
template <class Stored>
using StoredPanel = std::conditional_t<sizeof(Stored) == 1, uint2, uint4>;

/// How the column sums of a panel are made.
enum PanelKind : int {
  kVector,    ///< From samples that one vector load brings.
  kGathered,  ///< From samples that are loaded one by one.
  kRepeated,  ///< Copied, as ghosts, from the sums of other columns of the block.
};

/// The source of a column without signal, which has neither a byte in a row nor a column to copy.
constexpr int kNoSource = -1;

/// Reads panels of one component and gives them as the column sums of a single row.
template <class Stored, bool kPacked>
class BoxColumnReader {
 public:
  using Sums = ColumnSums<kPacked>;
  using Raw = StoredPanel<Stored>;

  __device__ explicit BoxColumnReader(const ChannelArguments& channel)
      : layout_(channel.layout), black_(channel.black) {
    const unsigned code_bits = static_cast<unsigned>(layout_.max_code);
    code_mask_ = sizeof(Stored) == 1 ? (code_bits & 0xFFu) * 0x01010101u : code_bits * 0x00010001u;
  }

  /// The panel at byte `offset` of a row of the picture.
  static __device__ Raw load(const std::uint8_t* row, unsigned offset) {
    return __ldg(reinterpret_cast<const Raw*>(row + offset));
  }

  __device__ Sums decode(const Raw& raw) const {
    Sums sums;
    if constexpr (sizeof(Stored) == 1) {
      decode_bytes(raw.x, sums, 0);
      decode_bytes(raw.y, sums, kBoxPanel / 2);
    } else {
      decode_pair(raw.x, sums, 0);
      decode_pair(raw.y, sums, 2);
      decode_pair(raw.z, sums, 4);
      decode_pair(raw.w, sums, 6);
    }
    return sums;
  }

  /// The same sample by sample, for ghosts and interleaved components: sources[i] is the byte of
  /// the row where column i lies, or kNoSource. Columns and rows without signal are black; `row` is
  /// null for such a row.
  __device__ Sums gather(const std::uint8_t* row, const int* sources) const {
    int code[kBoxPanel];
#pragma unroll
    for (int i = 0; i < kBoxPanel; ++i) {
      const int source = sources[i];
      code[i] = row == nullptr || source == kNoSource
                    ? black_
                    : decode_sample(__ldg(reinterpret_cast<const Stored*>(row + source)), layout_);
    }
    Sums sums;
#pragma unroll
    for (int i = 0; i < Sums::kWords; ++i)
      sums.word[i] = static_cast<unsigned>(kPacked ? code[2 * i] | code[2 * i + 1] << 16 : code[i]);
    return sums;
  }

  /// The panel with these sources in any row; `vector`: by one load where the row has signal.
  __device__ Sums read(const std::uint8_t* row, const int* sources, bool vector) const {
    return vector && row != nullptr ? decode(load(row, static_cast<unsigned>(sources[0])))
                                    : gather(row, sources);
  }

 private:
  /// Four bytes into columns `first` to `first` + 3.
  __device__ void decode_bytes(unsigned bytes, Sums& sums, int first) const {
    const unsigned codes = code_mask_ == 0xFFFFFFFFu ? bytes : bytes >> layout_.shift & code_mask_;
    if constexpr (kPacked) {
      sums.word[first / 2] = __byte_perm(codes, 0, 0x4140);
      sums.word[first / 2 + 1] = __byte_perm(codes, 0, 0x4342);
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        sums.word[first + i] = __byte_perm(codes, 0, 0x4440u + static_cast<unsigned>(i));
    }
  }

  /// Two samples of 16 bits into columns `first` and `first` + 1.
  __device__ void decode_pair(unsigned pair, Sums& sums, int first) const {
    const unsigned codes =
        __byte_perm(pair, 0, layout_.swap ? 0x2301 : 0x3210) >> layout_.shift & code_mask_;
    if constexpr (kPacked) {
      sums.word[first / 2] = codes;
    } else {
      sums.word[first] = codes & 0xFFFFu;
      sums.word[first + 1] = codes >> 16;
    }
  }

  SampleLayout layout_;
  int black_;
  unsigned code_mask_;
};

}  // namespace
}  // namespace convolve
