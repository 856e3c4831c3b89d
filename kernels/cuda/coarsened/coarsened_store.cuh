// SPDX-License-Identifier: LGPL-2.1-or-later
// From a thread's register tile of sums to stored samples, for kernel `coarsened`.
#pragma once

#include "kernels/cuda/coarsened/coarsened_tile.cuh"

namespace convolve {
namespace {

constexpr int kNextFour = kTileWidth / kFours;

/// The low bytes of four codes as a word.
__device__ inline unsigned word_of(const int (&code)[4]) {
  return __byte_perm(__byte_perm(code[0], code[1], 0x0040), __byte_perm(code[2], code[3], 0x0040),
                     0x5410);
}

/// Four adjacent samples in the form that they are stored in.
template <class Stored>
union FourSamples {
  static constexpr int kWords = sizeof(Stored);
  unsigned word[kWords];
  Stored sample[4];

  /// Of each code the low bits count, as many as Stored has.
  __device__ void encode(const int (&code)[4], const SampleLayout& layout) {
    if constexpr (kWords == 1) {
      word[0] = word_of(code) << layout.shift;
    } else {
      const unsigned order = layout.swap ? 0x2301 : 0x3210;
      for (int i = 0; i < 2; ++i)
        word[i] = __byte_perm(__byte_perm(code[2 * i], code[2 * i + 1], 0x5410) << layout.shift, 0,
                              order);
    }
  }

  __device__ void store(std::uint8_t* to) const {
    if constexpr (kWords == 1)
      *reinterpret_cast<unsigned*>(to) = word[0];
    else
      *reinterpret_cast<uint2*>(to) = make_uint2(word[0], word[1]);
  }
};

/// The code of a sum, out of line: of the types wider than a register a thread has 32 copies.
template <class A>
__device__ __noinline__ int quantise_out_of_line(typename A::Sum sum, const Epilogue& epilogue) {
  return A::quantise(sum, epilogue);
}

/// Takes results through shared memory. There a loop can index them: written out for 32 registers,
/// epilogue and stores would be longer than the filter itself and miss the instruction cache. And
/// there they change hands within the eight threads of a row of outputs, so that neighbours store
/// side by side. Sums of 4 bytes wait there, wider ones as codes.
template <class A>
class Slots {
 public:
  using Sum = typename A::Sum;
  /// From four values of a thread to its next four, such that eight threads read all banks.
  static constexpr int kPitch = kThreads * kFour + 8;
  static constexpr int kBytes = 4 * kRows * kFours * kPitch;
  static constexpr bool kHoldSums = sizeof(Sum) == 4;
  using Value = std::conditional_t<kHoldSums, Sum, int>;

  __device__ Slots(void* memory, int thread_x, int thread_y)
      : row_(static_cast<Value*>(memory) + thread_y * kThreadsX * kFour), x_(thread_x) {}

  __device__ void put(const Sum (&sum)[kRows][kColumns], const Epilogue& epilogue) const {
#pragma unroll
    for (int i = 0; i < kRows * kColumns; i += 4) {
      int four[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const Sum& s = sum[i / kColumns][i % kColumns + j];
        if constexpr (std::is_same_v<Sum, float>)
          four[j] = __float_as_int(s);
        else if constexpr (kHoldSums)
          four[j] = s;
        else
          four[j] = quantise_out_of_line<A>(s, epilogue);
      }
      *reinterpret_cast<int4*>(row_ + i / 4 * kPitch + x_ * kFour) =
          make_int4(four[0], four[1], four[2], four[3]);
    }
  }

  /// Of row `t` of the eight threads' outputs the four values from column kNextFour * h + kFour *
  /// thread_x on. All eight must have called put().
  __device__ void get(int t, int h, Value (&values)[4]) const {
    const int from = h * (kThreadsX / kFours) + x_ / kFours;  // The thread that put them there.
    read_row<true>(row_ + (kFours * t + x_ % kFours) * kPitch + from * kFour, values);
  }

