// SPDX-License-Identifier: LGPL-2.1-or-later
// Column sums of kernel `box` on tensor cores: how a block's rows come into a ring buffer in shared
// memory, and the sums of the rows below the mask, which slide down it.
#pragma once

#include "kernels/core/shape/box_strip.h"
#include "kernels/cuda/device/copy_async.cuh"
#include "kernels/cuda/device/kernel.cuh"
#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/tensor/tensor_load.cuh"

namespace convolve {
namespace {

/// The strip of a block. Its row 0 is the first row that its first output sees; its column 0 lies
/// at most 15 columns left of the first that its first output sees.
template <bool kWide>
struct Strip {
  static constexpr int kRawPitch = strip_raw_pitch(kWide);
  static constexpr int kSumPitch = strip_sum_pitch(kWide);

  const GroupArguments& group;
  const ChannelArguments& channel;
  const MaskArguments& mask;
  StripLayout layout;
  int x0, y0;
  int left, top;  ///< The picture's column and row at column and row 0; they may lie beside it.
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
  /// The ring's slots, as byte offsets: that of row 0, and that of the batch after the one at
  /// `slot`.
  __device__ int first_slot() const { return layout.pad * kRawPitch; }
  __device__ int next_slot(int slot) const {
    slot += kStripBatch * kRawPitch;
    return slot < layout.rows * kRawPitch ? slot : slot - layout.rows * kRawPitch;
  }
  /// The high bytes of a batch's column sums; the low bytes follow them.
  __device__ std::uint8_t* sums(int batch) const {
    return ring + layout.sums + batch % 2 * 2 * kStripBatch * kSumPitch;
  }
};

/// True where one instruction copies a whole row (bulk copies, compute capability 9.0).
#if __CUDA_ARCH__ >= 900
constexpr bool kBulkCopies = true;
#else
constexpr bool kBulkCopies = false;
#endif

/// Copies rows into the ring, the part of each that lies in the picture.
template <bool kWide>
class RowLoader {
 public:
  /// One for the first rows, and one for each batch in flight, which batches use by turns.
  static constexpr int kBarriers = 1 + kStripPrefetch;

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

  /// Initialises the barriers; one thread calls it, before a barrier of the block.
  __device__ void initialise(int first_rows) {
    if constexpr (kBulkCopies) {
      barriers_[0].initialise(first_rows);
      for (int b = 1; b < kBarriers; ++b)
        barriers_[b].initialise(32);
    }
  }

  /// Issues the copies of rows 0 to count - 1; all `warps` of the block take part, of which this is
  /// number `warp`.
  __device__ __forceinline__ void load_first(int count, int warp, int warps) const {
    std::uint8_t* const to = strip_.ring + strip_.first_slot();
    if (!bulk_copies()) {
#pragma unroll 1
      for (int row = warp; row < count; row += warps)
        copy_row(to + row * kPitch, strip_.row_at(row));
      end_stage();
      wait_for_stages<0>();
    } else {
      publish_to_products();
#pragma unroll 1
      for (int row = warp + warps * lane_; row < count; row += 32 * warps)
        copy_row_by_thread(barriers_[0], to + row * kPitch, row);
      end_stage();
    }
  }
  __device__ __forceinline__ void wait_for_first() const {
    wait_for_stages<0>();
    if (bulk_copies()) barriers_[0].wait(0);
  }

  /// Issues the copies of the rows that enter with a batch, from row `row` on. One warp calls it,
  /// and must end the stage.
  __device__ __forceinline__ void load(int batch, int slot, int row) const {
    // Rows at the beginning of the ring are stored beyond its end, too, for rows that leave across
    // it.
    const bool twice = slot == 0 && strip_.layout.pad > 0;
    const int beyond = strip_.layout.rows * kPitch;
    std::uint8_t* const to = strip_.ring + slot;
    if (!bulk_copies()) {
      // Each lane applies the border for one row.
      const int y = strip_.row_at(row + lane_ % kStripBatch);
#pragma unroll 1
      for (int r = 0; r < (twice ? 2 : 1) * kStripBatch; ++r)
        copy_row(to + r % kStripBatch * kPitch + (r < kStripBatch ? 0 : beyond),
                 __shfl_sync(0xFFFFFFFFu, y, r));
    } else {
      Barrier& barrier = barriers_[1 + (batch - 1) % kStripPrefetch];
      const int r = lane_ % kStripBatch;
      publish_to_products();
      if (lane_ < kStripBatch || twice)
        copy_row_by_thread(barrier, to + r * kPitch + (lane_ < kStripBatch ? 0 : beyond), row + r);
      else
        barrier.arrive();
    }
  }
  __device__ __forceinline__ void wait(int batch) const {
    if (bulk_copies())
      barriers_[1 + (batch - 1) % kStripPrefetch].wait((batch - 1) / kStripPrefetch % 2);
  }

