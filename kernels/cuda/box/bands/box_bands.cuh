// SPDX-License-Identifier: LGPL-2.1-or-later
// What windows of kernel `box` in bands see of rows: how much their column sums differ, and those
// of a middle row; eight adjacent columns a thread.
#pragma once

#include "kernels/core/shape/box_bands.h"
#include "kernels/cuda/box/bands/box_band_rows.cuh"
#include "kernels/cuda/box/bands/box_band_start.cuh"
#include "kernels/cuda/box/box_scan.cuh"
#include "kernels/cuda/device/kernel.cuh"
#include "kernels/cuda/device/overlap.cuh"

namespace convolve {
namespace {

/// The two numbers of a pair, low + 65536 * high, which fit 16 bits with their signs.
__device__ __forceinline__ unsigned low_of(unsigned pair) {
  return static_cast<unsigned>(static_cast<int>(pair << 16) >> 16);
}
__device__ __forceinline__ unsigned high_of(unsigned pair) {
  return static_cast<unsigned>(static_cast<int>(pair + 0x8000u) >> 16);
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
  /// Adds packed sums, so many times.
  __device__ __forceinline__ void add(uint4 sums, unsigned times) {
    static_assert(!kPacked);
    const unsigned pair[4] = {sums.x, sums.y, sums.z, sums.w};
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      word[i] += times * (i % 2 == 0 ? pair[i / 2] & 0xFFFFu : pair[i / 2] >> 16);
  }

 private:
  static __device__ __forceinline__ unsigned part(uint2 codes, int i) {
    constexpr int kInHalf = kWords / 2;
    return __byte_perm(i < kInHalf ? codes.x : codes.y, 0,
                       kPacked ? 0x4140 + 0x202 * (i % kInHalf) : 0x4440 + i % kInHalf);
  }
};

/// Ghosts beside the picture where groups stand for all columns there: as the outermost column, or
/// without signal. They are up to the warp that has this column; a lane stores one on either side.
class EdgeGhosts {
 public:
  __device__ EdgeGhosts(const GroupArguments& group, const BandLayout& layout)
      : signal_(group.border != Border::kZero) {
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const int left = layout.first * kBandGroup + lane, right = layout.lead + group.width + lane;
    if (!band_repeats(group.border)) return;
    if (warp == 0 && left < layout.lead) {
      left_ = layout.word_at(left);
      left_from_ = layout.word_at(layout.lead);
    }
    if (warp == (group.width - 1) / (32 * kBandWord) && right < (layout.last + 1) * kBandGroup) {
      right_ = layout.word_at(right);
      right_from_ = layout.word_at(layout.lead + group.width - 1);
    }
  }

  /// Stores them in kSlots slots, given what columns without signal have.
  template <int kSlots>
  __device__ __forceinline__ void store(uint4* slots, int slot_quads, unsigned nothing) const {
    if (!__any_sync(kAllLanes, left_ >= 0 || right_ >= 0)) return;
    __syncwarp();
    auto* const words = reinterpret_cast<unsigned*>(slots);
    store_side<kSlots>(words, slot_quads * kBandQuad, left_, left_from_, nothing);
    store_side<kSlots>(words, slot_quads * kBandQuad, right_, right_from_, nothing);
  }

 private:
  template <int kSlots>
  __device__ __forceinline__ void store_side(unsigned* words, int slot_words, int to, int from,
                                             unsigned nothing) const {
    if (to < 0) return;
    unsigned word[kSlots];
#pragma unroll
    for (int i = 0; i < kSlots; ++i)
      word[i] = signal_ ? words[i * slot_words + from] : nothing;
#pragma unroll
    for (int i = 0; i < kSlots; ++i)
      words[i * slot_words + to] = word[i];
  }

  bool signal_;
  int left_ = -1, right_ = -1, left_from_ = 0, right_from_ = 0;
};

/// What windows see of a batch of rows, of a thread's columns.
template <int kPitch, int kRows, bool kWhole, bool kBlocks>
class BandColumns {
 public:
  __device__ BandColumns(const LaunchArguments& a, const BandLayout& layout, int x,
                         unsigned* blocks)
      : a_(a),
        columns_(a.group, x),
        ghosts_(a.group, layout),
        x_(x),
        black_(0x01010101u * static_cast<unsigned>(a.group.channel[0].black)) {
    const int quad = (x + layout.lead) / kBandQuad;
    to_[0] = layout.quad_at(quad);
    to_[1] = layout.quad_at(quad + 1);
    block_ = blocks + x / kBandGroup;
  }