 private:
  Value* row_;  ///< The first four values of the first of the eight threads.
  int x_;
};

/// Stores fours of outputs, kNextFour apart in two rows, whose first is (x, y). `code` makes a code
/// of what the slots hold; bits above those of Stored do not count. kAtOnce: fours whose code lies
/// side by side, which takes time to compile.
template <class A, class Stored, int kAtOnce, class Code>
__device__ void store_codes(const GroupArguments& group, const ChannelArguments& channel, int x,
                            int y, const Slots<A>& slots, Code&& code) {
  constexpr std::size_t kBytes = kFour * sizeof(Stored);
  const SampleLayout layout = channel.layout;
  const std::int64_t pitch = group.dst_pitch;
  std::uint8_t* to = group.dst + sample_offset(group, channel, pitch, x, y);
  // Four adjacent samples go in one access where the layout allows.
  const bool whole = group.step == static_cast<int>(sizeof(Stored)) &&
                     x + (kFours - 1) * kNextFour + kFour <= group.width &&
                     (reinterpret_cast<std::uintptr_t>(to) | pitch) % kBytes == 0;
#pragma unroll 1
  for (int t = 0; t < kRows && y + t < group.height; ++t, to += pitch) {
#pragma unroll kAtOnce
    for (int h = 0; h < kFours; ++h) {
      typename Slots<A>::Value values[kFour];
      slots.get(t, h, values);
      int codes[kFour];
#pragma unroll
      for (int i = 0; i < kFour; ++i)
        codes[i] = code(values[i]);
      FourSamples<Stored> four;
      four.encode(codes, layout);
      std::uint8_t* const at = to + h * kNextFour * group.step;
      if (whole) {
        four.store(at);
      } else {
#pragma unroll
        for (int i = 0; i < kFour; ++i)
          if (x + h * kNextFour + i < group.width)
            *reinterpret_cast<Stored*>(at + i * group.step) = four.sample[i];
      }
    }
  }
}

/// The same, with the way to the codes chosen once a thread. Constants of the epilogue are copied
/// first: read where they are used they would come through the constant cache for every output.
template <class A, class Stored>
__device__ void store_tile(const GroupArguments& group, const ChannelArguments& channel, int x,
                           int y, const Slots<A>& slots) {
  using Value = typename Slots<A>::Value;
  const Epilogue& epilogue = channel.epilogue;
  if constexpr (!Slots<A>::kHoldSums) {
    store_codes<A, Stored, kFours>(group, channel, x, y, slots, [](int code) { return code; });
    return;
  }
  if constexpr (std::is_same_v<Value, float>) {
    const EpilogueOf<float> narrow = epilogue.narrow;
    const int max_code = epilogue.max_code;
    if (epilogue.in_float && !narrow.divide) {
      store_codes<A, Stored, kFours>(group, channel, x, y, slots, [=](float sum) {
        return finish_linear_low_bits(sum, narrow, max_code);
      });
      return;
    }
    if (epilogue.in_float) {
      store_codes<A, Stored, 1>(group, channel, x, y, slots,
                                [=](float sum) { return finish(sum, narrow, max_code); });
      return;
    }
  }
  store_codes<A, Stored, 1>(group, channel, x, y, slots, [&epilogue](Value sum) {
    return finish_in_double(static_cast<double>(sum), epilogue);
  });
}

/// `v` rounded to nearest, ties to even, and clamped to 0 .. 255: one instruction, where issuing is
/// what costs.
__device__ inline int byte_of(float v) {
  unsigned code;
  asm("cvt.rni.u8.f32 %0, %1;" : "=r"(code) : "f"(v));
  return static_cast<int>(code);
}

/// The way of most frames straight from the registers: whole words of bytes, with an epilogue in
/// float that does not divide. The caller has asked stores_words().
__device__ inline void store_words(const GroupArguments& group, const ChannelArguments& channel,
                                   int x, int y, const float (&sum)[kRows][kColumns]) {
  const EpilogueOf<float> epilogue = channel.epilogue.narrow;
  std::uint8_t* to = group.dst + sample_offset(group, channel, group.dst_pitch, x, y);
#pragma unroll
  for (int t = 0; t < kRows; ++t, to += group.dst_pitch) {
    if (y + t >= group.height) return;
    unsigned word[kFours];
#pragma unroll
    for (int h = 0; h < kFours; ++h) {
      int codes[kFour];
#pragma unroll
      for (int i = 0; i < kFour; ++i)
        codes[i] = byte_of(epilogue.base + epilogue.scale * sum[t][h * kFour + i]);
      word[h] = word_of(codes);
    }
    *reinterpret_cast<uint4*>(to) = make_uint4(word[0], word[1], word[2], word[3]);
  }
}

/// Whether store_words() serves the tile whose first column is `tile_x`.
__device__ inline bool stores_words(const GroupArguments& group, const ChannelArguments& channel,
                                    int tile_x) {
  return group.sample_bytes == 1 && group.step == 1 && channel.epilogue.in_float &&
         channel.epilogue.max_code == 255 && !channel.epilogue.narrow.divide &&
         tile_x + kTileWidth <= group.width &&
         (reinterpret_cast<std::uintptr_t>(group.dst) + channel.offset | group.dst_pitch) %
                 kColumns ==
             0;
}

}  // namespace
}  // namespace convolve
