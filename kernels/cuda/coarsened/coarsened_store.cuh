// SPDX-License-Identifier: LGPL-2.1-or-later
// Quantising and storing a thread's register tile of sums, for kernel `coarsened`.
#pragma once

#include "kernels/cuda/coarsened/coarsened_tile.cuh"

namespace convolve {
namespace {

constexpr int kNextQuad = kTileWidth / kQuads;

/// The low bytes of four codes as a word.
__device__ inline unsigned word_of(const int (&code)[4]) {
  return __byte_perm(__byte_perm(code[0], code[1], 0x0040), __byte_perm(code[2], code[3], 0x0040),
                     0x5410);
}

/// Four adjacent samples as they are stored.
template <class Stored>
union FourSamples {
  static constexpr int kWords = sizeof(Stored);
  unsigned word[kWords];
  Stored sample[4];

  /// Encodes four codes. Bits above those of Stored are ignored.
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

/// The code of a sum wider than a register. Out of line, as a thread has 32 of them.
template <class A>
__device__ __noinline__ int quantise_out_of_line(typename A::Sum sum, const Epilogue& epilogue) {
  return A::quantise(sum, epilogue);
}

/// Passes outputs through shared memory. There a loop can index them: unrolled for 32 registers,
/// epilogue and stores would be longer than the filter itself and miss the instruction cache. And
/// there the eight threads of a row of outputs exchange them, so that adjacent threads store
/// adjacent samples. Sums of 4 bytes are exchanged as they are, wider ones as codes.
template <class A>
class OutputExchange {
 public:
  using Sum = typename A::Sum;
  /// Values between successive quads of a thread, chosen so that eight threads read all banks.
  static constexpr int kPitch = kTileThreads * kQuad + 8;
  static constexpr int kBytes = 4 * kThreadRows * kQuads * kPitch;
  static constexpr bool kHoldSums = sizeof(Sum) == 4;
  using Value = std::conditional_t<kHoldSums, Sum, int>;

  __device__ OutputExchange(void* memory, int thread_x, int thread_y)
      : row_(static_cast<Value*>(memory) + thread_y * kThreadsX * kQuad), x_(thread_x) {}

  __device__ void put(const Sum (&sum)[kThreadRows][kThreadColumns],
                      const Epilogue& epilogue) const {
#pragma unroll
    for (int i = 0; i < kThreadRows * kThreadColumns; i += 4) {
      int four[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const Sum& s = sum[i / kThreadColumns][i % kThreadColumns + j];
        if constexpr (std::is_same_v<Sum, float>)
          four[j] = __float_as_int(s);
        else if constexpr (kHoldSums)
          four[j] = s;
        else
          four[j] = quantise_out_of_line<A>(s, epilogue);
      }
      *reinterpret_cast<int4*>(row_ + i / 4 * kPitch + x_ * kQuad) =
          make_int4(four[0], four[1], four[2], four[3]);
    }
  }

  /// Reads four values of row `t` of the eight threads' outputs, from column kNextQuad * h + kQuad
  /// * thread_x on. All eight threads must have called put() before.
  __device__ void get(int t, int h, Value (&values)[4]) const {
    const int from = h * (kThreadsX / kQuads) + x_ / kQuads;  // The thread that put them there.
    read_row<true>(row_ + (kQuads * t + x_ % kQuads) * kPitch + from * kQuad, values);
  }

