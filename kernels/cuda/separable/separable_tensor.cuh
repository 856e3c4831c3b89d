// SPDX-License-Identifier: LGPL-2.1-or-later
// What both forms of kernel `separable` on tensor cores share: loading rows of one component into
// shared memory, packing row sums as operand B of the column pass, and quantising and storing
// outputs.
#pragma once

#include "kernels/core/base/round.h"
#include "kernels/cuda/device/copy_async.cuh"
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/device/tensor_mma.cuh"
#include "kernels/cuda/tensor/tensor_store.cuh"
#include "kernels/cuda/tensor/tile/tensor_tile.cuh"

namespace convolve {
namespace {

constexpr int kStrip = 32;    ///< Columns of a strip, which a warp makes together.
constexpr int kOperands = 4;  ///< Operands B of a strip, eight columns each.
constexpr int kSeparableThreads = 32 * kWarps;

/// Row sums of 32 rows in eight columns as two operands B, one of the high bytes and one of the
/// low: a lane's part.
struct SumBytes {
  uint2 high;
  uint2 low;
};

/// Loads a fragment. The assembly is volatile so that the compiler does not load fragments earlier
/// and keep more of them in registers than the source says.
__device__ __forceinline__ uint4 load_fragment(const uint4* from) {
  uint4 f;
  asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(f.x), "=r"(f.y), "=r"(f.z), "=r"(f.w)
               : "l"(from));
  return f;
}

/// The lane's words of the first fragment of the row, and of the column.
__device__ __forceinline__ const uint4* row_fragments(const LaunchArguments& a) {
  return static_cast<const uint4*>(a.mask.global) + threadIdx.x;
}
__device__ __forceinline__ const uint4* column_fragments(const LaunchArguments& a) {
  return row_fragments(a) + a.separable.column;
}

/// Fragments of a chunk: both halves and both digits, for 32 lanes.
constexpr int kChunkFragments = 2 * 2 * 32;

/// The fragment of a chunk, half and digit (0 is the higher digit); `first`: that of the first
/// chunk.
__device__ __forceinline__ const uint4* fragment_at(const uint4* first, int chunk, int half,
                                                    int digit) {
  return first + chunk * kChunkFragments + (half * 2 + digit) * 32;
}

/// A row sum quantised to 16 bits, which lie in the upper half of the word.
__device__ __forceinline__ unsigned row_value(const SeparableArguments& s, int sum) {
  return static_cast<unsigned>(sum) * s.multiplier + s.row_start;
}

/// Packs the row sums of 16 rows x 16 columns: of the 32 columns of a strip those with number
/// `half`, as sum[octet of rows]. Their bytes become word `word` of operands 2 half and 2 half + 1.
__device__ __forceinline__ void pack_sums(const SeparableArguments& s, const int (&sum)[2][4],
                                          int half, int word, SumBytes (&bytes)[kOperands]) {
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    unsigned pair[2];
#pragma unroll
    for (int rows = 0; rows < 2; ++rows)
      // Byte 2 of either value, then byte 3 of either.
      pair[rows] =
          __byte_perm(row_value(s, sum[rows][2 * i]), row_value(s, sum[rows][2 * i + 1]), 0x7362);
    SumBytes& to = bytes[2 * half + i];
    (word == 0 ? to.low.x : to.low.y) = __byte_perm(pair[0], pair[1], 0x5410);
    (word == 0 ? to.high.x : to.high.y) = __byte_perm(pair[0], pair[1], 0x7632);
  }
}

/// quantise_general() with one epilogue for all four sums. Out of line, as a lane quantises many
/// sums.
__device__ __noinline__ unsigned quantise_four_general(const Epilogue& e, int s0, int s1, int s2,
                                                       int s3) {
  const int sum[4] = {s0, s1, s2, s3};
  const Epilogue* const epilogues[4] = {&e, &e, &e, &e};
  return quantise_general(sum, epilogues);
}

/// Eight adjacent codes of row octet `half`, 0 or 1. `quantise` takes four sums and returns their
/// codes as a word; like quantise_fast() it takes the second and the third sum in the other order.
template <class Quantise>
__device__ __forceinline__ uint2 quantise_eight(const int (&sum)[kOperands][4], int half,
                                                const Quantise& quantise) {
  unsigned word[2];
#pragma unroll
  for (int w = 0; w < 2; ++w) {
    const int four[4] = {sum[2 * w][2 * half], sum[2 * w + 1][2 * half], sum[2 * w][2 * half + 1],
                         sum[2 * w + 1][2 * half + 1]};
    word[w] = quantise(four);
  }
  return make_uint2(word[0], word[1]);
}