  /// Stores how much rows differ from the ones next to them, upwards and then downwards from the
  /// middle, of rows that `source` reads: so that those are asked for while others come.
  template <class Source>
  __device__ __forceinline__ void store_differences(const Source& source, uint4* slots) {
#pragma unroll
    for (int i = kMiddle; i > 0; --i) {
      enter_[i] = source.enter(i);
      leave_[i - 1] = source.leave(i - 1);
    }
    enter_[0] = source.enter(0);
#pragma unroll
    for (int i = 0; i < kBandWord; ++i)
      above_[i] = behind_[i] = 0;
#pragma unroll
    for (int pair = 0; pair < kPairs / 2; ++pair) {
      const int down = kMiddle + 2 * pair;
      leave_[down] = source.leave(down);
      enter_[down + 1] = source.enter(down + 1);
      leave_[down + 1] = source.leave(down + 1);
      enter_[down + 2] = source.enter(down + 2);
      const int r = kMiddle - 2 * pair;
      store_pair(leave_[r - 1], leave_[r - 2], enter_[r], enter_[r - 1], slots, pair, above_);
    }
    leave_[kRows - 1] = source.leave(kRows - 1);
#pragma unroll
    for (int pair = 0; pair < kPairs / 2; ++pair) {
      const int r = kMiddle + 2 * pair;
      store_pair(enter_[r + 1], enter_[r + 2], leave_[r], leave_[r + 1], slots, kPairs / 2 + pair,
                 behind_);
    }
    ghosts_.template store<kPairs>(slots, kQuads, 0);
  }

  /// True if they lie in the picture.
  __device__ __forceinline__ bool mine() const {
    return columns_.any();
  }
  __device__ __forceinline__ InnerRows inner(int leaving, int count) const {
    return InnerRows(a_, columns_.nearest(), leaving, count);
  }
  __device__ __forceinline__ OuterRows<kWhole> outer(const longlong2* offsets, int count) const {
    return OuterRows<kWhole>(columns_, offsets, black(), count);
  }

