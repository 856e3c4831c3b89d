// SPDX-License-Identifier: LGPL-2.1-or-later
// From what a band's columns have in shared memory to the codes of kernel `box`. A warp makes a
// piece of some rows, from the middle one up or down: windows of that one, and from row to row how
// much they differ.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/core/shape/box_bands.h"
#include "kernels/cuda/box/bands/box_band_codes.cuh"
#include "kernels/cuda/box/bands/box_bands.cuh"
#include "kernels/cuda/box/box_scan.cuh"

namespace convolve {
namespace {

/// What a warp makes of a batch, a piece of rows as wide as 32 groups at most.
struct BandShare {
  /// Before there are any sums.
  __device__ __forceinline__ explicit BandShare(int width) {
    const int all = divide_up(width, kBandGroup);
    const int warp = static_cast<int>(threadIdx.x / 32), warps = static_cast<int>(blockDim.x / 32);
    const int pieces = divide_up(all, 32), each = divide_up(all, pieces);
    const int sharing = warps / pieces, piece = warp / sharing, part = warp - piece * sharing;
    const int up = sharing / 2;  // There are two of them at least.
    down = part >= up ? 1 : 0;
    parts = down != 0 ? sharing - up : up;
    share = part - down * up;
    first = piece * each;
    lanes = min(each, all - first);
    serves = piece < pieces;
    asm volatile("" : "+r"(first), "+r"(lanes), "+r"(parts), "+r"(share), "+r"(down));
  }

  int first, lanes;  ///< Groups of 16 columns, one a lane.
  int down;          ///< 1 if rows from the middle one down, 0 if those above it, the lowest first.
  int parts, share;  ///< How many warps share these, and which of them this is.
  bool serves;       ///< False for warps without a piece.
};

/// The words of a group's quads, and one more.
constexpr int kGroupQuads = kBandPlanes + 1;
struct GroupWords {
  unsigned word[kGroupQuads * kBandQuad];
  __device__ __forceinline__ void set(int quad, const uint4& words) {
    word[kBandQuad * quad] = words.x;
    word[kBandQuad * quad + 1] = words.y;
    word[kBandQuad * quad + 2] = words.z;
    word[kBandQuad * quad + 3] = words.w;
  }
};

/// Calls visit(std::integral_constant<int, shift>()) for a shift below a quad, the same for all
/// lanes.
template <class Visit>
__device__ __forceinline__ void visit_shift(int shift, Visit&& visit) {
  if (shift < 2) {
    if (shift == 0)
      visit(std::integral_constant<int, 0>());
    else
      visit(std::integral_constant<int, 1>());
  } else {
    if (shift == 2)
      visit(std::integral_constant<int, 2>());
    else
      visit(std::integral_constant<int, 3>());
  }
}

/// The first window of a warp's piece, as lanes add it up in blocks of 16 columns, and one word
/// each besides: the columns of the picture before the first block and behind the last, fewer than
/// 16 of either, and on two lanes that these leave free, a ghost that stands for all on its side.
struct FirstWindow {
  __device__ __forceinline__ FirstWindow(const LaunchArguments& a, const BandLayout& layout,
                                         int first) {
    constexpr int kLeft = kBandGroup - 1, kRight = 2 * kBandGroup - 1;
    const int lane = static_cast<int>(threadIdx.x % 32), width = a.group.width;
    const int from = first * kBandGroup - a.mask.anchor_x, to = from + a.mask.width;
    const int begin = max(from, 0), end = min(to, width);
    block = divide_up(begin, kBandGroup);
    blocks_end = end / kBandGroup;
    int column = lane < kBandGroup ? begin + lane : blocks_end * kBandGroup + lane - kBandGroup;
    times = column < (lane < kBandGroup ? block * kBandGroup : end) ? 1 : 0;
    if (lane == kLeft || lane == kRight) {
      column = lane == kLeft ? -1 : width;
      times = lane == kLeft ? begin - from : to - end;
    }
    word = times > 0 ? layout.word_at(column + layout.lead) : 0;
  }

  int block, blocks_end;  ///< Whole ones.
  int times, word;        ///< How often it sees the lane's word.
};

/// Windows of a lane's 16 columns.
template <int kPitch, int kRows, bool kBlocks>
class BandWindows {
 public:
  __device__ __forceinline__ BandWindows(const LaunchArguments& a, const BandLayout& layout,
                                         const BandShare& share, const uint4* slots,
                                         const unsigned* blocks)
      : a_(a),
        layout_(layout),
        share_(share),
        slots_(slots + share.down * kOneWay * kSlot),
        blocks_(blocks + share.down * kOneWay * kBlockWords),
        middle_(slots + kPairs * kSlot),
        middle_blocks_(blocks + kPairs * kBlockWords),
        leaves_(layout.shift),
        enters_((layout.shift + a.mask.width) % kBandQuad) {
    // Lanes behind the piece repeat its last group, for nobody.
    const int group = share.first + min(lane(), share.lanes - 1);
    leaving_[0] = near(group);
    leaving_[1] = near(group + 1);
    const int quad = (layout.shift + a.mask.width) / kBandQuad;
    const int plane = quad % kBandPlanes, behind = group + quad / kBandPlanes;
    const int from = near(behind), again = near(behind + 1);
#pragma unroll
    for (int i = 0; i < kGroupQuads; ++i)
      entering_[i] = plane + i < kBandPlanes ? from + (plane + i) * kPitch
                                             : again + (plane + i - kBandPlanes) * kPitch;
  }

