// SPDX-License-Identifier: LGPL-2.1-or-later
// Columns of kernel `box` in bands: a thread has eight adjacent columns, and stores for each row of
// a batch by how much its column sums differ from the next row's, and the column sums of the middle
// row.
#pragma once

#include "kernels/core/shape/box_bands.h"
#include "kernels/cuda/box/bands/box_band_initial.cuh"
#include "kernels/cuda/box/bands/box_band_rows.cuh"
#include "kernels/cuda/box/box_scan.cuh"
#include "kernels/cuda/device/kernel.cuh"
#include "kernels/cuda/device/overlap.cuh"

namespace convolve {
namespace {

/// The two numbers of a pair, low + 65536 * high, each of 16 bits with a sign.
__device__ __forceinline__ unsigned low_of(unsigned pair) {
  return static_cast<unsigned>(static_cast<int>(pair << 16) >> 16);
}
__device__ __forceinline__ unsigned high_of(unsigned pair) {
  return static_cast<unsigned>(static_cast<int>(pair + 0x8000u) >> 16);
}

/// Sums of eight adjacent columns. Packed, two sums of 16 bits share a word and are added and
/// subtracted as one number. That is exact modulo 2^32: a half may be negative on the way, but not
/// in the end.
template <bool kPacked>
struct EightSums {
  static constexpr int kWords = kPacked ? 4 : 8;
  unsigned word[kWords] = {};

  /// Adds code values as they lie in memory, `times` times.
  __device__ __forceinline__ void add(uint2 codes, unsigned times = 1) {
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      word[i] += times * unpack(codes, i);
  }
  /// Adds packed sums, `times` times.
  __device__ __forceinline__ void add(uint4 sums, unsigned times) {
    static_assert(!kPacked);
    const unsigned pair[4] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      word[i] += times * (i % 2 == 0 ? pair[i / 2] & 0xFFFFu : pair[i / 2] >> 16);
  }

 private:
  static __device__ __forceinline__ unsigned unpack(uint2 codes, int i) {
    constexpr int kInHalf = kWords / 2;
    return __byte_perm(i < kInHalf ? codes.x : codes.y, 0,
                       kPacked ? 0x4140 + 0x202 * (i % kInHalf) : 0x4440 + i % kInHalf);
  }
};

/// The ghosts of a border that repeats one column, or has no signal. A few panels on either side
/// are stored and read for all ghosts beyond (BandLayout). The warp that has the outermost column
/// stores them, each lane one ghost on either side.
class EdgeGhosts {
 public:
  __device__ EdgeGhosts(const GroupArguments& group, const BandLayout& layout)
      : signal_(group.border != Border::kZero) {
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const int left = layout.first * kBandPanel + lane, right = layout.lead + group.width + lane;
    if (!band_repeats(group.border)) return;
    if (warp == 0 && left < layout.lead) {
      left_ = layout.word_at(left);
      left_from_ = layout.word_at(layout.lead);
    }
    if (warp == (group.width - 1) / (32 * kBandColumnsAThread) &&
        right < (layout.last + 1) * kBandPanel) {
      right_ = layout.word_at(right);
      right_from_ = layout.word_at(layout.lead + group.width - 1);
    }
  }

  /// Stores the ghosts of kLines lines; `no_signal_sum`: what a column without signal has there.
  template <int kLines>
  __device__ __forceinline__ void store(uint4* lines, int line_vectors,
                                        unsigned no_signal_sum) const {
    if (!__any_sync(kAllLanes, left_ >= 0 || right_ >= 0)) return;
    __syncwarp();
    auto* const words = reinterpret_cast<unsigned*>(lines);
    store_side<kLines>(words, line_vectors * kBandVector, left_, left_from_, no_signal_sum);
    store_side<kLines>(words, line_vectors * kBandVector, right_, right_from_, no_signal_sum);
  }

 private:
  template <int kLines>
  __device__ __forceinline__ void store_side(unsigned* words, int line_words, int to, int from,
                                             unsigned no_signal_sum) const {
    if (to < 0) return;
    unsigned word[kLines];
#pragma unroll
    for (int i = 0; i < kLines; ++i)
      word[i] = signal_ ? words[i * line_words + from] : no_signal_sum;
#pragma unroll
    for (int i = 0; i < kLines; ++i)
      words[i * line_words + to] = word[i];
  }

  bool signal_;
  int left_ = -1, right_ = -1, left_from_ = 0, right_from_ = 0;
};

/// A thread's columns of a batch of kRows rows, which it stores as lines for windows to read.
template <int kPitch, int kRows, bool kPanelSums>
class BandColumns {
 public:
  __device__ BandColumns(const LaunchArguments& a, const BandLayout& layout, int x,
                         unsigned* panel_sums)
      : a_(a),
        columns_(a.group, x),
        ghosts_(a.group, layout),
        x_(x),
        black_(0x01010101u * static_cast<unsigned>(a.group.channel[0].black)) {
    const int vector = (x + layout.lead) / kBandVector;
    to_[0] = layout.vector_at(vector);
    to_[1] = layout.vector_at(vector + 1);
    panel_sum_ = panel_sums + x / kBandPanel;
  }

