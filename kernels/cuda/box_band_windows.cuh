// SPDX-License-Identifier: LGPL-2.1-or-later
// From a band's column sums in shared memory to the codes of kernel `box`. A warp makes a piece of
// two rows at a time, where it has the registers: one row's loads and scan take longer than its
// instructions.
#pragma once

#include <cstdint>

#include "kernels/core/box_bands.h"
#include "kernels/cuda/box_codes.cuh"
#include "kernels/cuda/box_scan.cuh"
#include "kernels/cuda/kernel.cuh"

namespace convolve {
namespace {

/// Words from a row of sums to the next.
template <bool kPacked, int kPitch>
constexpr int kBandRowWords = band_planes(kPacked) * kPitch;

/// Where the words lie that a lane sees of a row's column sums, as windows see them: those of what
/// 16 outputs see from place kBandGroup * t + place on.
template <bool kPacked, int kPitch, int kCount>
class WordPlaces {
 public:
  __device__ __forceinline__ WordPlaces(const unsigned* row, int t, int place) {
    const int first = place / kEach, plane = first % kPlanes;
    const unsigned* const from = row + plane * kPitch + first / kPlanes + t;
    // Words behind the last plane are in the first planes again.
    const unsigned* const again = from - (kPlanes * kPitch - 1);
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      at_[i] = (plane + i < kPlanes ? from : again) + i * kPitch;
  }
  /// Loads them, of row `row` from here.
  __device__ __forceinline__ void load(unsigned (&word)[kCount], int row) const {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      word[i] = at_[i][row * kBandRowWords<kPacked, kPitch>];
  }
  __device__ __forceinline__ void advance(int rows) {
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      at_[i] += rows * kBandRowWords<kPacked, kPitch>;
  }

 private:
  static constexpr int kPlanes = band_planes(kPacked), kEach = kPacked ? 2 : 1;
  const unsigned* at_[kCount];
};

/// The same where the first place, 0 or 1, is known to the compiler.
template <bool kPacked, int kPitch, int kCount>
class FirstPlaces {
 public:
  __device__ __forceinline__ FirstPlaces(const unsigned* row, int t) : at_(row + t) {}
  __device__ __forceinline__ void load(unsigned (&word)[kCount], int row) const {
    constexpr int kPlanes = band_planes(kPacked);
#pragma unroll
    for (int i = 0; i < kCount; ++i)
      word[i] = at_[row * kBandRowWords<kPacked, kPitch> + i % kPlanes * kPitch + i / kPlanes];
  }
  __device__ __forceinline__ void advance(int rows) {
    at_ += rows * kBandRowWords<kPacked, kPitch>;
  }

 private:
  const unsigned* at_;
};

/// A lane's share of the sum of places begin to end - 1, row by row.
template <bool kPacked, int kPitch>
class WindowShare {
 public:
  __device__ __forceinline__ WindowShare(const unsigned* row, int begin, int end) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int word = begin / kEach + lane, words = divide_up(end, kEach);
    count_ = max(0, divide_up(words - word, 32));
    at_ = row + word % kPlanes * kPitch + word / kPlanes;
    if constexpr (kPacked) {
      // Only the first word can begin before, and only the last one end behind.
      first_ = word * kEach < begin ? kSecond : kBoth;
      last_ = (word + 32 * (count_ - 1)) * kEach + 1 == end ? kFirst : kBoth;
    }
  }
  template <int kRows>
  __device__ __forceinline__ void add(unsigned (&sum)[kRows]) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      sum[r] = 0;
    const unsigned* at = at_;
    unsigned each = first_;
#pragma unroll 4
    for (int i = 1; i < count_; ++i, at += 32 / kPlanes) {
      add_words(at, each, sum);
      each = kBoth;
    }
    if (count_ > 0) add_words(at, each & last_, sum);
  }
  __device__ __forceinline__ void advance(int rows) {
    at_ += rows * kBandRowWords<kPacked, kPitch>;
  }

 private:
  static constexpr int kPlanes = band_planes(kPacked), kEach = kPacked ? 2 : 1;

