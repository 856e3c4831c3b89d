// SPDX-License-Identifier: LGPL-2.1-or-later
// Column sums of kernel `box` on tensor cores: a block's rows on their way into a ring of shared
// memory, and sums of the rows below the mask that follow them down.
#pragma once

#include "kernels/core/shape/box_strip.h"
#include "kernels/cuda/device/kernel.cuh"
#include "kernels/cuda/device/stages.cuh"
#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/tensor/tensor_load.cuh"

namespace convolve {
namespace {

/// Where a block works. Row 0 is the first that its first output sees, column 0 at most 15 columns
/// left of that.
template <bool kWide>
struct Strip {
  static constexpr int kRawPitch = strip_raw_pitch(kWide);
  static constexpr int kSumPitch = strip_sum_pitch(kWide);

  const GroupArguments& group;
  const ChannelArguments& channel;
  const MaskArguments& mask;
  StripLayout layout;
  int x0, y0;
  int left, top;  ///< Of column and row 0, in the picture or beside it.
  std::uint8_t* ring;

  __device__ Strip(const LaunchArguments& a, std::uint8_t* memory)
      : group(a.group),
        channel(a.group.channel[0]),
        mask(a.mask),
        layout(strip_layout(a.tile_width, a.mask.width, a.mask.height, a.mask.anchor_x)),
        x0(static_cast<int>(blockIdx.x) * a.tile_width),
        y0(static_cast<int>(blockIdx.y) * a.tile_height),
        top(y0 - a.mask.anchor_y),
        ring(memory) {
    const BoxReach reach = box_reach(a.mask.width, a.mask.anchor_x);
    left = x0 - a.mask.anchor_x - reach.skip - reach.first;
  }

  __device__ int row_at(int row) const {
    return border_index(group.border, top + row, group.height);
  }
  /// Where in the ring row 0 lies, and a batch after the one at `slot`: in bytes.
  __device__ int first_slot() const { return layout.pad * kRawPitch; }
  __device__ int next_slot(int slot) const {
    slot += kStripBatch * kRawPitch;
    return slot < layout.rows * kRawPitch ? slot : slot - layout.rows * kRawPitch;
  }
  /// The batch's high bytes; the low ones are behind them.
  __device__ std::uint8_t* sums(int batch) const {
    return ring + layout.sums + batch % 2 * 2 * kStripBatch * kSumPitch;
  }
};

/// Copies `bytes` of 16 aligned ones to shared memory.
__device__ __forceinline__ void copy_part(std::uint8_t* to, const std::uint8_t* from, int bytes) {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
               :
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(to))), "l"(from), "r"(bytes)
               : "memory");
#else
  for (int b = 0; b < bytes; ++b)
    to[b] = __ldg(from + b);
#endif
}

/// True where a thread can have a whole row copied (compute capability 9.0).
#if __CUDA_ARCH__ >= 900
constexpr bool kCopiesRows = true;
#else
constexpr bool kCopiesRows = false;
#endif

/// Brings rows into the ring, of each what lies in the picture.
template <bool kWide>
class RowLoader {
 public:
  /// Of the first rows, and of batches by turns.
  static constexpr int kBarriers = 1 + kStripAhead;

  __device__ RowLoader(const Strip<kWide>& strip, Barrier* barriers)
      : strip_(strip),
        barriers_(barriers),
        lane_(static_cast<int>(threadIdx.x % 32)),
        begin_(max(-strip.left, 0)) {
    const GroupArguments& group = strip.group;
    pixels_ = group.src + strip.channel.offset + strip.left;
    bytes_ = min(round_up(strip.layout.columns, 16), group.width - strip.left) - begin_;
    aligned_ = aligned(group.src + strip.channel.offset, group.src_pitch, 16);
  }

  /// One thread does so before others use it.
  __device__ void initialise(int first_rows) {
    if constexpr (kCopiesRows) {
      barriers_[0].initialise(first_rows);
      for (int b = 1; b < kBarriers; ++b)
        barriers_[b].initialise(32);
    }
  }

  /// Rows 0 to count - 1, by all `warps` of the block, of which this is `warp`.
  __device__ __forceinline__ void load_first(int count, int warp, int warps) const {
    std::uint8_t* const to = strip_.ring + strip_.first_slot();
    if (!row_by_row()) {
#pragma unroll 1
      for (int row = warp; row < count; row += warps)
        bring(to + row * kPitch, strip_.row_at(row));
      end_stage();
      wait_for_stages<0>();
    } else {
      publish_to_products();
#pragma unroll 1
      for (int row = warp + warps * lane_; row < count; row += 32 * warps)
        bring_alone(barriers_[0], to + row * kPitch, row);
      end_stage();
    }
  }
  __device__ __forceinline__ void wait_for_first() const {
    wait_for_stages<0>();
    if (row_by_row()) barriers_[0].wait(0);
  }