  /// Adds up a start's rows.
  __device__ __forceinline__ void add_rows(const BandStart& start) {
    sums_.add(black(), static_cast<unsigned>(start.black));
    // Sixteen bits with a sign are enough for these.
    constexpr unsigned kAbove = kBandStep * 255;
    EightSums<true> few;
#pragma unroll
    for (unsigned& word : few.word)
      word = kAbove << 16 | kAbove;
#pragma unroll
    for (int i = 0; i < min(kRows, kBandStep - 1); ++i) {
      if (i < start.leaving) few.add(leave_[i]);
      if (i < start.entering) few.add(enter_[i], -1u);
    }
    sums_.add(make_uint4(few.word[0], few.word[1], few.word[2], few.word[3]), 1);
#pragma unroll
    for (unsigned& word : sums_.word)
      word -= kAbove;
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
  /// Asks for the first ones of its steps.
  __device__ __forceinline__ void ask_for_steps(const BandStart& start, int first = 0) {
#pragma unroll
    for (int k = 0; k < kStepsAtOnce; ++k)
      if (first + k < start.steps) asked_[k] = read_step(start.step[first + k].row);
  }
  /// Adds up all of them.
  __device__ __forceinline__ void add_steps(const BandStart& start) {
#pragma unroll 1
    for (int i = 0;;) {
#pragma unroll
      for (int k = 0; k < kStepsAtOnce; ++k)
        if (i + k < start.steps)
          sums_.add(asked_[k], static_cast<unsigned>(start.step[i + k].times));
      i += kStepsAtOnce;
      if (i >= start.steps) break;
      ask_for_steps(start, i);
    }
  }

  /// Stores the sums of the middle row, given those above the first one.
  __device__ __forceinline__ void store_middle(uint4* slots) {
    sums_.add(enter_[0]);
    add_pairs(above_, -1u);
    store(sums_.word, slots, kPairs);
    ghosts_.template store<1>(slots + kPairs * kQuads, kQuads,
                              a_.group.channel[0].black * static_cast<unsigned>(a_.mask.height));
  }

  /// The sums above the batch behind this one, which has all of its rows.
  __device__ __forceinline__ EightSums<false> above_next() {
    add_pairs(behind_, 1);
    sums_.add(leave_[kRows - 1], -1u);
    return sums_;
  }
  __device__ __forceinline__ void go_on(const EightSums<false>& sums) {
    sums_ = sums;
  }

 private:
  static constexpr int kQuads = band_slot_quads(kPitch), kPairs = band_slots(kRows) - 1;
  static constexpr int kMiddle = kPairs;
  /// Parts of a start that are loaded at once.
  static constexpr int kAtOnce = 4, kStepsAtOnce = 8;

  __device__ uint2 black() const {
    return make_uint2(black_, black_);
  }

  __device__ __forceinline__ uint4 read_step(int row) const {
    const auto* const from =
        static_cast<const std::uint8_t*>(a_.intermediate) + x_ * sizeof(std::uint16_t);
    return *reinterpret_cast<const uint4*>(from + row * a_.intermediate_pitch);
  }

  __device__ __forceinline__ void store(const unsigned (&word)[kBandWord], uint4* slots,
                                        int number) const {
    if constexpr (kBlocks) {
      unsigned sum = 0;
#pragma unroll
      for (int i = 0; i < kBandWord; ++i)
        sum += word[i];
      sum += __shfl_xor_sync(kAllLanes, sum, 1);
      if (mine() && x_ % kBandGroup == 0) block_[number * band_slot_blocks(kPitch)] = sum;
    }
    if (!mine()) return;
    uint4* const slot = slots + number * kQuads;
    slot[to_[0]] = make_uint4(word[0], word[1], word[2], word[3]);
    slot[to_[1]] = make_uint4(word[4], word[5], word[6], word[7]);
  }
  /// Stores (plus0 - minus0) + 65536 (plus1 - minus1) of each column, and adds them up.
  __device__ __forceinline__ void store_pair(uint2 plus0, uint2 plus1, uint2 minus0, uint2 minus1,
                                             uint4* slots, int number,
                                             unsigned (&all)[kBandWord]) const {
    unsigned plus[kBandWord], minus[kBandWord];
    pair_up(plus0, plus1, plus);
    pair_up(minus0, minus1, minus);
#pragma unroll
    for (int i = 0; i < kBandWord; ++i) {
      plus[i] -= minus[i];
      all[i] += plus[i];
    }
    store(plus, slots, number);
  }
  static __device__ __forceinline__ void pair_up(uint2 low, uint2 high,
                                                 unsigned (&pair)[kBandWord]) {
    const unsigned two[4] = {__byte_perm(low.x, high.x, 0x5140), __byte_perm(low.x, high.x, 0x7362),
                             __byte_perm(low.y, high.y, 0x5140),
                             __byte_perm(low.y, high.y, 0x7362)};
#pragma unroll
    for (int i = 0; i < kBandWord; ++i)
      pair[i] = __byte_perm(two[i / 2], 0, i % 2 == 0 ? 0x4140 : 0x4342);
  }
  /// Adds both rows of pairs.
  __device__ __forceinline__ void add_pairs(const unsigned (&all)[kBandWord], unsigned times) {
#pragma unroll
    for (int i = 0; i < kBandWord; ++i)
      sums_.word[i] += times * (low_of(all[i]) + high_of(all[i]));
  }

  using Columns = EightColumns<kWhole>;

  const LaunchArguments& a_;
  Columns columns_;
  EdgeGhosts ghosts_;
  int x_;
  int to_[2];        ///< Where their quads go in a slot.
  unsigned* block_;  ///< Where the sum of 16 goes in the first slot.
  unsigned black_;
  EightSums<false> sums_;
  unsigned above_[kBandWord], behind_[kBandWord];
  uint2 enter_[kRows], leave_[kRows];
  uint4 asked_[kStepsAtOnce];
};

}  // namespace
}  // namespace convolve