/// Pitch of a patch: a warp's buffer in shared memory, by which its lanes exchange codes before
/// they store them.
constexpr int kPatchPitch = kStrip + 8;
constexpr int kPatchBytes = 16 * kPatchPitch;

/// Quantises and stores 16 rows x 32 columns of sums of a component, from (x, y) on.
class SumOutput {
 public:
  /// `patch`: kPatchBytes that only this warp uses.
  __device__ SumOutput(const GroupArguments& group, const ChannelArguments& channel,
                       std::uint8_t* patch)
      : group_(group),
        channel_(channel),
        patch_(patch),
        words_(group.step == 1 && aligned(group.dst + channel.offset, group.dst_pitch, 8)),
        fast_(channel.digits.quantiser == DigitEpilogue::Quantiser::kFloat),
        scale_(channel.digits.scale),
        base_(channel.digits.base) {}

  __device__ __forceinline__ void store(int x, int y, const int (&sum)[kOperands][4]) const {
    uint2 codes[2];
    if (fast_) {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        codes[i] = quantise_eight(sum, i, [this](const int(&four)[4]) {
          const float base[4] = {base_, base_, base_, base_};
          return quantise_fast<DigitEpilogue::Quantiser::kFloat>(four, scale_, base);
        });
    } else {
#pragma unroll
      for (int i = 0; i < 2; ++i)
        codes[i] = quantise_eight(sum, i, [this](const int(&four)[4]) {
          return quantise_four_general(channel_.digits.general, four[0], four[1], four[2], four[3]);
        });
    }
    const int lane = fresh_lane();
    if (words_ && x + kStrip <= group_.width && y + 16 <= group_.height) {
      std::uint8_t* const to =
          group_.dst + channel_.offset + (y + lane / 4) * group_.dst_pitch + (x + 8 * (lane % 4));
      *reinterpret_cast<uint2*>(to) = codes[0];
      *reinterpret_cast<uint2*>(to + 8 * group_.dst_pitch) = codes[1];
      return;
    }
    // Interleaved or unaligned: by way of the patch adjacent lanes get adjacent samples, so that
    // their stores are coalesced.
#pragma unroll
    for (int i = 0; i < 2; ++i)
      *reinterpret_cast<uint2*>(patch_ + (lane / 4 + 8 * i) * kPatchPitch + 8 * (lane % 4)) =
          codes[i];
    __syncwarp();
    const int rows = x + lane < group_.width ? min(16, group_.height - y) : 0;
    std::uint8_t* to = group_.dst + channel_.offset + y * group_.dst_pitch +
                       static_cast<std::int64_t>(x + lane) * group_.step;
#pragma unroll 4
    for (int r = 0; r < rows; ++r, to += group_.dst_pitch)
      *to = patch_[r * kPatchPitch + lane];
    __syncwarp();
  }

 private:
  const GroupArguments& group_;
  const ChannelArguments& channel_;
  std::uint8_t* patch_;
  bool words_;  ///< Eight adjacent codes can be stored in one access.
  bool fast_;
  float scale_, base_;
};

/// 32 rows of one component in shared memory: `vectors` of 16 samples each, `pitch` bytes from row
/// to row.
struct RowTile {
  int vectors;
  int pitch;

  __host__ __device__ int bytes() const { return 32 * pitch; }
  /// Bytes of the table of ghost cells, two for each sample.
  __host__ __device__ int table_bytes() const { return 2 * kChunk * vectors; }
};

/// A tile whose rows have `samples` samples. Its pitch is 32 modulo 64 bytes, so that lanes that
/// read four rows at once find them in different banks.
__host__ __device__ inline RowTile row_tile(int samples) {
  return {divide_up(samples, kChunk), (samples + 31) / 64 * 64 + 32};
}