 private:
  static constexpr int kPitch = Strip<kWide>::kRawPitch;

  __device__ bool bulk_copies() const {
    return kBulkCopies && aligned_;
  }

  __device__ static void fill(std::uint8_t* to, int begin, int end, int stride, unsigned black) {
    for (int b = begin; b < end; b += stride)
      *reinterpret_cast<uint4*>(to + b) = make_uint4(black, black, black, black);
  }
  __device__ unsigned black() const {
    return 0x01010101u * static_cast<unsigned>(strip_.channel.black);
  }

  /// Copies row `y` of the picture, or one without signal, by a warp.
  __device__ __forceinline__ void copy_row(std::uint8_t* to, int y) const {
    const int end = begin_ + bytes_;
    if (y == kNoSignal) return fill(to, begin_ + 16 * lane_, end, 512, black());
    const std::uint8_t* const from = pixels_ + y * strip_.group.src_pitch;
    if (aligned_) {
      for (int b = begin_ + 16 * lane_; b < end; b += 512)
        copy_16_async(to + b, from + b, min(end - b, 16));
    } else {
      for (int b = begin_ + lane_; b < end; b += 32)
        to[b] = __ldg(from + b);
    }
  }

  /// Copies row `row` of the strip, by a thread, which arrives at the barrier once.
  __device__ __forceinline__ void copy_row_by_thread(Barrier& barrier, std::uint8_t* to,
                                                     int row) const {
    const int y = strip_.row_at(row), whole = bytes_ / 16 * 16;
    const std::uint8_t* const from = pixels_ + y * strip_.group.src_pitch;
    if (y == kNoSignal) fill(to, begin_, begin_ + bytes_, 16, black());
    if (y == kNoSignal || whole == 0)
      barrier.arrive();
    else
      barrier.arrive_with(to + begin_, from + begin_, static_cast<unsigned>(whole));
    if (y != kNoSignal && bytes_ > whole)
      copy_16_async(to + begin_ + whole, from + begin_ + whole, bytes_ - whole);
  }

  const Strip<kWide>& strip_;
  Barrier* barriers_;
  int lane_;
  int begin_;  ///< The strip's first column in the picture,
  int bytes_;  ///< and how many columns of the picture the strip has.
  bool aligned_;
  const std::uint8_t* pixels_;  ///< The strip's column 0 in the picture's row 0.
};

/// Where a thread's four columns are read.
enum class ColumnSource : int {
  kWord,     ///< As a word at the same column of the ring's row.
  kBytes,    ///< Byte by byte in the ring's row: ghosts of columns that the block has.
  kPicture,  ///< Byte by byte in the picture: ghosts of columns far away.
};

/// Sliding sums of a thread's four columns. Two sums of 16 bits share a word and are added and
/// subtracted as one number. That is exact modulo 2^32: a half may be negative on the way, but not
/// in the end.
template <bool kWide>
class SlidingColumns {
 public:
  /// `word`: the thread has columns 4 word to 4 word + 3. All threads of a warp must take part.
  __device__ SlidingColumns(const Strip<kWide>& strip, int word) : strip_(strip), word_(word) {
    const int first = strip.left + kStripColumnsAThread * word, width = strip.group.width;
    active_ = kStripColumnsAThread * word < strip.layout.columns;
    bool in_place = true, in_ring = true;
#pragma unroll
    for (int i = 0; i < kStripColumnsAThread; ++i) {
      // Columns beyond those that the picture's last output sees belong to nobody.
      const bool seen = active_ && first + i < width + strip.mask.width;
      const int x =
          seen ? border_index(strip.group.border, first + i, width) : static_cast<int>(kNoSignal);
      column_[i] = x;
      in_place = in_place && (x == first + i || !active_);
      in_ring =
          in_ring && (x == kNoSignal || (x >= strip.left && x < strip.left + strip.layout.columns));
    }
    source_ = __all_sync(0xFFFFFFFFu, in_place)  ? ColumnSource::kWord
              : __all_sync(0xFFFFFFFFu, in_ring) ? ColumnSource::kBytes
                                                 : ColumnSource::kPicture;
    if (source_ == ColumnSource::kPicture) return;
      // Columns without signal are read from the bytes after the row's columns, which are black.
#pragma unroll
    for (int i = 0; i < kStripColumnsAThread; ++i)
      column_[i] = column_[i] == kNoSignal ? kRawPitch - 16 : column_[i] - strip.left;
  }

