// SPDX-License-Identifier: LGPL-2.1-or-later
// From a band's column sums in shared memory to the codes of kernel `box`: a warp makes 512 windows
// of a row.
#pragma once

#include <cstdint>

#include "kernels/core/box_bands.h"
#include "kernels/cuda/box_codes.cuh"
#include "kernels/cuda/kernel.cuh"

namespace convolve {
namespace {

constexpr unsigned kAllLanes = 0xFFFFFFFFu;

/// sum + a0 b0 + a1 b1, with the low bytes of `b` signed.
__device__ __forceinline__ unsigned add_pair(unsigned a, unsigned b, unsigned sum) {
  asm("dp2a.lo.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}
constexpr unsigned kFirst = 0x0001, kSecond = 0x0100, kBoth = 0x0101;
/// The first less the second.
constexpr unsigned kExchange = 0xFF01;

__device__ __forceinline__ unsigned shared_address(const unsigned* word) {
  return static_cast<unsigned>(__cvta_generic_to_shared(word));
}
__device__ __forceinline__ unsigned load_shared(unsigned address) {
  unsigned word;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
  return word;
}

/// Where the words lie that a lane sees of a row's column sums, as windows see them: those of what
/// 16 outputs see from place kBandGroup * t + place on.
template <bool kPacked, int kPitch, int kCount>
class WordPlaces {
 public:
  __device__ __forceinline__ WordPlaces(const unsigned* row, int t, int place) {
    const unsigned first = static_cast<unsigned>(place) / kEach;
    const unsigned from = shared_address(row + first / kPlanes + t);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      // Words behind the last plane are in the first planes again.
      const unsigned plane = first % kPlanes + i;
      at_[i] = from + 4 * (plane % kPlanes * kPitch + plane / kPlanes);
    }
  }
  /// Loads them, and goes on to the next row.
  __device__ __forceinline__ void load(unsigned (&word)[kCount]) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      word[i] = load_shared(at_[i]);
      at_[i] += 4 * kPlanes * kPitch;
    }
  }

 private:
  static constexpr int kPlanes = band_planes(kPacked), kEach = kPacked ? 2 : 1;
  unsigned at_[kCount];
};

/// A lane's share of the sum of places begin to end - 1, row by row.
template <bool kPacked, int kPitch>
class WindowShare {
 public:
  __device__ __forceinline__ WindowShare(const unsigned* row, int begin, int end) {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int word = begin / kEach + lane, words = divide_up(end, kEach);
    count_ = max(0, divide_up(words - word, 32));
    at_ = shared_address(row + word % kPlanes * kPitch + word / kPlanes);
    if constexpr (kPacked) {
      // Only the first word can begin before, and only the last one end behind.
      first_ = word * kEach < begin ? kSecond : kBoth;
      last_ = (word + 32 * (count_ - 1)) * kEach + 1 == end ? kFirst : kBoth;
    }
  }
  /// Adds it up, and goes on to the next row.
  __device__ __forceinline__ unsigned add() {
    unsigned sum = 0, at = at_;
    unsigned each = first_;
#pragma unroll 1
    for (int i = 1; i < count_; ++i, at += 4 * 32 / kPlanes) {
      sum = kPacked ? add_pair(load_shared(at), each, sum) : sum + load_shared(at);
      each = kBoth;
    }
    if (count_ > 0)
      sum = kPacked ? add_pair(load_shared(at), each & last_, sum) : sum + load_shared(at);
    at_ += 4 * kPlanes * kPitch;
    return sum;
  }

 private:
  static constexpr int kPlanes = band_planes(kPacked), kEach = kPacked ? 2 : 1;
  unsigned at_, first_ = kBoth, last_ = kBoth;
  int count_;
};

/// The sum of the values of the lanes before this one.
__device__ __forceinline__ unsigned sum_before(unsigned value) {
  unsigned sum = value;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2)
    asm volatile(
        "{\n\t"
        ".reg .pred before;\n\t"
        ".reg .u32 other;\n\t"
        "shfl.sync.up.b32 other|before, %0, %1, 0, 0xFFFFFFFF;\n\t"
        "@before add.u32 %0, %0, other;\n\t"
        "}"
        : "+r"(sum)
        : "r"(distance));
  return sum - value;
}

/// The sum of all lanes' values.
__device__ __forceinline__ unsigned sum_of_lanes(unsigned value) {
#if __CUDA_ARCH__ >= 800
  return __reduce_add_sync(kAllLanes, value);
#else
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
#endif
}

/// Window sums of a block's rows, and their codes.
template <bool kPacked, int kPitch, bool kOddOut, bool kOddIn>
class BandWindows {
 public:
  __device__ BandWindows(const LaunchArguments& a, const BandLayout& layout, const unsigned* sums)
      : a_(a), group_(a.group), channel_(a.group.channel[0]), layout_(layout), sums_(sums) {
    const std::uint8_t* const dst = group_.dst + channel_.offset;
    aligned_ =
        (reinterpret_cast<std::uintptr_t>(dst) | static_cast<std::uintptr_t>(group_.dst_pitch)) %
            kBandGroup ==
        0;
  }

  /// Rows y to y + count - 1, of which a warp has as many as others, and of few pieces, as what it
  /// knows of one it need not find out for each row.
  __device__ __forceinline__ void make(int y, int count) const {
    const int items = divide_up(group_.width, kBandPiece) * count;
    const int warp = static_cast<int>(threadIdx.x / 32), warps = static_cast<int>(blockDim.x / 32);
    int item = warp * items / warps;
    const int end = (warp + 1) * items / warps;
    int piece = item / count, row = item - piece * count;
#pragma unroll 1
    for (int rows; item < end; item += rows, row = 0, ++piece) {
      rows = min(count - row, end - item);
      make_piece(y + row, rows, piece, sums_ + row * kPlanes * kPitch);
    }
  }

