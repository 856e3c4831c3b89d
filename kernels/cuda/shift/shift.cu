// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `shift`: masks with one tap, or none, at the speed of a copy.
//
// Each sample depends on a single one, so memory binds: a thread moves 16 bytes of a row at once,
// or 48 where three components share a pixel. Where codes stay the same, words pass through
// untouched, apart from bits that belong to copied components. Where codes change, the epilogue
// maps them sample by sample in registers. Where no sample of the input counts, it is not read.
//
// That is for stretches of a row whose source lies inside the picture. Pixels near the left and
// right edge, whose source may be a ghost cell, have blocks of their own with a thread for each
// pixel: with sixteen of them in one thread, one after the other, that thread delayed all others by
// 4 us. Pixels with gaps between the components, as in packed 4:2:2 formats, are moved in the same
// way.
//
// Operands: source and destination rows, at any address; the one weight is part of the epilogue.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/core/weights/shift.h"
#include "kernels/cuda/device/kernel.cuh"
#include "kernels/cuda/device/overlap.cuh"

namespace convolve {
namespace {

constexpr int kShiftBlockWidth = 32;
constexpr int kShiftBlockHeight = 8;

/// Words of a stretch, the part of a row that a thread moves: whole pixels and whole vectors of 16
/// bytes.
CONVOLVE_HD constexpr int words_of(int channels) {
  return channels == 3 ? 12 : 4;
}
constexpr int kMostWords = 12;

struct ShiftArguments {
  GroupArguments group;  ///< Channels in the order of their offsets.
  int x = 0;             ///< Output (0, 0) comes from the input at (x, y).
  int y = 0;
  int row_bytes = 0;
  int inner_first = 0;   ///< The first stretch whose source lies inside the picture in every row,
  int inner_end = 0;     ///< and the one behind the last.
  int edge_pixels = 0;   ///< Pixels of a row that lie in none of these stretches,
  int edge_columns = 0;  ///< and the number of blocks side by side that they take.
  bool nothing = false;  ///< No sample of the input counts: all outputs are as without signal.
  bool copied = false;   ///< There are components that are not filtered.
  bool linear = false;   ///< All codes are mapped in float, without divisions.
  // For each word of a stretch:
  unsigned no_signal[kMostWords] = {};  ///< The content of ghost cells.
  unsigned take[kMostWords] = {};       ///< The bits that are moved or mapped.
  unsigned keep[kMostWords] = {};       ///< The bits that stay where they are.
};

/// Loads the stretch of a row that begins at `first`, which may be any address. All words that
/// overlap it must belong to the row.
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

/// The code of a sample by an epilogue that is not linear. Out of line: it is long and rarely
/// needed, and a stretch has up to 48 samples.
__device__ __noinline__ int quantise_general(float difference, const Epilogue& epilogue) {
  return Arithmetic<Accumulator::kFloat32>::quantise(difference, epilogue);
}

/// The samples of a word, each mapped by the epilogue of its channel; `first`: the channel of the
/// lowest sample.
template <class Stored, int kChannels, bool kLinear>
__device__ inline unsigned mapped_word(const GroupArguments& group, unsigned word, int first) {
  constexpr int kBits = 8 * sizeof(Stored);
  unsigned result = 0;
#pragma unroll
  for (int i = 0; i < 32 / kBits; ++i) {
    const ChannelArguments& channel = group.channel[(first + i) % kChannels];
    const auto stored = static_cast<Stored>(word >> i * kBits);
    // As a float these bits are 2^23 + code: that takes no conversion, and the difference is exact.
    const float difference = __int_as_float(decode_sample(stored, channel.layout) | 0x4B000000) -
                             (8388608.0f + static_cast<float>(channel.black));
    const int mapped = kLinear ? finish_linear_low_bits(difference, channel.epilogue.narrow,
                                                        channel.epilogue.max_code)
                               : quantise_general(difference, channel.epilogue);
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

/// Moves all samples of the pixel at (x, y), ghost cells included.
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

/// Moves stretches and edge pixels. kMap: codes change.
template <class Stored, int kChannels, bool kMap>
__global__ void __launch_bounds__(kShiftBlockWidth* kShiftBlockHeight)
    move(const __grid_constant__ ShiftArguments arguments) {
  constexpr int kWords = words_of(kChannels);
  const GroupArguments& group = arguments.group;
  const int y = static_cast<int>(blockIdx.y * kShiftBlockHeight + threadIdx.y);
  const int column = static_cast<int>(blockIdx.x) - arguments.edge_columns;
  admit_next_launch();
  if (y >= group.height) return;
  await_previous_launch();
  if (column < 0) {
    const int edge = static_cast<int>(blockIdx.x * kShiftBlockWidth + threadIdx.x);
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

  const int stretch =
      arguments.inner_first + column * kShiftBlockWidth + static_cast<int>(threadIdx.x);
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

/// True if the components of a pixel lie side by side, in any order, without gaps.
bool is_contiguous(const GroupArguments& group) {
  unsigned offsets = 0;
  for (int c = 0; c < group.channels; ++c)
    if (group.channel[c].offset % group.sample_bytes == 0 && group.channel[c].offset < group.step)
      offsets |= 1u << group.channel[c].offset / group.sample_bytes;
  return group.step == group.channels * group.sample_bytes && offsets + 1 == 1u << group.channels;
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
  // Where no code changes, only the length of a stretch matters, which differs for 3 channels.
  if (!map)
    return group.channels == 3 ? move<std::uint8_t, 3, false> : move<std::uint8_t, 1, false>;
  return bytes ? select_mapping<std::uint8_t>(group.channels)
               : select_mapping<std::uint16_t>(group.channels);
}

/// `code` as `channel` stores it, in the low bits of a word.
unsigned stored_bits(const GroupArguments& group, const ChannelArguments& channel, int code) {
  return group.sample_bytes == 1 ? encode_sample<std::uint8_t>(code, channel.layout)
                                 : encode_sample<std::uint16_t>(code, channel.layout);
}

/// Fills in what depends on channels and codes; returns true if codes change.
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

/// Finds the stretches whose source lies inside the picture, and counts the pixels of a row outside
/// of them.
void find_inner_stretches(ShiftArguments& arguments) {
  const GroupArguments& group = arguments.group;
  const int bytes = 4 * words_of(group.channels);
  arguments.row_bytes = group.width * group.step;
  if (is_contiguous(group)) {
    const int moved = arguments.x * group.step;
    // Rows that begin on 16 bytes are read by vectors, others by words that reach beyond a stretch.
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
  arguments.edge_columns = (arguments.edge_pixels + kShiftBlockWidth - 1) / kShiftBlockWidth;
}

cudaError_t upload(const void*, std::size_t, int, cudaStream_t) {
  return cudaErrorNotSupported;  // The weight is part of the epilogue, so nothing is uploaded.
}

cudaError_t load(const LaunchArguments& arguments) {
  for (const bool map : {false, true})
    if (const cudaError_t error = load_kernel(select(arguments.group, map), 0);
        error != cudaSuccess)
      return error;
  return cudaSuccess;
}

cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
  ShiftArguments shift;
  shift.group = arguments.group;
  shift.x = -arguments.mask.anchor_x;
  shift.y = -arguments.mask.anchor_y;
  const bool map = describe(shift);
  find_inner_stretches(shift);
  const int inner_columns =
      (shift.inner_end - shift.inner_first + kShiftBlockWidth - 1) / kShiftBlockWidth;
  GroupArguments blocks = shift.group;
  blocks.width = shift.edge_columns + inner_columns;
  return launch_overlapping(select(shift.group, map), grid_of_tiles(blocks, 1, kShiftBlockHeight),
                            dim3(kShiftBlockWidth, kShiftBlockHeight), 0, stream, shift);
}

}  // namespace

const Variant kShiftVariant = {KernelKind::kShift, false, upload, load, launch};

}  // namespace convolve
