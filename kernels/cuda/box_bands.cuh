// SPDX-License-Identifier: LGPL-2.1-or-later
// Column sums of kernel `box` in bands: eight adjacent columns a thread, which follow the rows
// down.
#pragma once

#include <limits>
#include <type_traits>

#include "kernels/core/box_bands.h"
#include "kernels/cuda/kernel.cuh"
#include "kernels/cuda/overlap.cuh"

namespace convolve {
namespace {

/// Calls visit(first, last, times) for what rows begin to end - 1, in the picture or beside it,
/// see of its `rows` rows: first to last - 1, each so many times, and kNoSignal for none.
template <class Visit>
__device__ __forceinline__ void visit_rows(Border border, int begin, int end, int rows,
                                           Visit&& visit) {
  const bool reflects = border == Border::kReflect;
  const int period = border == Border::kWrap ? rows
                     : reflects              ? 2 * rows
                                             : (rows > 1 ? 2 * rows - 2 : 1);
#pragma unroll 1
  for (int row = begin, count; row < end; row += count) {
    const int left = end - row;
    const bool inside = row >= 0 && row < rows;
    if (!inside && (border == Border::kReplicate || border == Border::kZero)) {
      count = row < 0 ? min(left, -row) : left;
      const int edge = border == Border::kZero ? kNoSignal : (row < 0 ? 0 : rows - 1);
      visit(edge, edge + 1, count);
      continue;
    }
    int place = inside ? row : row % period;
    if (place < 0) place += period;
    if (place < rows) {
      count = min(left, rows - place);
      visit(place, place + count, 1);
    } else {  // Upwards.
      count = min(left, period - place);
      const int last = period - place + (reflects ? 0 : 1);
      visit(last - count, last, 1);
    }
  }
}

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
  /// Adds one row's and takes away another's.
  __device__ __forceinline__ void exchange(uint2 enter, uint2 leave) {
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      word[i] += part(enter, i) - part(leave, i);
  }
  /// Adds those of a chunk, packed.
  __device__ __forceinline__ void add(uint4 chunk) {
    const unsigned pair[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      word[i] += kPacked ? pair[i] : i % 2 == 0 ? pair[i / 2] & 0xFFFFu : pair[i / 2] >> 16;
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

/// Reads a thread's eight columns of the picture's rows.
class EightColumns {
 public:
  __device__ EightColumns(const GroupArguments& group, int x)
      : from_(group.src + group.channel[0].offset + x), count_(min(kBandWord, group.width - x)) {
    const auto first = reinterpret_cast<std::uintptr_t>(group.src + group.channel[0].offset);
    whole_ = (first | static_cast<std::uintptr_t>(group.src_pitch)) % kBandWord == 0 &&
             count_ == kBandWord;
  }

  /// They can be loaded as one.
  __device__ bool whole() const { return whole_; }

  /// Of the row `offset` bytes after the first; kWhole if they are.
  template <bool kWhole>
  __device__ __forceinline__ uint2 read(std::int64_t offset) const {
    const std::uint8_t* const from = from_ + offset;
    if constexpr (kWhole) return __ldg(reinterpret_cast<const uint2*>(from));
    unsigned word[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < kBandWord; ++i)
      if (i < count_) word[i / 4] |= static_cast<unsigned>(__ldg(from + i)) << (8 * (i % 4));
    return make_uint2(word[0], word[1]);
  }

 private:
  const std::uint8_t* from_;
  int count_;
  bool whole_;
};

/// The sums of a chunk's rows, for all bands.
template <bool kWhole>
__device__ __forceinline__ uint4 sum_chunk(const EightColumns& columns, std::int64_t first,
                                           std::int64_t pitch) {
  EightSums<true> sums;
  uint2 row[kBandChunk];
#pragma unroll
  for (int i = 0; i < kBandChunk; ++i)
    row[i] = columns.read<kWhole>(first + i * pitch);
#pragma unroll
  for (int i = 0; i < kBandChunk; ++i)
    sums.add(row[i]);
  return make_uint4(sums.word[0], sums.word[1], sums.word[2], sums.word[3]);
}

/// Column sums of a block's band, of a thread's columns; kWhole if those are whole().
template <bool kPacked, int kPitch>
class BandColumns {
 public:
  using Sums = EightSums<kPacked>;

  __device__ BandColumns(const LaunchArguments& a, int lead, int x, int y0, Sums& sums)
      : a_(a),
        columns_(a.group, x),
        x_(x),
        top_(y0 - a.mask.anchor_y),
        black_(0x01010101u * static_cast<unsigned>(a.group.channel[0].black)),
        sums_(sums) {
    constexpr int kPlanes = band_planes(kPacked);
#pragma unroll
    for (int i = 0; i < Sums::kWords; ++i) {
      const int word = (x + lead) / (kPacked ? 2 : 1) + i;
      to_[i] = word % kPlanes * kPitch + word / kPlanes;
    }
  }

  __device__ bool whole() const {
    return columns_.whole();
  }

  /// Asks for the first rows that enter and leave. `offsets`: where they lie.
  template <bool kWhole>
  __device__ __forceinline__ void begin(const longlong2* offsets, int count) {
#pragma unroll
    for (int i = 0; i < kAhead; ++i)
      load<kWhole>(i, offsets[min(i, count - 1)]);
  }

  /// Adds up what is above the last row of the first window; with chunks, all but those.
  template <bool kWhole>
  __device__ __forceinline__ void add_rows(bool chunks) {
    visit_rows(a_.group.border, top_, top_ + a_.mask.height - 1, a_.group.height,
               [&](int first, int last, int times) {
                 if (first == kNoSignal || times > 1) {
                   const uint2 row = first == kNoSignal
                                         ? black()
                                         : columns_.read<kWhole>(first * a_.group.src_pitch);
                   sums_.add(row, static_cast<unsigned>(times));
                   return;
                 }
                 const Chunks whole = chunks_in(first, last);
                 const bool between = chunks && whole.begin < whole.end;
      // From the first row to the chunks and on from there, forwards or, taken away, back.
#pragma unroll 1
                 for (int part = 0; part < (between ? 2 : 1); ++part) {
                   const int from = part > 0 ? whole.end * kBandChunk : first;
                   const int to = part == 0 && between ? whole.begin * kBandChunk : last;
                   const unsigned times_each = from <= to ? 1 : -1u;
#pragma unroll kWhole ? 4 : 1
                   for (int row = min(from, to); row < max(from, to); ++row)
                     sums_.add(columns_.read<kWhole>(row * a_.group.src_pitch), times_each);
                 }
               });
  }
  __device__ __forceinline__ void add_chunks() {
    visit_rows(a_.group.border, top_, top_ + a_.mask.height - 1, a_.group.height,
               [&](int first, int last, int times) {
                 if (first == kNoSignal || times > 1) return;
                 const Chunks whole = chunks_in(first, last);
                 const auto* const from =
                     static_cast<const std::uint8_t*>(a_.intermediate) + x_ * sizeof(std::uint16_t);
#pragma unroll 4
                 for (int c = whole.begin; c < whole.end; ++c)
                   sums_.add(*reinterpret_cast<const uint4*>(from + c * a_.intermediate_pitch));
               });
  }

  /// The next `count` rows of sums, of which the first have been asked for.
  template <bool kWhole>
  __device__ __forceinline__ void walk(const longlong2* offsets, int count, unsigned* sums) {
    constexpr int kWords = band_planes(kPacked) * kPitch;
    uint2 left = make_uint2(0, 0);  // The row that is yet to be taken away.
#pragma unroll 1
    for (int r = 0; r < count; r += kAhead, offsets += kAhead, sums += kAhead * kWords) {
      const bool more = r + kAhead < count;
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        if (r + i >= count) break;
        sums_.exchange(enter_[i], left);
#pragma unroll
        for (int w = 0; w < Sums::kWords; ++w)
          sums[i * kWords + to_[w]] = sums_.word[w];
        left = leave_[i];
        if (more) load<kWhole>(i, offsets[min(kAhead + i, count - 1 - r)]);
      }
    }
    sums_.add(left, -1u);
  }

 private:
  /// Rows of which a thread has asked for what enters and leaves.
  static constexpr int kAhead = kPacked ? 6 : 4;

  __device__ uint2 black() const {
    return make_uint2(black_, black_);
  }

  struct Chunks {
    int begin, end;
  };
  /// Those that lie between the rows, or nearly.
  __device__ Chunks chunks_in(int first, int last) const {
    return {(first + kBandChunk / 2) / kBandChunk,
            min((last + kBandChunk / 2) / kBandChunk, a_.group.height / kBandChunk)};
  }

  template <bool kWhole>
  __device__ __forceinline__ void load(int i, longlong2 offset) {
    enter_[i] = has_signal(offset.x) ? columns_.read<kWhole>(offset.x) : black();
    leave_[i] = has_signal(offset.y) ? columns_.read<kWhole>(offset.y) : black();
  }

  const LaunchArguments& a_;
  EightColumns columns_;
  int x_, top_;
  int to_[Sums::kWords];  ///< Where the sums go in their row.
  unsigned black_;
  Sums& sums_;
  uint2 enter_[kAhead], leave_[kAhead];
};

}  // namespace
}  // namespace convolve