  template <int kRows>
  static __device__ __forceinline__ void add_words(const unsigned* at, unsigned each,
                                                   unsigned (&sum)[kRows]) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const unsigned word = at[r * kBandRowWords<kPacked, kPitch>];
      sum[r] = kPacked ? add_pair(word, each, sum[r]) : sum[r] + word;
    }
  }

  const unsigned* at_;
  unsigned first_ = kBoth, last_ = kBoth;
  int count_;
};

/// What a warp has of a picture, of any width: a piece of its rows, of which it shares a batch's
/// with others, as what it knows of a piece it need not find out again. Found out before there are
/// any sums.
struct BandShare {
  __device__ __forceinline__ explicit BandShare(int width) {
    const int all = divide_up(width, kBandGroup);
    const int warp = static_cast<int>(threadIdx.x / 32), warps = static_cast<int>(blockDim.x / 32);
    pieces = divide_up(all, 32);
    groups = divide_up(all, pieces);
    sharing = max(1, warps / pieces);
    piece = warp / sharing;
    part = warp - piece * sharing;
    step = warps / sharing;
    // Not to be found out where they are needed.
    asm volatile(""
                 : "+r"(pieces), "+r"(groups), "+r"(sharing), "+r"(piece), "+r"(part), "+r"(step));
  }
  /// The first row of the part, of `count` rows.
  __device__ __forceinline__ int row(int count) const {
    return static_cast<int>(static_cast<unsigned>(count * part) / static_cast<unsigned>(sharing));
  }
  __device__ __forceinline__ int rows(int count) const {
    return static_cast<int>(static_cast<unsigned>(count * (part + 1)) /
                            static_cast<unsigned>(sharing)) -
           row(count);
  }

  int pieces, groups;  ///< Of a row, and groups of 16 columns of a piece.
  int sharing, part;   ///< Warps that share a piece's rows, and which of them this is.
  int piece, step;     ///< The warp's first piece, and how many on the next one is.
};

/// Window sums of a block's rows, and their codes. `kOddOut`, `kOddIn`: the sum that leaves first,
/// and the one that enters, are the second ones of their words.
template <bool kPacked, int kPitch, bool kOddOut, bool kOddIn>
class BandWindows {
 public:
  __device__ __forceinline__ BandWindows(const LaunchArguments& a, const BandLayout& layout,
                                         const unsigned* sums)
      : group_(a.group),
        layout_(layout),
        mask_width_(a.mask.width),
        sums_(sums),
        to_(a.group.dst + a.group.channel[0].offset),
        codes_(a.group.channel[0], a.mask.width * a.mask.height) {
    aligned_ =
        (reinterpret_cast<std::uintptr_t>(to_) | static_cast<std::uintptr_t>(group_.dst_pitch)) %
            kBandGroup ==
        0;
  }

  /// Rows y to y + count - 1.
  __device__ __forceinline__ void make(const BandShare& share, int y, int count) const {
    const int row = share.row(count), rows = share.rows(count);
    const int all = divide_up(group_.width, kBandGroup);
#pragma unroll 1
    for (int piece = share.piece; piece < share.pieces; piece += share.step) {
      const int first = piece * share.groups;
      make_piece(y + row, rows, first, min(share.groups, all - first),
                 sums_ + row * kBandRowWords<kPacked, kPitch>);
    }
  }

 private:
  static constexpr int kPlanes = band_planes(kPacked);
  /// Rows that a warp makes at once: as many as there are registers for.
  static constexpr int kAtOnce =
      kPacked && band_threads_most(kPacked, kPitch) <= kBandFewThreads ? 2 : 1;

  struct Places {
    WindowShare<kPacked, kPitch> share;
    FirstPlaces<kPacked, kPitch, kPlanes + kOddOut> leaving;
    WordPlaces<kPacked, kPitch, kPlanes + kOddIn> entering;

    __device__ __forceinline__ void advance(int rows) {
      share.advance(rows);
      leaving.advance(rows);
      entering.advance(rows);
    }
  };

