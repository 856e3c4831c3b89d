// SPDX-License-Identifier: LGPL-2.1-or-later
// The shift kernel: masks with one tap, or none, at the speed of a copy.
//
// No sample depends on a second one, so memory sets the pace: a thread moves 16 bytes of a row at
// once, or 48 where three components share a pixel. Where codes stay as they are, words pass
// through untouched but for the bits that are not theirs. Where they do not, the epilogue maps them
// sample by sample, in registers. Where nothing of the input counts, it is not read.
//
// That is for stretches that come from inside the picture. Pixels at its left and right edge, which
// may be ghosts, have blocks of their own, a thread a pixel: sixteen of them, one after the other
// in a thread, held up all others by 4 us. So do pixels with gaps, which packed 4:2:2 formats have.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/core/weights/shift.h"
#include "kernels/cuda/device/kernel.cuh"
#include "kernels/cuda/device/overlap.cuh"

namespace convolve {
namespace {

constexpr int kBlockWidth = 32;
constexpr int kBlockHeight = 8;

/// Words of a thread's stretch of a row: whole pixels, whole vectors.
CONVOLVE_HD constexpr int words_of(int channels) {
  return channels == 3 ? 12 : 4;
}
constexpr int kMostWords = 12;

struct ShiftArguments {
  GroupArguments group;  ///< Channels in the order of their offsets.
  int x = 0;             ///< What is moved here comes from there.
  int y = 0;
  int row_bytes = 0;
  int inner_first = 0;   ///< Stretches that come from inside, whatever the row: from this
  int inner_end = 0;     ///< up to that one.
  int edge_pixels = 0;   ///< Of a row, that lie in no such stretch,
  int edge_columns = 0;  ///< in this many blocks side by side.
  bool nothing = false;  ///< No sample counts: all is as without signal.
  bool copied = false;   ///< There are components that are not filtered.
  bool linear = false;   ///< All codes are mapped in float, without divisions.
  // For each word of a stretch:
  unsigned no_signal[kMostWords] = {};  ///< what ghost cells hold,
  unsigned take[kMostWords] = {};       ///< the bits of what is moved, or mapped,
  unsigned keep[kMostWords] = {};       ///< and those of what stays where it is.
};

/// The stretch of a row at `first`, at any address; all words that hold some of it are the row's.
template <int kWords>
__device__ inline void load_stretch(const std::uint8_t* first, unsigned (&words)[kWords]) {
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  if (address % 16 == 0) {
#pragma unroll
    for (int w = 0; w < kWords; w += 4) {
      const uint4 vector = __ldg(reinterpret_cast<const uint4*>(first + 4 * w));
      words[w] = vector.x;
      words[w + 1] = vector.y;
      words[w + 2] = vector.z;
      words[w + 3] = vector.w;
    }
    return;
  }
  const auto over = static_cast<unsigned>(address % 4);
  const auto* aligned = reinterpret_cast<const unsigned*>(first - over);
  unsigned loaded[kWords + 1];
#pragma unroll
  for (int w = 0; w <= kWords; ++w)
    loaded[w] = __ldg(aligned + w);
#pragma unroll
  for (int w = 0; w < kWords; ++w)
    words[w] = __funnelshift_r(loaded[w], loaded[w + 1], 8 * over);
}

/// Out of line: long, rare, and a stretch has up to 48 samples.
__device__ __noinline__ int any_code(float difference, const Epilogue& epilogue) {
  return Arithmetic<Accumulator::kFloat32>::quantise(difference, epilogue);
}

/// The samples of a word, the first of which is of channel `first`, each mapped by its epilogue.
template <class Stored, int kChannels, bool kLinear>
__device__ inline unsigned mapped_word(const GroupArguments& group, unsigned word, int first) {
  constexpr int kBits = 8 * sizeof(Stored);
  unsigned result = 0;
#pragma unroll
  for (int i = 0; i < 32 / kBits; ++i) {
    const ChannelArguments& channel = group.channel[(first + i) % kChannels];
    const auto stored = static_cast<Stored>(word >> i * kBits);
    // The bits of 2^23 + code: no conversion, and the difference is exact.
    const float difference = __int_as_float(decode_sample(stored, channel.layout) | 0x4B000000) -
                             (8388608.0f + static_cast<float>(channel.black));
    const int mapped = kLinear ? finish_linear_low_bits(difference, channel.epilogue.narrow,
                                                        channel.epilogue.max_code)
                               : any_code(difference, channel.epilogue);
    result |= static_cast<unsigned>(encode_sample<Stored>(mapped, channel.layout)) << i * kBits;
  }
  return result;
}

template <int kWords>
__device__ inline void store_stretch(std::uint8_t* to, const unsigned (&words)[kWords]) {
  if (reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
#pragma unroll
    for (int w = 0; w < kWords; w += 4)
      reinterpret_cast<uint4*>(to)[w / 4] =
          make_uint4(words[w], words[w + 1], words[w + 2], words[w + 3]);
    return;
  }
#pragma unroll
  for (int w = 0; w < kWords; ++w)
#pragma unroll
    for (int b = 0; b < 4; ++b)
      to[4 * w + b] = static_cast<std::uint8_t>(words[w] >> 8 * b);
}

/// All samples of the pixel at (x, y).
template <class Stored>
__device__ void move_pixel(const ShiftArguments& arguments, int x, int y) {
  using Sum = Arithmetic<Accumulator::kFloat32>;
  const GroupArguments& group = arguments.group;
  for (int c = 0; c < group.channels; ++c) {
    const ChannelArguments& channel = group.channel[c];
    if (channel.filtered)
      store_sum<Sum, Stored>(
          group, channel, x, y,
          cell_row<float, Stored>(group, channel, y + arguments.y).at(x + arguments.x));
    else
      copy_sample<Stored>(group, channel, x, y);
  }
}

/// kMap: codes change.
template <class Stored, int kChannels, bool kMap>
__global__ void __launch_bounds__(kBlockWidth* kBlockHeight)
    move(const __grid_constant__ ShiftArguments arguments) {
  constexpr int kWords = words_of(kChannels);
  const GroupArguments& group = arguments.group;
  const int y = static_cast<int>(blockIdx.y * kBlockHeight + threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) - arguments.edge_columns;
  admit_next_launch();
  if (y >= group.height) return;
  await_previous_launch();
  if (column < 0) {
    const int edge = static_cast<int>(blockIdx.x * kBlockWidth + threadIdx.x);
    if (edge >= arguments.edge_pixels) return;
    const int left = arguments.inner_first * 4 * kWords / group.step;
    const int inner = group.width - arguments.edge_pixels;
    const int x = edge < left ? edge : edge + inner;
    if (group.sample_bytes == 1)
      move_pixel<std::uint8_t>(arguments, x, y);
    else
      move_pixel<std::uint16_t>(arguments, x, y);
    return;
  }

  const int stretch = arguments.inner_first + column * kBlockWidth + static_cast<int>(threadIdx.x);
  if (stretch >= arguments.inner_end) return;
  const int at = stretch * 4 * kWords;
  const int from =
      arguments.nothing ? kNoSignal : border_index(group.border, y + arguments.y, group.height);
  unsigned words[kWords], own[kWords] = {};
  if (from != kNoSignal) {
    load_stretch(group.src + from * group.src_pitch + at + arguments.x * group.step, words);
  } else {
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      words[w] = arguments.no_signal[w];
  }
  if (arguments.copied) load_stretch(group.src + y * group.src_pitch + at, own);
#pragma unroll
  for (int w = 0; w < kWords; ++w) {
    if constexpr (kMap) {
      const int first = w * static_cast<int>(4 / sizeof(Stored)) % kChannels;
      words[w] = arguments.linear ? mapped_word<Stored, kChannels, true>(group, words[w], first)
                                  : mapped_word<Stored, kChannels, false>(group, words[w], first);
    }
    words[w] = (words[w] & arguments.take[w]) | (own[w] & arguments.keep[w]);
  }
  store_stretch(group.dst + y * group.dst_pitch + at, words);
}

using ShiftKernel = void (*)(ShiftArguments);

/// True if the components of a pixel lie side by side, in any order.
bool without_gaps(const GroupArguments& group) {
  unsigned places = 0;
  for (int c = 0; c < group.channels; ++c)
    if (group.channel[c].offset % group.sample_bytes == 0 && group.channel[c].offset < group.step)
      places |= 1u << group.channel[c].offset / group.sample_bytes;
  return group.step == group.channels * group.sample_bytes && places + 1 == 1u << group.channels;
}

template <class Stored>
ShiftKernel select_mapping(int channels) {
  switch (channels) {
    case 1:
      return move<Stored, 1, true>;
    case 2:
      return move<Stored, 2, true>;
    case 3:
      return move<Stored, 3, true>;
    default:
      return move<Stored, 4, true>;
  }
}

ShiftKernel select(const GroupArguments& group, bool map) {
  const bool bytes = group.sample_bytes == 1;
  // Where no code changes, all that counts of a sample is how many bytes a pixel has.
  if (!map)
    return group.channels == 3 ? move<std::uint8_t, 3, false> : move<std::uint8_t, 1, false>;
  return bytes ? select_mapping<std::uint8_t>(group.channels)
               : select_mapping<std::uint16_t>(group.channels);
}

/// `code` as `channel` stores it, as bits of a word from the lowest on.
unsigned stored_bits(const GroupArguments& group, const ChannelArguments& channel, int code) {
  return group.sample_bytes == 1 ? encode_sample<std::uint8_t>(code, channel.layout)
                                 : encode_sample<std::uint16_t>(code, channel.layout);
}

/// What the words of a stretch are made of; true if codes change.
bool describe(ShiftArguments& arguments) {
  GroupArguments& group = arguments.group;
  std::sort(
      group.channel, group.channel + group.channels,
      [](const ChannelArguments& a, const ChannelArguments& b) { return a.offset < b.offset; });
  bool map = false;
  arguments.nothing = arguments.linear = true;
  for (int c = 0; c < group.channels; ++c) {
    const ChannelArguments& channel = group.channel[c];
    if (!channel.filtered) {
      arguments.copied = true;
      continue;
    }
    const CodeMap codes = code_map(channel.epilogue, channel.black);
    arguments.nothing = arguments.nothing && codes == CodeMap::kConstant;
    arguments.linear = arguments.linear && channel.epilogue.in_float && codes != CodeMap::kAny;
    map = map || codes != CodeMap::kKeep;
  }
  map = map && !arguments.nothing;

  const int bits = 8 * group.sample_bytes, in_word = 32 / bits;
  for (int s = 0; s < kMostWords * in_word; ++s) {
    const ChannelArguments& channel = group.channel[s % group.channels];
    const int word = s / in_word, shift = s % in_word * bits;
    const unsigned all = (1u << bits) - 1;
    const int nothing = arguments.nothing ? mapped_code(0, channel.epilogue) : channel.black;
    arguments.no_signal[word] |= stored_bits(group, channel, nothing) << shift;
    if (channel.filtered)
      arguments.take[word] |= stored_bits(group, channel, channel.epilogue.max_code) << shift;
    else
      arguments.keep[word] |= all << shift;
  }
  return map;
}

/// Finds the stretches that come from inside, and counts the pixels of the others.
void cut(ShiftArguments& arguments) {
  const GroupArguments& group = arguments.group;
  const int bytes = 4 * words_of(group.channels);
  arguments.row_bytes = group.width * group.step;
  if (without_gaps(group)) {
    const int moved = arguments.x * group.step;
    // Rows on vectors are read by vectors. Others are read by words, which reach beyond a stretch.
    const bool aligned =
        (reinterpret_cast<std::uintptr_t>(group.src) | group.src_pitch | moved) % 16 == 0;
    const int before = aligned ? 0 : 3, after = aligned ? 0 : 4;
    const int least = std::max(0, (arguments.nothing ? 0 : -std::min(moved, 0)) + before);
    const int most =
        arguments.row_bytes - (arguments.nothing ? 0 : std::max(moved, 0)) - after - bytes;
    arguments.inner_first = (least + bytes - 1) / bytes;
    arguments.inner_end = std::max(arguments.inner_first, most < 0 ? 0 : most / bytes + 1);
  }
  const int inner = (arguments.inner_end - arguments.inner_first) * bytes / group.step;
  arguments.edge_pixels = group.width - inner;
  arguments.edge_columns = (arguments.edge_pixels + kBlockWidth - 1) / kBlockWidth;
}

cudaError_t upload(const void*, std::size_t, int, cudaStream_t) {
  return cudaErrorNotSupported;  // The mask is part of the epilogue: nothing to upload.
}

cudaError_t load(const LaunchArguments& arguments) {
  for (const bool map : {false, true})
    if (const cudaError_t error = load_kernel(select(arguments.group, map), 0);
        error != cudaSuccess)
      return error;
  return cudaSuccess;
}

cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
  ShiftArguments own;
  own.group = arguments.group;
  own.x = -arguments.mask.anchor_x;
  own.y = -arguments.mask.anchor_y;
  const bool map = describe(own);
  cut(own);
  const int inner_columns = (own.inner_end - own.inner_first + kBlockWidth - 1) / kBlockWidth;
  GroupArguments blocks = own.group;
  blocks.width = own.edge_columns + inner_columns;
  return launch_overlapping(select(own.group, map), grid_of_tiles(blocks, 1, kBlockHeight),
                            dim3(kBlockWidth, kBlockHeight), 0, stream, own);
}

}  // namespace

const Variant kShiftVariant = {KernelKind::kShift, false, upload, load, launch};

}  // namespace convolve