  /// The rows that enter with a batch, from row `row` on, by one warp, which is to end the stage.
  __device__ __forceinline__ void load(int batch, int slot, int row) const {
    // At the ring's beginning they go beyond its end, too.
    const bool twice = slot == 0 && strip_.layout.pad > 0;
    const int again = strip_.layout.rows * kPitch;
    std::uint8_t* const to = strip_.ring + slot;
    if (!row_by_row()) {
      // Each lane finds a row.
      const int y = strip_.row_at(row + lane_ % kStripBatch);
#pragma unroll 1
      for (int r = 0; r < (twice ? 2 : 1) * kStripBatch; ++r)
        bring(to + r % kStripBatch * kPitch + (r < kStripBatch ? 0 : again),
              __shfl_sync(0xFFFFFFFFu, y, r));
    } else {
      Barrier& barrier = barriers_[1 + (batch - 1) % kStripAhead];
      const int r = lane_ % kStripBatch;
      publish_to_products();
      if (lane_ < kStripBatch || twice)
        bring_alone(barrier, to + r * kPitch + (lane_ < kStripBatch ? 0 : again), row + r);
      else
        barrier.arrive();
    }
  }
  __device__ __forceinline__ void wait(int batch) const {
    if (row_by_row()) barriers_[1 + (batch - 1) % kStripAhead].wait((batch - 1) / kStripAhead % 2);
  }

 private:
  static constexpr int kPitch = Strip<kWide>::kRawPitch;

  __device__ bool row_by_row() const {
    return kCopiesRows && aligned_;
  }

  __device__ static void fill(std::uint8_t* to, int begin, int end, int step, unsigned black) {
    for (int b = begin; b < end; b += step)
      *reinterpret_cast<uint4*>(to + b) = make_uint4(black, black, black, black);
  }
  __device__ unsigned black() const {
    return 0x01010101u * static_cast<unsigned>(strip_.channel.black);
  }

  /// Row y of the picture or none, by a warp.
  __device__ __forceinline__ void bring(std::uint8_t* to, int y) const {
    const int end = begin_ + bytes_;
    if (y == kNoSignal) return fill(to, begin_ + 16 * lane_, end, 512, black());
    const std::uint8_t* const from = pixels_ + y * strip_.group.src_pitch;
    if (aligned_) {
      for (int b = begin_ + 16 * lane_; b < end; b += 512)
        copy_part(to + b, from + b, min(end - b, 16));
    } else {
      for (int b = begin_ + lane_; b < end; b += 32)
        to[b] = __ldg(from + b);
    }
  }

  /// Row `row` by a thread; it arrives once at the barrier.
  __device__ __forceinline__ void bring_alone(Barrier& barrier, std::uint8_t* to, int row) const {
    const int y = strip_.row_at(row), whole = bytes_ / 16 * 16;
    const std::uint8_t* const from = pixels_ + y * strip_.group.src_pitch;
    if (y == kNoSignal) fill(to, begin_, begin_ + bytes_, 16, black());
    if (y == kNoSignal || whole == 0)
      barrier.arrive();
    else
      barrier.arrive_with(to + begin_, from + begin_, static_cast<unsigned>(whole));
    if (y != kNoSignal && bytes_ > whole)
      copy_part(to + begin_ + whole, from + begin_ + whole, bytes_ - whole);
  }

  const Strip<kWide>& strip_;
  Barrier* barriers_;
  int lane_;
  int begin_;  ///< The first column of the picture,
  int bytes_;  ///< and how many there are from there on.
  bool aligned_;
  const std::uint8_t* pixels_;  ///< Column 0 of row 0 of the picture.
};

/// Where the four columns of a word come from.
enum class ColumnSource : int {
  kWord,     ///< The same place of the ring's row.
  kBytes,    ///< Each its own place there: ghosts of columns that the block has.
  kPicture,  ///< Its own place of the picture's row: ghosts of columns far away.
};

/// Sums of a thread's four columns, two of 16 bits in a word: added and subtracted as one number,
/// which is exact modulo 2^32 even where a half is negative on the way.
template <bool kWide>
class ColumnWalk {
 public:
  /// `word`: columns 4 word and up. All threads of a warp take part.
  __device__ ColumnWalk(const Strip<kWide>& strip, int word) : strip_(strip), word_(word) {
    const int first = strip.left + kStripWord * word, width = strip.group.width;
    mine_ = kStripWord * word < strip.layout.columns;
    bool whole = true, near = true;
#pragma unroll
    for (int i = 0; i < kStripWord; ++i) {
      // Columns beyond what the last output sees are nobody's.
      const bool seen = mine_ && first + i < width + strip.mask.width;
      const int x =
          seen ? border_index(strip.group.border, first + i, width) : static_cast<int>(kNoSignal);
      column_[i] = x;
      whole = whole && (x == first + i || !mine_);
      near = near && (x == kNoSignal || (x >= strip.left && x < strip.left + strip.layout.columns));
    }
    source_ = __all_sync(0xFFFFFFFFu, whole)  ? ColumnSource::kWord
              : __all_sync(0xFFFFFFFFu, near) ? ColumnSource::kBytes
                                              : ColumnSource::kPicture;
    if (source_ == ColumnSource::kPicture) return;
      // Without signal: the bytes behind the ring's rows.
#pragma unroll
    for (int i = 0; i < kStripWord; ++i)
      column_[i] = column_[i] == kNoSignal ? kRawPitch - 16 : column_[i] - strip.left;
  }