/// Fills tiles, ghost cells included, whose first sample lies in column x of the picture, a
/// multiple of 16. All threads of the block take part.
class RowFiller {
 public:
  /// `table`: RowTile::table_bytes() of shared memory. `reach`: samples to the right of an output
  /// that the mask covers.
  __device__ RowFiller(const GroupArguments& group, const ChannelArguments& channel,
                       const RowTile& tile, int x, int reach, std::uint16_t* table)
      : group_(&group), channel_(&channel), tile_(tile), table_(table), x_(x) {
    const auto limit = [&](int vector) { return min(max(vector, 0), tile.vectors); };
    // Vectors begin_ .. end_ - 1 lie inside the picture, and can be copied whole. With several
    // components the last pixel of a row may be cut short, so it does not count.
    const int step = group.step;
    pixels_ = group.src + (step == 1 ? channel.offset : 0);
    const bool whole = step <= 4 && (step == 1 || channel.offset < step) &&
                       aligned(pixels_, group.src_pitch, kChunk);
    const int width = group.width - (step == 1 ? 0 : 1);
    begin_ = whole ? limit((kChunk - 1 - x) >> 4) : 0;
    end_ = whole ? max(begin_, limit((width - x) >> 4)) : begin_;
    ghosts_ = kChunk * (begin_ + tile.vectors - end_);
    if (ghosts_ == 0) return;
    // The table says for each ghost cell, and for the samples that share a vector with them, which
    // column of the picture it repeats.
    bool local = true;
    for (int i = thread(); i < ghosts_; i += kSeparableThreads) {
      const int sample = border_index(group.border, x + column_of(i), group.width);
      table[i] = static_cast<std::uint16_t>(sample == kNoSignal ? kNoSample : sample);
      const int column = sample - x;
      // No output needs columns further right, so they do not count.
      local = local && (sample == kNoSignal || x + column_of(i) > group.width + reach ||
                        (column >= kChunk * begin_ && column < kChunk * end_));
    }
    local_ = __syncthreads_and(local);
  }

  /// Starts to load rows y .. y + 31. Before the tile is used wait_for_copies() or the like, a
  /// barrier and finish() must follow.
  __device__ __forceinline__ void fill(int y, std::uint8_t* memory) const {
    const bool clipped = y < 0 || y + 32 > group_->height;
    const int first = thread() / kAcross;
#pragma unroll 1
    for (int c = begin_ + thread() % kAcross; c < end_; c += kAcross) {
      std::uint8_t* const to = memory + first * tile_.pitch + kChunk * c;
      const std::uint8_t* from = pixels_ + (x_ + kChunk * c) * group_->step;
      if (!clipped && group_->step == 1) {
        from += (y + first) * group_->src_pitch;
        const std::int64_t down = kDown * group_->src_pitch;
#pragma unroll
        for (int r = 0; r < 32; r += kDown, from += down)
          copy_16_async(to + r * tile_.pitch, from);
      } else if (group_->step == 1) {
#pragma unroll 1
        for (int r = 0; r < 32; r += kDown)
          copy_vector(to + r * tile_.pitch, from, row_at(y + first + r));
      } else if (group_->step == 2) {
        deinterleave<2>(to, from, y + first);
      } else if (group_->step == 3) {
        deinterleave<3>(to, from, y + first);
      } else {
        deinterleave<4>(to, from, y + first);
      }
    }
    if (ghosts_ > 0 && !local_) fill_ghosts(y, memory);
  }