 private:
  Value* row_;  ///< The first four values of the first of the eight threads.
  int x_;
};

/// Stores the quads, kNextQuad columns apart in two rows, of which (x, y) is the first sample.
/// `code` makes a code of an exchanged value; bits above those of Stored are ignored. kAtOnce:
/// quads that the loop unrolls, which takes time to compile.
template <class A, class Stored, int kAtOnce, class Code>
__device__ void store_codes(const GroupArguments& group, const ChannelArguments& channel, int x,
                            int y, const OutputExchange<A>& exchange, Code&& code) {
  constexpr std::size_t kBytes = kQuad * sizeof(Stored);
  const SampleLayout layout = channel.layout;
  const std::int64_t pitch = group.dst_pitch;
  std::uint8_t* to = group.dst + sample_offset(group, channel, pitch, x, y);
  // Four adjacent samples go in one access where the layout allows.
  const bool whole = group.step == static_cast<int>(sizeof(Stored)) &&
                     x + (kQuads - 1) * kNextQuad + kQuad <= group.width &&
                     (reinterpret_cast<std::uintptr_t>(to) | pitch) % kBytes == 0;
#pragma unroll 1
  for (int t = 0; t < kThreadRows && y + t < group.height; ++t, to += pitch) {
#pragma unroll kAtOnce
    for (int h = 0; h < kQuads; ++h) {
      typename OutputExchange<A>::Value values[kQuad];
      exchange.get(t, h, values);
      int codes[kQuad];
#pragma unroll
      for (int i = 0; i < kQuad; ++i)
        codes[i] = code(values[i]);
      FourSamples<Stored> four;
      four.encode(codes, layout);
      std::uint8_t* const at = to + h * kNextQuad * group.step;
      if (whole) {
        four.store(at);
      } else {
#pragma unroll
        for (int i = 0; i < kQuad; ++i)
          if (x + h * kNextQuad + i < group.width)
            *reinterpret_cast<Stored*>(at + i * group.step) = four.sample[i];
      }
    }
  }
}

/// Stores the tile with the quantiser selected once for each thread. The constants of the epilogue
/// are copied first: read where they are used they would come through the constant cache for every
/// output.
template <class A, class Stored>
__device__ void store_tile(const GroupArguments& group, const ChannelArguments& channel, int x,
                           int y, const OutputExchange<A>& exchange) {
  using Value = typename OutputExchange<A>::Value;
  const Epilogue& epilogue = channel.epilogue;
  if constexpr (!OutputExchange<A>::kHoldSums) {
    store_codes<A, Stored, kQuads>(group, channel, x, y, exchange, [](int code) { return code; });
    return;
  }
  if constexpr (std::is_same_v<Value, float>) {
    const EpilogueOf<float> narrow = epilogue.narrow;
    const int max_code = epilogue.max_code;
    if (epilogue.in_float && !narrow.divide) {
      store_codes<A, Stored, kQuads>(group, channel, x, y, exchange, [=](float sum) {
        return finish_linear_low_bits(sum, narrow, max_code);
      });
      return;
    }
    if (epilogue.in_float) {
      store_codes<A, Stored, 1>(group, channel, x, y, exchange,
                                [=](float sum) { return finish(sum, narrow, max_code); });
      return;
    }
  }
  store_codes<A, Stored, 1>(group, channel, x, y, exchange, [&epilogue](Value sum) {
    return finish_in_double(static_cast<double>(sum), epilogue);
  });
}

/// `v` rounded to nearest, ties to even, and clamped to 0 .. 255, in one instruction, as issue
/// slots bind here.
__device__ inline int byte_of(float v) {
  unsigned code;
  asm("cvt.rni.u8.f32 %0, %1;" : "=r"(code) : "f"(v));
  return static_cast<int>(code);
}

/// Stores directly from registers, which serves most frames: whole words of bytes, with an epilogue
/// in float that does not divide. stores_words() must be true.
__device__ inline void store_words(const GroupArguments& group, const ChannelArguments& channel,
                                   int x, int y, const float (&sum)[kThreadRows][kThreadColumns]) {
  const EpilogueOf<float> epilogue = channel.epilogue.narrow;
  std::uint8_t* to = group.dst + sample_offset(group, channel, group.dst_pitch, x, y);
#pragma unroll
  for (int t = 0; t < kThreadRows; ++t, to += group.dst_pitch) {
    if (y + t >= group.height) return;
    unsigned word[kQuads];
#pragma unroll
    for (int h = 0; h < kQuads; ++h) {
      int codes[kQuad];
#pragma unroll
      for (int i = 0; i < kQuad; ++i)
        codes[i] = byte_of(epilogue.base + epilogue.scale * sum[t][h * kQuad + i]);
      word[h] = word_of(codes);
    }
    *reinterpret_cast<uint4*>(to) = make_uint4(word[0], word[1], word[2], word[3]);
  }
}

/// True if store_words() serves the tile whose first column is `tile_x`.
__device__ inline bool stores_words(const GroupArguments& group, const ChannelArguments& channel,
                                    int tile_x) {
  return group.sample_bytes == 1 && group.step == 1 && channel.epilogue.in_float &&
         channel.epilogue.max_code == 255 && !channel.epilogue.narrow.divide &&
         tile_x + kTileWidth <= group.width &&
         (reinterpret_cast<std::uintptr_t>(group.dst) + channel.offset | group.dst_pitch) %
                 kThreadColumns ==
             0;
}

}  // namespace
}  // namespace convolve