  /// Stores by how much the column sums of each row differ from those of the next row towards the
  /// middle: lines upwards from the middle first, then downwards. `source` loads the rows. Loads
  /// for the lower half are issued while the upper half is computed.
  template <class Source>
  __device__ __forceinline__ void store_differences(const Source& source, uint4* lines) {
#pragma unroll
    for (int i = kMiddle; i > 0; --i) {
      enter_[i] = source.enter(i);
      leave_[i - 1] = source.leave(i - 1);
    }
    enter_[0] = source.enter(0);
#pragma unroll
    for (int i = 0; i < kBandColumnsAThread; ++i)
      above_[i] = below_[i] = 0;
#pragma unroll
    for (int pair = 0; pair < kPairs / 2; ++pair) {
      const int down = kMiddle + 2 * pair;
      leave_[down] = source.leave(down);
      enter_[down + 1] = source.enter(down + 1);
      leave_[down + 1] = source.leave(down + 1);
      enter_[down + 2] = source.enter(down + 2);
      const int r = kMiddle - 2 * pair;
      store_pair(leave_[r - 1], leave_[r - 2], enter_[r], enter_[r - 1], lines, pair, above_);
    }
    leave_[kRows - 1] = source.leave(kRows - 1);
#pragma unroll
    for (int pair = 0; pair < kPairs / 2; ++pair) {
      const int r = kMiddle + 2 * pair;
      store_pair(enter_[r + 1], enter_[r + 2], leave_[r], leave_[r + 1], lines, kPairs / 2 + pair,
                 below_);
    }
    ghosts_.template store<kPairs>(lines, kLineVectors, 0);
  }

  /// True if any of the columns lies in the picture.
  __device__ __forceinline__ bool inside() const {
    return columns_.inside();
  }
  __device__ __forceinline__ InteriorRows interior(int leaving, int count) const {
    return InteriorRows(a_, columns_.nearest(), leaving, count);
  }
  __device__ __forceinline__ BorderRows border(const longlong2* offsets, int count) const {
    return BorderRows(columns_, offsets, black(), count);
  }

  /// Adds the rows of the initial column sums, but not its checkpoints.
  __device__ __forceinline__ void add_initial_rows(const InitialSum& initial) {
    sums_.add(black(), static_cast<unsigned>(initial.black));
    // Rows that leave or enter are held already. There are less than kBandInterval of either, so
    // that their sums fit 16 bits; the excess keeps every half above 0.
    constexpr unsigned kExcess = kBandInterval * 255;
    EightSums<true> small;
#pragma unroll
    for (unsigned& word : small.word)
      word = kExcess << 16 | kExcess;
#pragma unroll
    for (int i = 0; i < min(kRows, kBandInterval - 1); ++i) {
      if (i < initial.leaving) small.add(leave_[i]);
      if (i < initial.entering) small.add(enter_[i], -1u);
    }
    sums_.add(make_uint4(small.word[0], small.word[1], small.word[2], small.word[3]), 1);
#pragma unroll
    for (unsigned& word : sums_.word)
      word -= kExcess;
#pragma unroll 1
    for (int i = 0; i < initial.rows; i += kRowsInFlight) {
      uint2 row[kRowsInFlight];
      int times[kRowsInFlight];
#pragma unroll
      for (int k = 0; k < kRowsInFlight; ++k) {
        const bool there = i + k < initial.rows;
        const InitialSum::Term term = initial.row[there ? i + k : 0];
        times[k] = there ? term.factor : 0;
        row[k] = columns_.read(term.row * a_.group.src_pitch, black());
      }
#pragma unroll
      for (int k = 0; k < kRowsInFlight; ++k)
        sums_.add(row[k], static_cast<unsigned>(times[k]));
    }
  }
  /// Adds up the initial column sums row by row, where InitialSum has no room for all terms.
  __device__ __forceinline__ void add_all_initial_rows(int top) {
#pragma unroll 1
    for (int i = 0; i < a_.mask.height - 1; ++i) {
      const int row = border_index(a_.group.border, top + i, a_.group.height);
      sums_.add(columns_.read(row == kNoSignal ? kNoOffset : row * a_.group.src_pitch, black()));
    }
  }
  /// Issues the loads of the first checkpoints from number `first` on.
  __device__ __forceinline__ void prefetch_checkpoints(const InitialSum& initial, int first = 0) {
#pragma unroll
    for (int k = 0; k < kCheckpointsInFlight; ++k)
      if (first + k < initial.checkpoints)
        prefetched_[k] = read_checkpoint(initial.checkpoint[first + k].row);
  }
  /// Adds all checkpoints of the initial column sums, of which the first have been prefetched.
  __device__ __forceinline__ void add_checkpoints(const InitialSum& initial) {
#pragma unroll 1
    for (int i = 0;;) {
#pragma unroll
      for (int k = 0; k < kCheckpointsInFlight; ++k)
        if (i + k < initial.checkpoints)
          sums_.add(prefetched_[k], static_cast<unsigned>(initial.checkpoint[i + k].factor));
      i += kCheckpointsInFlight;
      if (i >= initial.checkpoints) break;
      prefetch_checkpoints(initial, i);
    }
  }