  /// From how rows differ, how much the piece's first window does: lane i keeps it for the ith row
  /// from the middle one.
  __device__ __forceinline__ void find_firsts() {
    unsigned low[kOneWay] = {}, high[kOneWay] = {};
    const auto add = [&](const unsigned(&sum)[kOneWay], unsigned times) {
#pragma unroll
      for (int i = 0; i < kOneWay; ++i) {
        low[i] += times * low_of(sum[i]);
        high[i] += times * high_of(sum[i]);
      }
    };
    unsigned sum[kOneWay];
    if constexpr (kBlocks) {
      const FirstWindow window(a_, layout_, share_.first);
      unsigned word[kOneWay];
      share_blocks(window, slots_, blocks_, sum, word);
      add(sum, 1);
      add(word, static_cast<unsigned>(window.times));
    } else {
      int left = a_.mask.width, group = share_.first;
#pragma unroll 1
      for (; left > kMostColumns; left -= kMostColumns, group += kMostColumns / kBandGroup) {
        share_quads(slots_, group, kMostColumns, sum);
        add(sum, 1);
      }
      share_quads(slots_, group, left, sum);
      add(sum, 1);
    }
#pragma unroll
    for (int i = 0; i < kOneWay; ++i) {
      low[i] = sum_of_lanes(low[i]);
      high[i] = sum_of_lanes(high[i]);
      first_ = lane() == 2 * i ? low[i] : lane() == 2 * i + 1 ? high[i] : first_;
    }
  }

  /// The lane's part of a batch of `count` rows, the first of which goes to `to`.
  template <class Codes>
  __device__ __forceinline__ void make(std::uint8_t* to, int count) const {
    const int x = (share_.first + lane()) * kBandGroup;
    const int columns = lane() < share_.lanes ? min(kBandGroup, a_.group.width - x) : 0;
    const bool aligned =
        (reinterpret_cast<std::uintptr_t>(to) | static_cast<std::uintptr_t>(a_.group.dst_pitch)) %
            kBandGroup ==
        0;
    const std::int64_t pitch = share_.down != 0 ? a_.group.dst_pitch : -a_.group.dst_pitch;
    to += x + kMiddle * a_.group.dst_pitch;
    // Rows are numbered from the middle one, 0, on, which is made by those below it.
    const int first = 1 - share_.down, last = share_.down != 0 ? count - kMiddle : kMiddle + 1;
    const int rows = max(0, last - first);
    const int begin = first + rows * share_.share / share_.parts;
    const int end = first + rows * (share_.share + 1) / share_.parts;
    const auto store = [&](int row, const Codes& codes) {
      // Rows above the middle one may lie below the batch.
      if (row < begin || row >= end || (share_.down == 0 && kMiddle - row >= count)) return;
      store_codes(to + row * pitch, codes, aligned, columns);
    };
    Codes codes(a_);
    {
      GroupWords in, out;
      unsigned window[kBandGroup + 1], before[1];
      load(middle_, in, out);
      const unsigned share = share_middle();
      window[0] = 0;
      exchange(in, out, window);
      before[0] = window[kBandGroup];
      sum_before(before);
      codes.begin(sum_of_lanes(share) + before[0], window);
    }
    store(0, codes);
    const uint4* slot = slots_;
#pragma unroll 1
    for (int row = 1; row < end; row += 2, slot += kSlot) {
      GroupWords in, out;
      unsigned more[kBandGroup + 1], before[2];
      more[0] = kAbove << 16 | kAbove;
      load(slot, in, out);
      exchange(in, out, more);
      before[0] = (more[kBandGroup] & 0xFFFFu) - kAbove;
      before[1] = (more[kBandGroup] >> 16) - kAbove;
      sum_before(before);
      codes.template add<0>(__shfl_sync(kAllLanes, first_, row - 1) + before[0] - kAbove, more);
      store(row, codes);
      codes.template add<1>(__shfl_sync(kAllLanes, first_, row) + before[1] - kAbove, more);
      store(row + 1, codes);
    }
  }

 private:
  static constexpr int kBlockWords = band_slot_blocks(kPitch);
  /// Of which lanes can add the differences, whole quads, in 16 bits with a sign.
  static constexpr int kMostColumns = 32 * kBandQuad * 30;
  static_assert((kMostColumns / 32 + 2 * kBandQuad) * 255 <= 0x7FFF &&
                kMostColumns % kBandGroup == 0);
  static_assert(!kBlocks || divide_up(band_slot_blocks(kPitch), 32) * kBandGroup * 255 <= 0x7FFF);
  static constexpr int kSlot = band_slot_quads(kPitch), kPairs = band_slots(kRows) - 1;
  static constexpr int kOneWay = kPairs / 2, kMiddle = kPairs;
  /// Above 0 whatever is taken away.
  static constexpr unsigned kAbove = 1u << 15;