  /// The sums of rows first, first + stride ... below `end`, which must all lie in the ring.
  __device__ uint2 sum_rows(int first, int end, int stride) const {
    switch (source_) {
      case ColumnSource::kWord:
        return sum_rows_from<ColumnSource::kWord>(first, end, stride);
      case ColumnSource::kBytes:
        return sum_rows_from<ColumnSource::kBytes>(first, end, stride);
      case ColumnSource::kPicture:
        break;
    }
    return sum_rows_from<ColumnSource::kPicture>(first, end, stride);
  }

  /// Makes the column sums of a batch, given the slots of the rows that enter and leave. `sum`,
  /// before and after, is the sum for the next row without the row that enters with it.
  __device__ void slide(int batch, int entering, int leaving, uint2& sum) const {
    switch (source_) {
      case ColumnSource::kWord:
        return slide_from<ColumnSource::kWord>(batch, entering, leaving, sum);
      case ColumnSource::kBytes:
        return slide_from<ColumnSource::kBytes>(batch, entering, leaving, sum);
      case ColumnSource::kPicture:
        break;
    }
    slide_from<ColumnSource::kPicture>(batch, entering, leaving, sum);
  }

 private:
  static constexpr int kRawPitch = Strip<kWide>::kRawPitch;

  /// The columns of row `row`, which lies at `from` in the ring.
  template <ColumnSource kSource>
  __device__ __forceinline__ uint2 read(int row, const std::uint8_t* from) const {
    if constexpr (kSource == ColumnSource::kWord) {
      const unsigned four = *reinterpret_cast<const unsigned*>(from + kStripColumnsAThread * word_);
      return make_uint2(__byte_perm(four, 0, 0x4140), __byte_perm(four, 0, 0x4342));
    }
    unsigned code[kStripColumnsAThread];
    if constexpr (kSource == ColumnSource::kBytes) {
#pragma unroll
      for (int i = 0; i < kStripColumnsAThread; ++i)
        code[i] = from[column_[i]];
    } else {
      const int y = strip_.row_at(row);
      const std::uint8_t* const pixels =
          strip_.group.src + strip_.channel.offset + max(y, 0) * strip_.group.src_pitch;
#pragma unroll
      for (int i = 0; i < kStripColumnsAThread; ++i)
        code[i] = y == kNoSignal || column_[i] == kNoSignal
                      ? static_cast<unsigned>(strip_.channel.black)
                      : __ldg(pixels + column_[i]);
    }
    return make_uint2(code[0] | code[1] << 16, code[2] | code[3] << 16);
  }

  template <ColumnSource kSource>
  __device__ __forceinline__ uint2 sum_rows_from(int first, int end, int stride) const {
    uint2 sum = make_uint2(0, 0);
    const std::uint8_t* from = strip_.ring + strip_.first_slot() + first * kRawPitch;
#pragma unroll kSource == ColumnSource::kPicture ? 1 : 8
    for (int row = first; row < end; row += stride, from += stride * kRawPitch) {
      const uint2 four = read<kSource>(row, from);
      sum.x += four.x;
      sum.y += four.y;
    }
    return sum;
  }

  template <ColumnSource kSource>
  __device__ __forceinline__ void slide_from(int batch, int entering, int leaving,
                                             uint2& sum) const {
    constexpr int kSumPitch = Strip<kWide>::kSumPitch;
    const int leaves = batch * kStripBatch, enters = leaves + strip_.mask.height - 1;
    std::uint8_t* const to = strip_.sums(batch) + kStripColumnsAThread * word_;
    // So many rows are read before the first sum is written, to have loads in flight.
    constexpr int kRowsInFlight = kSource == ColumnSource::kWord ? 8 : 4;
#pragma unroll kSource == ColumnSource::kWord ? kStripBatch / kRowsInFlight : 1
    for (int r = 0; r < kStripBatch; r += kRowsInFlight) {
      uint2 enter[kRowsInFlight], leave[kRowsInFlight];
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i) {
        enter[i] = read<kSource>(enters + r + i, strip_.ring + entering + (r + i) * kRawPitch);
        leave[i] = read<kSource>(leaves + r + i, strip_.ring + leaving + (r + i) * kRawPitch);
      }
#pragma unroll
      for (int i = 0; i < kRowsInFlight; ++i) {
        sum.x += enter[i].x;
        sum.y += enter[i].y;
        if (active_) {
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
  bool active_;  ///< Some of the columns are the block's.
  int column_[kStripColumnsAThread];
  ColumnSource source_;
};

}  // namespace
}  // namespace convolve