  /// Makes those ghost cells that repeat samples of the tile. Ends in a barrier if there are any.
  __device__ __forceinline__ void finish(std::uint8_t* memory) const {
    if (ghosts_ == 0 || !local_) return;
    constexpr int kRowThreads = 4;
    std::uint8_t* const row = memory + thread() / kRowThreads * tile_.pitch;
    static_assert(kSeparableThreads == 32 * kRowThreads, "a thread has one row");
#pragma unroll 1
    for (int i = 4 * (thread() % kRowThreads); i < ghosts_; i += 4 * kRowThreads) {
      unsigned word = 0;
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        const int sample = table_[i + b], column = min(max(sample - x_, 0), tile_.pitch - 1);
        const unsigned code =
            sample == kNoSample ? static_cast<unsigned>(channel_->black) : row[column];
        word |= code << (8 * b);
      }
      *reinterpret_cast<unsigned*>(row + column_of(i)) = word;
    }
    __syncthreads();
  }

 private:
  static constexpr int kNoSample = 0xFFFF;

  /// Threads of a block side by side, a vector each, and rows that a block loads at once.
  static constexpr int kAcross = 16, kDown = kSeparableThreads / kAcross;

  __device__ static int thread() {
    return static_cast<int>(threadIdx.x + 32 * threadIdx.y);
  }
  /// The column of the tile of ghost cell i.
  __device__ int column_of(int i) const {
    return i < kChunk * begin_ ? i : i + kChunk * (end_ - begin_);
  }
  __device__ int row_at(int y) const {
    return border_index(group_->border, y, group_->height);
  }
  __device__ unsigned black() const {
    return 0x01010101u * static_cast<unsigned>(channel_->black);
  }

  __device__ __forceinline__ void copy_vector(std::uint8_t* to, const std::uint8_t* from,
                                              int row) const {
    if (row == kNoSignal)
      *reinterpret_cast<uint4*>(to) = make_uint4(black(), black(), black(), black());
    else
      copy_16_async(to, from + row * group_->src_pitch);
  }

  /// Loads vectors of one of kStep interleaved components in rows y, y + kDown ... of the tile,
  /// several rows at a time, so that their loads are in flight together.
  template <int kStep>
  __device__ __forceinline__ void deinterleave(std::uint8_t* to, const std::uint8_t* from,
                                               int y) const {
    constexpr int kBatch = kStep == 2 ? 4 : 2;
#pragma unroll 1
    for (int r = 0; r < 32; r += kBatch * kDown) {
      Chunk<kStep> chunk[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i)
        chunk[i].template load<false>(from + max(row_at(y + r + i * kDown), 0) * group_->src_pitch);
#pragma unroll
      for (int i = 0; i < kBatch; ++i) {
        uint4 words = make_uint4(black(), black(), black(), black());
        if (row_at(y + r + i * kDown) != kNoSignal)
          words =
              make_uint4(chunk[i].plane(channel_->offset, 0), chunk[i].plane(channel_->offset, 1),
                         chunk[i].plane(channel_->offset, 2), chunk[i].plane(channel_->offset, 3));
        *reinterpret_cast<uint4*>(to + (r + i * kDown) * tile_.pitch) = words;
      }
    }
  }

  __device__ __forceinline__ void fill_ghosts(int y, std::uint8_t* memory) const {
    constexpr int kRowThreads = 8;
    const std::uint8_t* const component = group_->src + channel_->offset;
#pragma unroll 1
    for (int r = thread() / kRowThreads; r < 32; r += kSeparableThreads / kRowThreads) {
      const int row = row_at(y + r);
      const std::uint8_t* const from = component + max(row, 0) * group_->src_pitch;
#pragma unroll 2
      for (int i = 4 * (thread() % kRowThreads); i < ghosts_; i += 4 * kRowThreads) {
        unsigned word = 0;
#pragma unroll
        for (int b = 0; b < 4; ++b) {
          const int sample = table_[i + b];
          const unsigned code = row == kNoSignal || sample == kNoSample
                                    ? static_cast<unsigned>(channel_->black)
                                    : __ldg(from + sample * group_->step);
          word |= code << (8 * b);
        }
        *reinterpret_cast<unsigned*>(memory + r * tile_.pitch + column_of(i)) = word;
      }
    }
  }

  const GroupArguments* group_;
  const ChannelArguments* channel_;
  RowTile tile_;
  const std::uint16_t* table_;
  const std::uint8_t* pixels_;
  int x_, begin_, end_, ghosts_;
  bool local_ = true;  ///< All ghost cells repeat samples of the tile.
};

/// Prefetches to the L2 cache the part of width x height pixels from (x, y) on that lies in the
/// picture.
__device__ __forceinline__ void prefetch_pixels(const GroupArguments& group, int x, int y,
                                                int width, int height) {
  constexpr int kAcross = 4, kDown = kSeparableThreads / kAcross;
  const int thread = static_cast<int>(threadIdx.x + 32 * threadIdx.y);
  const int end_byte = min(x + width, group.width) * group.step;
  const int end_row = min(y + height, group.height);
#pragma unroll 1
  for (int row = y + thread / kAcross; row < end_row; row += kDown) {
    const std::uint8_t* const from = group.src + row * group.src_pitch;
#pragma unroll 1
    for (int byte = x * group.step + kSectorBytes * (thread % kAcross); byte < end_byte;
         byte += kSectorBytes * kAcross)
      prefetch_l2(from + byte);
  }
}

/// Copies a part of a component that is not filtered. A thread has kBatch loads in flight at once.
__device__ __forceinline__ void copy_component(const GroupArguments& group,
                                               const ChannelArguments& channel, int x0, int y0,
                                               int width, int height) {
  constexpr int kBatch = 16;
  const int end_x = min(x0 + width, group.width), end_y = min(y0 + height, group.height);
  const int down = static_cast<int>(blockDim.y);
#pragma unroll 1
  for (int x = x0 + static_cast<int>(threadIdx.x); x < end_x; x += 32)
#pragma unroll 1
    for (int y = y0 + static_cast<int>(threadIdx.y); y < end_y; y += kBatch * down) {
      std::uint8_t code[kBatch];
#pragma unroll
      for (int i = 0; i < kBatch; ++i)
        code[i] = load_stored<std::uint8_t>(group, channel, x, min(y + i * down, end_y - 1));
#pragma unroll
      for (int i = 0; i < kBatch; ++i)
        if (y + i * down < end_y) store_stored(group, channel, x, y + i * down, code[i]);
    }
}

}  // namespace
}  // namespace convolve