 private:
  static constexpr int kPlanes = band_planes(kPacked);

  __device__ __forceinline__ void make_piece(int y, int rows, int piece,
                                             const unsigned* sums) const {
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int begin = piece * kBandPiece + layout_.first;
    WindowShare<kPacked, kPitch> share(sums, begin, begin + a_.mask.width);
    // Lanes behind the picture's end repeat its last group, for nobody.
    const int t = min(piece * 32 + lane, (group_.width - 1) >> 4);
    WordPlaces<kPacked, kPitch, kPlanes + kOddOut> leaving(sums, t, kOddOut ? 1 : 0);
    WordPlaces<kPacked, kPitch, kPlanes + kOddIn> entering(sums, t, layout_.first + a_.mask.width);
    const int x = piece * kBandPiece + lane * kBandGroup;
    std::uint8_t* to = group_.dst + channel_.offset + y * group_.dst_pitch + x;
#pragma unroll 1
    for (int r = 0; r < rows; ++r, to += group_.dst_pitch) {
      const unsigned first = sum_of_lanes(share.add());
      unsigned in[kPlanes + kOddIn], out[kPlanes + kOddOut], code[4];
      leaving.load(out);
      entering.load(in);
      make_codes(first, in, out, code);
      store(to, x, code);
    }
  }

  /// Of 16 windows, from what enters and leaves and the sum of the warp's first one.
  __device__ __forceinline__ void make_codes(unsigned first, const unsigned (&in)[kPlanes + kOddIn],
                                             const unsigned (&out)[kPlanes + kOddOut],
                                             unsigned (&code)[4]) const {
    // How much each window has more than the lane's first one, and kAbove.
    unsigned more[kBandGroup + 1];
    more[0] = kAbove;
#pragma unroll
    for (int i = 0; i < kBandGroup; ++i)
      more[i + 1] = kPacked ? add_pair(entering_and_leaving(in, out, i), kExchange, more[i])
                            : more[i] + in[i] - out[i];
    const unsigned total = more[kBandGroup] - kAbove;
    const unsigned window = first + sum_before(total) - kAbove;
    if (channel_.division.plain) {
      // (window + offset) * reciprocal, to which those of the others are added.
      const std::uint64_t base =
          static_cast<std::uint64_t>(window + kAbove + channel_.division.offset) *
              channel_.division.reciprocal -
          static_cast<std::uint64_t>(kAbove) * channel_.division.reciprocal;
      const unsigned pair = static_cast<unsigned>(channel_.division.shift) / 8 * 0x11 + 0x40;
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        unsigned high[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
          high[k] = static_cast<unsigned>(
              (static_cast<std::uint64_t>(more[4 * i + k]) * channel_.division.reciprocal + base) >>
              32);
        code[i] = __byte_perm(__byte_perm(high[0], high[1], pair),
                              __byte_perm(high[2], high[3], pair), 0x5410);
      }
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        code[i] = other_codes(channel_, a_.mask.width * a_.mask.height, window + more[4 * i],
                              window + more[4 * i + 1], window + more[4 * i + 2],
                              window + more[4 * i + 3]);
    }
  }

  /// So much that no difference from the first window is below 0.
  static constexpr unsigned kAbove = kPacked ? 1u << 20 : 1u << 25;

  /// The sum that enters with window i + 1, and the one that leaves, as a word.
  static __device__ __forceinline__ unsigned entering_and_leaving(
      const unsigned (&in)[kPlanes + kOddIn], const unsigned (&out)[kPlanes + kOddOut], int i) {
    const int enters = i + (kOddIn ? 1 : 0), leaves = i + (kOddOut ? 1 : 0);
    return __byte_perm(in[enters / 2], out[leaves / 2],
                       (enters % 2 == 0 ? 0x10 : 0x32) | (leaves % 2 == 0 ? 0x5400 : 0x7600));
  }

  __device__ __forceinline__ void store(std::uint8_t* to, int x, const unsigned (&code)[4]) const {
    if (aligned_ && x + kBandGroup <= group_.width) {
      *reinterpret_cast<uint4*>(to) = make_uint4(code[0], code[1], code[2], code[3]);
      return;
    }
#pragma unroll
    for (int i = 0; i < kBandGroup; ++i)
      if (x + i < group_.width) to[i] = static_cast<std::uint8_t>(code[i / 4] >> (8 * (i % 4)));
  }

  const LaunchArguments& a_;
  const GroupArguments& group_;
  const ChannelArguments& channel_;
  const BandLayout& layout_;
  const unsigned* sums_;
  bool aligned_;
};

template <bool kPacked, int kPitch>
__device__ __forceinline__ void make_windows(const LaunchArguments& a, const BandLayout& layout,
                                             const unsigned* sums, int y, int count) {
  if constexpr (kPacked) {
    const bool odd_out = layout.first % 2 != 0, odd_in = (layout.first + a.mask.width) % 2 != 0;
    if (odd_out && odd_in)
      return BandWindows<kPacked, kPitch, true, true>(a, layout, sums).make(y, count);
    if (odd_out) return BandWindows<kPacked, kPitch, true, false>(a, layout, sums).make(y, count);
    if (odd_in) return BandWindows<kPacked, kPitch, false, true>(a, layout, sums).make(y, count);
  }
  BandWindows<kPacked, kPitch, false, false>(a, layout, sums).make(y, count);
}

}  // namespace
}  // namespace convolve