  static __device__ __forceinline__ int lane() {
    return static_cast<int>(threadIdx.x % 32);
  }
  __device__ __forceinline__ int near(int group) const {
    return min(max(group, layout_.first), layout_.last) - layout_.first;
  }

  __device__ __forceinline__ void load(const uint4* slot, GroupWords& in, GroupWords& out) const {
#pragma unroll
    for (int i = 0; i < kGroupQuads; ++i) {
      in.set(i, slot[entering_[i]]);
      out.set(i, slot[i < kBandPlanes ? leaving_[0] + i * kPitch : leaving_[1]]);
    }
  }
  /// What the windows and the one behind them have more than the first, and more[0].
  __device__ __forceinline__ void exchange(const GroupWords& in, const GroupWords& out,
                                           unsigned (&more)[kBandGroup + 1]) const {
    visit_shift(enters_, [&](auto enters) {
      visit_shift(leaves_, [&](auto leaves) {
#pragma unroll
        for (int i = 0; i < kBandGroup; ++i)
          more[i + 1] = more[i] + in.word[decltype(enters)::value + i] -
                        out.word[decltype(leaves)::value + i];
      });
    });
  }

  /// The lane's share of so many columns of a window that begins in `group`, in adjacent slots, by
  /// quads.
  template <int kSlots>
  __device__ __forceinline__ void share_quads(const uint4* slots, int group, int columns,
                                              unsigned (&sum)[kSlots]) const {
    const int end = leaves_ + columns, quads = divide_up(end, kBandQuad);
#pragma unroll
    for (int i = 0; i < kSlots; ++i)
      sum[i] = 0;
    int at_group = group + lane() / kBandPlanes;
#pragma unroll 1
    for (int quad = lane(); quad < quads; quad += 32, at_group += 32 / kBandPlanes) {
      const uint4* const at = slots + lane() % kBandPlanes * kPitch + near(at_group);
#pragma unroll
      for (int i = 0; i < kSlots; ++i) {
        const uint4 words = at[i * kSlot];
        sum[i] += words.x + words.y;
        sum[i] += words.z + words.w;
      }
    }
    // The first quad begins before the window, and the last one ends behind it.
    const int over = lane() < leaves_ ? lane() : end + lane() - leaves_;
    if (over >= quads * kBandQuad) return;
    const int place = over / kBandQuad;
    const auto* const at = reinterpret_cast<const unsigned*>(slots + place % kBandPlanes * kPitch +
                                                             near(group + place / kBandPlanes)) +
                           over % kBandQuad;
#pragma unroll
    for (int i = 0; i < kSlots; ++i)
      sum[i] -= at[i * kSlot * kBandQuad];
  }

  /// The lane's share of the piece's first window by blocks, and its word, which comes to that.
  template <int kSlots>
  __device__ __forceinline__ void share_blocks(const FirstWindow& window, const uint4* slots,
                                               const unsigned* blocks, unsigned (&sum)[kSlots],
                                               unsigned (&word)[kSlots]) const {
    const auto* const words = reinterpret_cast<const unsigned*>(slots);
#pragma unroll
    for (int i = 0; i < kSlots; ++i) {
      sum[i] = 0;
      word[i] = words[i * kSlot * kBandQuad + window.word];
    }
#pragma unroll 1
    for (int block = window.block + lane(); block < window.blocks_end; block += 32)
#pragma unroll
      for (int i = 0; i < kSlots; ++i)
        sum[i] += blocks[i * kBlockWords + block];
  }

  /// The lane's share of the piece's first window in the middle row.
  __device__ __forceinline__ unsigned share_middle() const {
    unsigned sum[1];
    if constexpr (!kBlocks) {
      share_quads(middle_, share_.first, a_.mask.width, sum);
      return sum[0];
    } else {
      const FirstWindow window(a_, layout_, share_.first);
      unsigned word[1];
      share_blocks(window, middle_, middle_blocks_, sum, word);
      return sum[0] + static_cast<unsigned>(window.times) * word[0];
    }
  }

  template <class Codes>
  __device__ __forceinline__ void store_codes(std::uint8_t* to, const Codes& codes, bool aligned,
                                              int columns) const {
    unsigned code[kBandGroup / 4];
    codes.make(code);
    if (aligned && columns == kBandGroup) {
      *reinterpret_cast<uint4*>(to) = make_uint4(code[0], code[1], code[2], code[3]);
    } else if (columns > 0) {
#pragma unroll
      for (int i = 0; i < kBandGroup; ++i)
        if (i < columns) to[i] = static_cast<std::uint8_t>(code[i / 4] >> (8 * (i % 4)));
    }
  }

  const LaunchArguments& a_;
  const BandLayout& layout_;
  const BandShare& share_;
  const uint4* slots_;
  const unsigned* blocks_;
  const uint4* middle_;
  const unsigned* middle_blocks_;
  int leaves_, enters_;  ///< Places before the first one that does so, in its quad.
  int leaving_[2], entering_[kGroupQuads];
  unsigned first_ = 0;
};

}  // namespace
}  // namespace convolve