  /// Adds up rows first, first + step ... below `end`, which is less than the ring's.
  __device__ uint2 add_up(int first, int end, int step) const {
    switch (source_) {
      case ColumnSource::kWord:
        return add_up_from<ColumnSource::kWord>(first, end, step);
      case ColumnSource::kBytes:
        return add_up_from<ColumnSource::kBytes>(first, end, step);
      case ColumnSource::kPicture:
        break;
    }
    return add_up_from<ColumnSource::kPicture>(first, end, step);
  }

  /// Column sums of a batch, with the slots of the rows that enter and leave; `sum` lacks the first
  /// one's last row, before and after.
  __device__ void walk(int batch, int entering, int leaving, uint2& sum) const {
    switch (source_) {
      case ColumnSource::kWord:
        return walk_from<ColumnSource::kWord>(batch, entering, leaving, sum);
      case ColumnSource::kBytes:
        return walk_from<ColumnSource::kBytes>(batch, entering, leaving, sum);
      case ColumnSource::kPicture:
        break;
    }
    walk_from<ColumnSource::kPicture>(batch, entering, leaving, sum);
  }

 private:
  static constexpr int kRawPitch = Strip<kWide>::kRawPitch;

  /// Row `row`, which lies at `from` in the ring.
  template <ColumnSource kSource>
  __device__ __forceinline__ uint2 read(int row, const std::uint8_t* from) const {
    if constexpr (kSource == ColumnSource::kWord) {
      const unsigned four = *reinterpret_cast<const unsigned*>(from + kStripWord * word_);
      return make_uint2(__byte_perm(four, 0, 0x4140), __byte_perm(four, 0, 0x4342));
    }
    unsigned code[kStripWord];
    if constexpr (kSource == ColumnSource::kBytes) {
#pragma unroll
      for (int i = 0; i < kStripWord; ++i)
        code[i] = from[column_[i]];
    } else {
      const int y = strip_.row_at(row);
      const std::uint8_t* const pixels =
          strip_.group.src + strip_.channel.offset + max(y, 0) * strip_.group.src_pitch;
#pragma unroll
      for (int i = 0; i < kStripWord; ++i)
        code[i] = y == kNoSignal || column_[i] == kNoSignal
                      ? static_cast<unsigned>(strip_.channel.black)
                      : __ldg(pixels + column_[i]);
    }
    return make_uint2(code[0] | code[1] << 16, code[2] | code[3] << 16);
  }

  template <ColumnSource kSource>
  __device__ __forceinline__ uint2 add_up_from(int first, int end, int step) const {
    uint2 sum = make_uint2(0, 0);
    const std::uint8_t* from = strip_.ring + strip_.first_slot() + first * kRawPitch;
#pragma unroll kSource == ColumnSource::kPicture ? 1 : 8
    for (int row = first; row < end; row += step, from += step * kRawPitch) {
      const uint2 four = read<kSource>(row, from);
      sum.x += four.x;
      sum.y += four.y;
    }
    return sum;
  }

  template <ColumnSource kSource>
  __device__ __forceinline__ void walk_from(int batch, int entering, int leaving,
                                            uint2& sum) const {
    constexpr int kSumPitch = Strip<kWide>::kSumPitch;
    const int leaves = batch * kStripBatch, enters = leaves + strip_.mask.height - 1;
    std::uint8_t* const to = strip_.sums(batch) + kStripWord * word_;
    // So many rows are read before the first sum is written.
    constexpr int kAhead = kSource == ColumnSource::kWord ? 8 : 4;
#pragma unroll kSource == ColumnSource::kWord ? kStripBatch / kAhead : 1
    for (int r = 0; r < kStripBatch; r += kAhead) {
      uint2 enter[kAhead], leave[kAhead];
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        enter[i] = read<kSource>(enters + r + i, strip_.ring + entering + (r + i) * kRawPitch);
        leave[i] = read<kSource>(leaves + r + i, strip_.ring + leaving + (r + i) * kRawPitch);
      }
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        sum.x += enter[i].x;
        sum.y += enter[i].y;
        if (mine_) {
          auto* const high = reinterpret_cast<unsigned*>(to + (r + i) * kSumPitch);
          auto* const low = reinterpret_cast<unsigned*>(to + (kStripBatch + r + i) * kSumPitch);
          *high = __byte_perm(sum.x, sum.y, 0x7531);
          *low = __byte_perm(sum.x, sum.y, 0x6420);
        }
        sum.x -= leave[i].x;
        sum.y -= leave[i].y;
      }
    }
  }

  const Strip<kWide>& strip_;
  int word_;
  bool mine_;  ///< Some of the columns are the block's.
  int column_[kStripWord];
  ColumnSource source_;
};

}  // namespace
}  // namespace convolve