  /// Stores the column sums of the middle row, given the initial column sums: adding the row that
  /// enters makes the first row's sums of them, and taking the differences away leads to the
  /// middle.
  __device__ __forceinline__ void store_middle(uint4* lines) {
    sums_.add(enter_[0]);
    add_pairs(above_, -1u);
    store(sums_.word, lines, kPairs);
    ghosts_.template store<1>(lines + kPairs * kLineVectors, kLineVectors,
                              a_.group.channel[0].black * static_cast<unsigned>(a_.mask.height));
  }

  /// The initial column sums of the next batch, given those of the middle row. The batch must have
  /// kRows rows.
  __device__ __forceinline__ EightSums<false> sums_above_next() {
    add_pairs(below_, 1);
    sums_.add(leave_[kRows - 1], -1u);
    return sums_;
  }
  __device__ __forceinline__ void continue_from(const EightSums<false>& sums) {
    sums_ = sums;
  }

 private:
  static constexpr int kLineVectors = band_line_vectors(kPitch), kPairs = band_lines(kRows) - 1;
  static constexpr int kMiddle = kPairs;
  /// Rows, and checkpoints, whose loads are in flight at the same time.
  static constexpr int kRowsInFlight = 4, kCheckpointsInFlight = 8;

  __device__ uint2 black() const {
    return make_uint2(black_, black_);
  }

  __device__ __forceinline__ uint4 read_checkpoint(int row) const {
    const auto* const from =
        static_cast<const std::uint8_t*>(a_.intermediate) + x_ * sizeof(std::uint16_t);
    return *reinterpret_cast<const uint4*>(from + row * a_.intermediate_pitch);
  }

  __device__ __forceinline__ void store(const unsigned (&word)[kBandColumnsAThread], uint4* lines,
                                        int index) const {
    if constexpr (kPanelSums) {
      unsigned sum = 0;
#pragma unroll
      for (int i = 0; i < kBandColumnsAThread; ++i)
        sum += word[i];
      sum += __shfl_xor_sync(kAllLanes, sum, 1);
      if (inside() && x_ % kBandPanel == 0) panel_sum_[index * band_line_panels(kPitch)] = sum;
    }
    if (!inside()) return;
    uint4* const line = lines + index * kLineVectors;
    line[to_[0]] = make_uint4(word[0], word[1], word[2], word[3]);
    line[to_[1]] = make_uint4(word[4], word[5], word[6], word[7]);
  }
  /// Stores (plus0 - minus0) + 65536 (plus1 - minus1) of each column, and adds it to `total`.
  __device__ __forceinline__ void store_pair(uint2 plus0, uint2 plus1, uint2 minus0, uint2 minus1,
                                             uint4* lines, int index,
                                             unsigned (&total)[kBandColumnsAThread]) const {
    unsigned plus[kBandColumnsAThread], minus[kBandColumnsAThread];
    pair_up(plus0, plus1, plus);
    pair_up(minus0, minus1, minus);
#pragma unroll
    for (int i = 0; i < kBandColumnsAThread; ++i) {
      plus[i] -= minus[i];
      total[i] += plus[i];
    }
    store(plus, lines, index);
  }
  static __device__ __forceinline__ void pair_up(uint2 low, uint2 high,
                                                 unsigned (&pair)[kBandColumnsAThread]) {
    const unsigned two[4] = {__byte_perm(low.x, high.x, 0x5140), __byte_perm(low.x, high.x, 0x7362),
                             __byte_perm(low.y, high.y, 0x5140),
                             __byte_perm(low.y, high.y, 0x7362)};
#pragma unroll
    for (int i = 0; i < kBandColumnsAThread; ++i)
      pair[i] = __byte_perm(two[i / 2], 0, i % 2 == 0 ? 0x4140 : 0x4342);
  }
  /// Adds both halves of pairs of differences, `times` times.
  __device__ __forceinline__ void add_pairs(const unsigned (&total)[kBandColumnsAThread],
                                            unsigned times) {
#pragma unroll
    for (int i = 0; i < kBandColumnsAThread; ++i)
      sums_.word[i] += times * (low_of(total[i]) + high_of(total[i]));
  }

  const LaunchArguments& a_;
  EightColumns columns_;
  EdgeGhosts ghosts_;
  int x_;
  int to_[2];            ///< Where the columns' two vectors lie in a line.
  unsigned* panel_sum_;  ///< Where the sum of the columns' panel lies for line 0.
  unsigned black_;
  EightSums<false> sums_;
  unsigned above_[kBandColumnsAThread], below_[kBandColumnsAThread];
  uint2 enter_[kRows], leave_[kRows];
  uint4 prefetched_[kCheckpointsInFlight];
};

}  // namespace
}  // namespace convolve