  /// Of `rows` rows from y on, 16 columns for each of `groups` lanes from group `first` on.
  __device__ __forceinline__ void make_piece(int y, int rows, int first, int groups,
                                             const unsigned* sums) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int begin = first * kBandGroup + layout_.first;
    // Lanes behind the piece repeat its last group, for nobody.
    const int t = first + min(lane, groups - 1), x = (first + lane) * kBandGroup;
    Places places = {
        {sums, begin, begin + mask_width_}, {sums, t}, {sums, t, layout_.first + mask_width_}};
    const int columns = lane < groups ? min(kBandGroup, group_.width - x) : 0;
    std::uint8_t* to = to_ + y * group_.dst_pitch + x;
    int r = 0;
#pragma unroll 1
    for (; r + kAtOnce <= rows; r += kAtOnce) {
      make_rows<kAtOnce>(places, to, columns);
      to += kAtOnce * group_.dst_pitch;
      places.advance(kAtOnce);
    }
    if (kAtOnce > 1 && r < rows) make_rows<1>(places, to, columns);
  }

  template <int kRows>
  __device__ __forceinline__ void make_rows(const Places& places, std::uint8_t* to,
                                            int columns) const {
    unsigned first[kRows], before[kRows], more[kRows][kBandGroup + 1];
    places.share.add(first);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      unsigned in[kPlanes + kOddIn], out[kPlanes + kOddOut];
      places.leaving.load(out, r);
      places.entering.load(in, r);
      // How much each window has more than the lane's first one, and kAbove.
      more[r][0] = kAbove;
#pragma unroll
      for (int i = 0; i < kBandGroup; ++i)
        more[r][i + 1] = kPacked ? add_pair(entering_and_leaving<kOddIn, kOddOut>(in, out, i),
                                            kExchange, more[r][i])
                                 : more[r][i] + in[i] - out[i];
      before[r] = more[r][kBandGroup] - kAbove;
      first[r] = sum_of_lanes(first[r]);
    }
    sum_before(before);
#pragma unroll
    for (int r = 0; r < kRows; ++r, to += group_.dst_pitch) {
      unsigned code[4];
      codes_.make(first[r] + before[r] - kAbove, more[r], code);
      store(to, columns, code);
    }
  }

  /// So much that no difference from the first window is below 0; packed, as bits of a float.
  static constexpr unsigned kAbove = kPacked ? kFloatBits | 1u << 20 : 1u << 25;
  static_assert(!kPacked || kBandGroup * 65535 < 1 << 20);

  __device__ __forceinline__ void store(std::uint8_t* to, int columns,
                                        const unsigned (&code)[4]) const {
    if (aligned_ && columns == kBandGroup) {
      *reinterpret_cast<uint4*>(to) = make_uint4(code[0], code[1], code[2], code[3]);
    } else if (columns > 0) {
#pragma unroll
      for (int i = 0; i < kBandGroup; ++i)
        if (i < columns) to[i] = static_cast<std::uint8_t>(code[i / 4] >> (8 * (i % 4)));
    }
  }

  const GroupArguments& group_;
  const BandLayout& layout_;
  int mask_width_;
  const unsigned* sums_;
  std::uint8_t* to_;
  GroupCodes<kAbove> codes_;
  bool aligned_;
};

template <bool kPacked, int kPitch>
__device__ __forceinline__ void make_windows(const LaunchArguments& a, const BandLayout& layout,
                                             const BandShare& share, const unsigned* sums, int y,
                                             int count) {
  if constexpr (kPacked) {
    const bool odd_out = layout.first % 2 != 0, odd_in = (layout.first + a.mask.width) % 2 != 0;
    if (odd_out && odd_in)
      return BandWindows<kPacked, kPitch, true, true>(a, layout, sums).make(share, y, count);
    if (odd_out)
      return BandWindows<kPacked, kPitch, true, false>(a, layout, sums).make(share, y, count);
    if (odd_in)
      return BandWindows<kPacked, kPitch, false, true>(a, layout, sums).make(share, y, count);
  }
  BandWindows<kPacked, kPitch, false, false>(a, layout, sums).make(share, y, count);
}

}  // namespace
}  // namespace convolve
