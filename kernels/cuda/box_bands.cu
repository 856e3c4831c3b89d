// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `box` in bands: planes of one 8-bit component under masks of any size, at a cost that
// hardly depends on them.
//
// A block has a band of rows, as wide as the picture:
//
//   columns   a thread keeps the sums of four columns: a row enters, a row leaves. It begins with
//             sums of chunks of 16 rows, which a launch before has added up for all bands;
//   ghosts    repeat the sums of other columns: borders work on both axes on their own;
//   windows   a warp makes 512 outputs of a row: from window to window one column enters and one
//             leaves, so that the sum of such differences, a scan, is all they need.
//
// Two barriers, and no column beside the picture is summed. All rows that a block reads were in the
// L2 cache a moment before, as its neighbours and the launch before read them, too.
//
// That launch lets the next one begin as soon as it knows that all before it is over. So this one
// may read the picture at once, and waits for the chunks' sums only.
#include <utility>

#include "kernels/cuda/box_bands.cuh"
#include "kernels/cuda/box_bands.h"
#include "kernels/cuda/box_codes.cuh"

namespace convolve {
namespace {

constexpr unsigned kAllLanes = 0xFFFFFFFFu;

/// sum + a0 b0 + a1 b1, with the low bytes of `b` signed.
__device__ __forceinline__ unsigned add_pair(unsigned a, unsigned b, unsigned sum) {
  asm("dp2a.lo.u32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
  return sum;
}
constexpr unsigned kFirst = 0x0001, kSecond = 0x0100, kBoth = 0x0101;

/// The word of shared memory at `address` + kOffset. Told so, as the compiler would add that first.
template <int kOffset>
__device__ __forceinline__ unsigned load_shared(unsigned address) {
  unsigned word;
  asm volatile("ld.shared.u32 %0, [%1+%2];" : "=r"(word) : "r"(address), "n"(kOffset) : "memory");
  return word;
}

/// Words so many planes on, each of `kPitch`; from number `turn` on they are found from `again`.
template <int kPitch, int... kPlane>
__device__ __forceinline__ void load_planes(std::integer_sequence<int, kPlane...>, unsigned from,
                                            unsigned again, int turn, unsigned* word) {
  ((word[kPlane] = load_shared<4 * kPlane * kPitch>(kPlane < turn ? from : again)), ...);
}

/// A row's column sums as windows see them.
template <bool kPacked, int kPitch>
class SumRow {
 public:
  static constexpr int kPlanes = band_planes(kPacked), kEach = kPacked ? 2 : 1;

  __device__ explicit SumRow(const unsigned* row) : row_(row) {}

  /// Words of what 16 outputs see from place kBandGroup * t + place on.
  template <int kCount>
  __device__ __forceinline__ void load(int t, int place, unsigned (&word)[kCount]) const {
    const unsigned first = static_cast<unsigned>(place) / kEach;
    const unsigned* const from = row_ + first % kPlanes * kPitch + first / kPlanes + t;
    // Words from number `turn` on are in the first planes again.
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(from));
    const unsigned again = at - 4 * (kPlanes * kPitch - 1);
    const int turn = static_cast<int>(kPlanes - first % kPlanes);
    load_planes<kPitch>(std::make_integer_sequence<int, kCount>{}, at, again, turn, word);
  }

  /// A lane's share of the sum of places begin to end - 1.
  __device__ __forceinline__ unsigned share(int begin, int end) const {
    const unsigned lane = threadIdx.x % 32;
    unsigned sum = 0;
    unsigned place = (static_cast<unsigned>(begin) / kEach + lane) * kEach;
    const unsigned* from = row_ + place / kEach % kPlanes * kPitch + place / kBandGroup;
    // Only the first word can begin before, and only the last one end behind.
    unsigned each = static_cast<int>(place) >= begin ? kBoth : kSecond;
#pragma unroll 1
    for (; static_cast<int>(place) < end; place += 32 * kEach, from += 32 / kPlanes) {
      if constexpr (kPacked) {
        if (static_cast<int>(place) + 1 == end) each &= kFirst;
        sum = add_pair(*from, each, sum);
        each = kBoth;
      } else {
        sum += *from;
      }
    }
    return sum;
  }

 private:
  const unsigned* row_;
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

  /// Rows y to y + count - 1.
  __device__ __forceinline__ void make(int y, int count) const {
    const int pieces = divide_up(group_.width, kBandPiece);
    const unsigned part = 0xFFFFFFFFu / static_cast<unsigned>(pieces) + 1;
    const int warp = static_cast<int>(threadIdx.x / 32), warps = static_cast<int>(blockDim.x / 32);
#pragma unroll 1
    for (int item = warp; item < count * pieces; item += warps) {
      // A quotient, exact for few items; of one piece it would be 0.
      const int row =
          pieces == 1 ? item : static_cast<int>(__umulhi(static_cast<unsigned>(item), part));
      make_piece(y + row, item - row * pieces, sums_ + row * kPlanes * kPitch);
    }
  }

 private:
  static constexpr int kPlanes = band_planes(kPacked);

  __device__ __forceinline__ void make_piece(int y, int piece, const unsigned* sums) const {
    const SumRow<kPacked, kPitch> row(sums);
    const int lane = static_cast<int>(threadIdx.x % 32);
    const int begin = piece * kBandPiece + layout_.first;
    const unsigned first = sum_of_lanes(row.share(begin, begin + a_.mask.width));
    // Lanes behind the picture's end repeat its last group, for nobody.
    const int t = min(piece * 32 + lane, (group_.width - 1) >> 4);
    unsigned in[kPlanes + kOddIn], out[kPlanes + kOddOut];
    row.load(t, kOddOut ? 1 : 0, out);
    row.load(t, layout_.first + a_.mask.width, in);
    // How much each window has more than the lane's first one, and kAbove.
    unsigned more[kBandGroup + 1];
    more[0] = kAbove;
#pragma unroll
    for (int i = 0; i < kBandGroup; ++i)
      more[i + 1] = kPacked ? add_half<kOddIn, 1>(in, i, add_half<kOddOut, -1>(out, i, more[i]))
                            : more[i] + in[i] - out[i];
    const unsigned total = more[kBandGroup] - kAbove;
    const unsigned window = first + sum_before(total) - kAbove;
    unsigned code[4];
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
    store(piece * kBandPiece + lane * kBandGroup, y, code);
  }

  /// So much that no difference from the first window is below 0.
  static constexpr unsigned kAbove = kPacked ? 1u << 20 : 1u << 25;

  /// `sum` and kTimes sum number i of those in `word`, which begin with half a word if kOdd.
  template <bool kOdd, int kTimes, int kCount>
  static __device__ __forceinline__ unsigned add_half(const unsigned (&word)[kCount], int i,
                                                      unsigned sum) {
    const int half = i + (kOdd ? 1 : 0);
    return add_pair(word[half / 2], (kTimes & 0xFF) << (half % 2 * 8), sum);
  }

  __device__ __forceinline__ void store(int x, int y, const unsigned (&code)[4]) const {
    std::uint8_t* const to = group_.dst + channel_.offset + y * group_.dst_pitch + x;
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

/// Column sums of ghosts beside the picture, for `count` rows.
template <bool kPacked, int kPitch>
__device__ __forceinline__ void make_ghosts(const LaunchArguments& a, int lead, unsigned* sums,
                                            int count) {
  using Sum = std::conditional_t<kPacked, std::uint16_t, std::uint32_t>;
  constexpr int kEach = kPacked ? 2 : 1, kPlanes = band_planes(kPacked);
  constexpr int kRow = kPlanes * kPitch * kEach;
  const auto place_of = [&](int x) {
    const int place = x + lead, word = place / kEach;
    return (word % kPlanes * kPitch + word / kPlanes) * kEach + place % kEach;
  };
  const int width = a.group.width, ghosts = a.mask.width - 1;
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  // So many threads share the rows of a ghost.
  const int shares = max(1, threads / max(1, ghosts));
  const auto nothing =
      static_cast<Sum>(a.group.channel[0].black * static_cast<unsigned>(a.mask.height));
#pragma unroll 1
  for (int i = thread; i < ghosts * shares; i += threads) {
    const int ghost = i % ghosts,
              x = ghost - a.mask.anchor_x + (ghost < a.mask.anchor_x ? 0 : width);
    const int from = border_index(a.group.border, x, width);
    const int to_place = place_of(x), from_place = from == kNoSignal ? 0 : place_of(from);
    Sum* const row = reinterpret_cast<Sum*>(sums);
#pragma unroll 4
    for (int r = i / ghosts; r < count; r += shares)
      row[r * kRow + to_place] = from == kNoSignal ? nothing : row[r * kRow + from_place];
  }
}

template <bool kPacked, int kPitch>
__global__ void __launch_bounds__(kBandMostThreads)
    box_band_kernel(const __grid_constant__ LaunchArguments a) {
  constexpr int kWords = band_planes(kPacked) * kPitch;
  admit_next_launch();
  auto* const sums = shared_cells<unsigned>();
  const BandLayout layout = band_layout(a.group.width, a.mask.width, a.mask.anchor_x, kPacked);
  auto* const offsets = reinterpret_cast<longlong2*>(sums + a.batch_rows * kWords);
  const int y0 = static_cast<int>(blockIdx.x) * a.tile_height;
  const int rows = min(a.tile_height, a.group.height - y0);
  for (int r = static_cast<int>(threadIdx.x); r < rows; r += static_cast<int>(blockDim.x)) {
    const int leaving = y0 + r - a.mask.anchor_y;
    const int leaves = border_index(a.group.border, leaving, a.group.height);
    const int enters = border_index(a.group.border, leaving + a.mask.height - 1, a.group.height);
    offsets[r] = make_longlong2(enters == kNoSignal ? kNoOffset : enters * a.group.src_pitch,
                                leaves == kNoSignal ? kNoOffset : leaves * a.group.src_pitch);
  }
  __syncthreads();
  const int x = static_cast<int>(threadIdx.x) * kBandWord;
  const bool mine = x < a.group.width, chunks = a.intermediate != nullptr;
  if (!chunks) await_previous_launch();
  EightSums<kPacked> state;
#pragma unroll 1
  for (int r = 0; r < rows; r += a.batch_rows) {
    const int count = min(a.batch_rows, rows - r);
    BandColumns<kPacked, kPitch> columns(a, layout.lead, x, y0, state);
    const bool whole = columns.whole();
    if (mine && whole) columns.template begin<true>(offsets + r, count);
    if (mine && !whole) columns.template begin<false>(offsets + r, count);
    if (r == 0) {
      if (mine && whole) columns.template add_rows<true>(chunks);
      if (mine && !whole) columns.template add_rows<false>(chunks);
      if (chunks) await_previous_launch();
      if (mine && chunks) columns.add_chunks();
    } else {
      __syncthreads();
    }
    if (mine && whole) columns.template walk<true>(offsets + r, count, sums);
    if (mine && !whole) columns.template walk<false>(offsets + r, count, sums);
    __syncthreads();
    make_ghosts<kPacked, kPitch>(a, layout.lead, sums, count);
    __syncthreads();
    make_windows<kPacked, kPitch>(a, layout, sums, y0 + r, count);
  }
}

__global__ void __launch_bounds__(kBandMostThreads)
    box_chunk_kernel(const __grid_constant__ LaunchArguments a) {
  const int x = static_cast<int>(threadIdx.x) * kBandWord;
  const int first = static_cast<int>(blockIdx.x) * kBandChunk;
  const std::int64_t pitch = a.group.src_pitch;
  const EightColumns columns(a.group, x);
  if (columns.whole() && threadIdx.x % (kSectorBytes / kBandWord) == 0)
    for (int r = 0; r < kBandChunk; ++r)
      fetch_ahead(a.group.src + a.group.channel[0].offset + (first + r) * pitch + x);
  await_previous_launch();
  admit_next_launch();
  if (x >= a.group.width) return;
  const uint4 sums = columns.whole() ? sum_chunk<true>(columns, first * pitch, pitch)
                                     : sum_chunk<false>(columns, first * pitch, pitch);
  auto* const to = static_cast<std::uint8_t*>(a.intermediate) + blockIdx.x * a.intermediate_pitch;
  reinterpret_cast<uint4*>(to)[threadIdx.x] = sums;
}

BandLayout layout_of(const LaunchArguments& a) {
  return band_layout(a.group.width, a.mask.width, a.mask.anchor_x, a.packed);
}

Kernel select_kernel(const LaunchArguments& a) {
  const int pitch = layout_of(a).pitch;
  if (!a.packed)
    return pitch == band_pitch(false, 0) ? box_band_kernel<false, band_pitch(false, 0)>
                                         : box_band_kernel<false, band_pitch(false, 1)>;
  return pitch == band_pitch(true, 0)   ? box_band_kernel<true, band_pitch(true, 0)>
         : pitch == band_pitch(true, 1) ? box_band_kernel<true, band_pitch(true, 1)>
                                        : box_band_kernel<true, band_pitch(true, 2)>;
}

std::size_t shared_bytes(const LaunchArguments& a) {
  return band_bytes(layout_of(a).pitch, a.packed, a.batch_rows, a.tile_height);
}

}  // namespace

cudaError_t load_box_bands(const LaunchArguments& arguments) {
  const cudaError_t error = load_kernel(box_chunk_kernel, 0);
  return error != cudaSuccess ? error
                              : load_kernel(select_kernel(arguments), shared_bytes(arguments));
}

cudaError_t launch_box_bands(const LaunchArguments& arguments, cudaStream_t stream) {
  const GroupArguments& group = arguments.group;
  const dim3 threads(static_cast<unsigned>(band_threads(group.width)));
  LaunchArguments a = arguments;
  if (group.height < kBandChunk) a.intermediate = nullptr;
  if (a.intermediate != nullptr) {
    const dim3 chunks(static_cast<unsigned>(group.height / kBandChunk));
    const cudaError_t error = launch_overlapping(box_chunk_kernel, chunks, threads, 0, stream, a);
    if (error != cudaSuccess) return error;
  }
  const dim3 bands(static_cast<unsigned>(divide_up(group.height, a.tile_height)));
  return launch_overlapping(select_kernel(a), bands, threads, shared_bytes(a), stream, a);
}

}  // namespace convolve
