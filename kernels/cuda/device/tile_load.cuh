// SPDX-License-Identifier: LGPL-2.1-or-later
// Loading an input tile into shared memory, for kernels that filter from there.
//
// One load and one conversion for each cell would cost more than the arithmetic of a small mask. So
// four adjacent cells (a quad) that lie inside the picture are loaded as words: a thread issues all
// its loads before it uses the first, a byte becomes a float by one permutation and one addition,
// and a quad is stored at once. Ghost cells, and samples that are not adjacent, are loaded cell by
// cell.
#pragma once

#include <type_traits>

#include "kernels/cuda/device/kernel.cuh"
#include "kernels/cuda/device/overlap.cuh"

namespace convolve {
namespace {

/// Rounds up to whole quads of 16 bytes, on which rows begin: cells and weights have 4 bytes in the
/// arithmetics that matter.
__host__ __device__ constexpr int padded(int n) {
  return (n + 3) / 4 * 4;
}

/// The quads of a row are distributed in turn to kParts parts. A thread that filters 16 columns
/// begins kParts quads after its neighbour, so what both read at once lies side by side in one
/// part, in different banks.
constexpr int kParts = 4;

/// Cells of a part, for rows of `columns` cells.
__host__ __device__ constexpr int part_pitch(int columns) {
  return padded(padded(columns) / 4);
}

/// Offset of the cell in `column` from the start of its row; `part`: cells of a part.
__host__ __device__ constexpr int cell_offset(int column, int part) {
  // Shifts, as a signed division would take several instructions.
  return (column >> 2 & kParts - 1) * part + (column >> 4) * 4 + (column & 3);
}

/// Largest distance of rows at which all offsets within a tile fit 32 bits.
constexpr std::int64_t kFarthestPitch = 1 << 22;

/// The cells of the picture, and its ghost cells, that a tile has.
struct TileBox {
  int x0, y0;  ///< The first cell.
  int columns, rows;
  int quads;  ///< Quads of a row in shared memory, the same for all tiles of a launch.

  /// Cells of a part.
  __host__ __device__ int part() const { return part_pitch(4 * quads); }

  /// Cells from row to row.
  __host__ __device__ int pitch() const { return kParts * part(); }

  /// True if all rows lie in the picture, and so near to each other that offsets fit 32 bits.
  __device__ bool inside(const GroupArguments& group) const {
    return y0 >= 0 && y0 + rows <= group.height && group.src_pitch >= 0 &&
           group.src_pitch <= kFarthestPitch;
  }
};

/// Prefetches the rows of a tile to the L2 cache; a launch before this one may still write them
/// (prefetch_l2()). Each of kThreads threads takes single sectors: an instruction for whole rows
/// would be executed for one thread of a warp after the other.
template <int kThreads>
__device__ inline void prefetch_tile(const GroupArguments& group, const TileBox& box) {
  constexpr int kAcross = 8;
  const int thread = threadIdx.y * 32 + threadIdx.x;
  const int first = max(box.x0, 0), end = min(box.x0 + box.columns, group.width);
  if (first >= end || !box.inside(group)) return;
  const unsigned first_sector = static_cast<unsigned>(first * group.step) / kSectorBytes;
  const unsigned end_byte = static_cast<unsigned>(end * group.step);
#pragma unroll 1
  for (int r = thread / kAcross; r < box.rows; r += kThreads / kAcross) {
    const std::uint8_t* const row = group.src + (box.y0 + r) * group.src_pitch;
#pragma unroll 1
    for (unsigned byte = (first_sector + thread % kAcross) * kSectorBytes; byte < end_byte;
         byte += kAcross * kSectorBytes)
      prefetch_l2(row + byte);
  }
}

/// The columns of a tile that are loaded as quads, the same in every row. No word reaches beyond
/// the rows of the picture.
struct QuadSpan {
  int first = 0;         ///< First column in the tile, a multiple of four.
  int quads = 0;         ///< Number of quads from there on.
  int misalignment = 0;  ///< Bytes from the start of a word to the first cell.
  int start = 0;         ///< Offset of that word in the row of the picture, bytes.
};

/// Four adjacent samples as they lie in memory.
template <class Stored>
struct Quad {
  static constexpr int kWords = sizeof(Stored);
  static constexpr int kBytes = 4 * kWords;
  unsigned word[kWords + 1];  ///< One more, as the samples may begin inside a word.

  /// `from`: the word that has the first sample.
  __device__ void load(const std::uint8_t* from) {
#pragma unroll
    for (int w = 0; w <= kWords; ++w)
      word[w] = __ldg(reinterpret_cast<const unsigned*>(from) + w);
  }
};

/// Makes four cells of a quad. As a float an integer is put below the exponent of 2^23, from which
/// 2^23 and the black level are then subtracted.
template <class Cell, class Stored>
class QuadDecoder {
 public:
  __device__ QuadDecoder(const ChannelArguments& channel, int misalignment)
      : skip_(misalignment * 8), shift_(channel.layout.shift) {
    const unsigned code_bits = static_cast<unsigned>(channel.layout.max_code);
    mask_ = sizeof(Stored) == 1 ? (code_bits & 0xFFu) * 0x01010101u : code_bits * 0x00010001u;
    order_ = channel.layout.swap ? 0x2301 : 0x3210;
    bias_ = static_cast<Cell>((kFloat ? 1 << 23 : 0) + channel.black);
  }

  __device__ void store(const Quad<Stored>& quad, Cell* to) const {
    static_assert(sizeof(Cell) == 4);
    if constexpr (sizeof(Stored) == 1) {
      const unsigned codes = __funnelshift_r(quad.word[0], quad.word[1], skip_ + shift_) & mask_;
      *reinterpret_cast<int4*>(to) = make_int4(cell(codes, 0x7440), cell(codes, 0x7441),
                                               cell(codes, 0x7442), cell(codes, 0x7443));
    } else {
      const unsigned low = pair(quad.word[0], quad.word[1]);
      const unsigned high = pair(quad.word[1], quad.word[2]);
      *reinterpret_cast<int4*>(to) =
          make_int4(cell(low, 0x7410), cell(low, 0x7432), cell(high, 0x7410), cell(high, 0x7432));
    }
  }

 private:
  static constexpr bool kFloat = std::is_same_v<Cell, float>;

  __device__ unsigned pair(unsigned word, unsigned next) const {
    return __byte_perm(__funnelshift_r(word, next, skip_), 0, order_) >> shift_ & mask_;
  }

  /// The bits of the cell whose code `selector` selects.
  __device__ int cell(unsigned codes, unsigned selector) const {
    const unsigned bits = __byte_perm(codes, kFloat ? 0x4B000000u : 0u, selector);
    if constexpr (kFloat)
      return __float_as_int(__int_as_float(static_cast<int>(bits)) - bias_);
    else
      return static_cast<int>(bits) - bias_;
  }

  int skip_, shift_;
  unsigned mask_, order_;
  Cell bias_;
};

/// Loads tiles by blocks of 32 x kLines threads, kBatch quads of a thread in flight at once. The
/// memory of a tile must have at least kTileRows rows of at least 32 quads, and a multiple of
/// kLines rows.
template <int kLines, int kTileRows, int kBatch, class Cell, class Stored>
class TileLoader {
 public:
  /// `source_rows`: shared memory for box.rows pointers, which tiles at the border use.
  __device__ TileLoader(const GroupArguments& group, const ChannelArguments& channel,
                        const TileBox& box, const std::uint8_t** source_rows)
      : group_(group), channel_(channel), box_(box), rows_(source_rows) {
    const std::uintptr_t address =
        reinterpret_cast<std::uintptr_t>(group.src) + channel.offset + box.x0 * group.step;
    const int misalignment = static_cast<int>(address % 4);
    if (group.step == static_cast<int>(sizeof(Stored)) && group.src_pitch % 4 == 0) {
      span_ = {0, box.quads, misalignment, box.x0 * group.step - misalignment};
      // The words may reach four samples beyond the first and the last quad.
      if (box.x0 < 4 || box.x0 + 4 * box.quads + 4 > group.width) bound_span();
    }
    // Only Border::kZero has rows without signal.
    const bool zero = group.border == Border::kZero;
    first_row_ = zero ? max(0, -box.y0) : 0;
    end_row_ = zero ? min(box.rows, group.height - box.y0) : box.rows;
    inside_ = box.inside(group) && box.rows >= kTileRows;
  }

  /// Fills the tile. A barrier must follow before it is read.
  __device__ void load(Cell* tile) const {
    if (!inside_) {
      find_rows();
      __syncthreads();
    }
    if (span_.quads != 0) {
      if (inside_)
        load_quads<true>(tile);
      else
        load_quads<false>(tile);
    }
    if (span_.first != 0 || 4 * span_.quads < box_.columns) {
      if (span_.quads != 0) __syncthreads();  // load_quads() has written to the same cells.
      load_cells(tile);
    }
    if (first_row_ != 0 || end_row_ != box_.rows) clear_rows(tile);
  }

 private:
  static constexpr int kThreads = 32 * kLines;
  static constexpr int kGuaranteedBatch =
      kTileRows / kLines;  ///< Quads of a thread in rows that every tile has.

  /// Shrinks the span to the quads whose words lie in the picture.
  __device__ void bound_span() {
    // How many samples the words of the first quad reach to its left, and those of the last to its
    // right.
    const int before = span_.misalignment / static_cast<int>(sizeof(Stored));
    const int after = 4 / static_cast<int>(sizeof(Stored)) - before;
    const int first = padded(max(0, before - box_.x0));
    const int end = min(padded(box_.columns), group_.width - after - box_.x0);
    span_.first = first;
    span_.quads = end - first >= 4 ? (end - first) / 4 : 0;
    span_.start += first * group_.step;
  }

  static __device__ int thread() { return threadIdx.y * 32 + threadIdx.x; }

  /// Row `y` of the picture, from span_.start on.
  __device__ const std::uint8_t* picture_row(int y) const {
    return group_.src + sample_offset(group_, channel_, group_.src_pitch, 0, y) + span_.start;
  }

  /// Stores in rows_ the address of the row of the picture that each row of the tile is or repeats.
  __device__ void find_rows() const {
#pragma unroll 1
    for (int r = first_row_ + thread(); r < end_row_; r += kThreads)
      rows_[r - first_row_] = picture_row(border_index(group_.border, box_.y0 + r, group_.height));
  }

  /// Row `r`, counted from the first with a signal. Inside the picture its address is computed, not
  /// looked up.
  __device__ const std::uint8_t* row(int r) const {
    return inside_ ? picture_row(box_.y0 + r) : rows_[r];
  }

  /// Loads the span: the first 32 quads of a row by a warp, and the other quads of all rows, the
  /// halo, as one sequence, so that no thread idles. Each thread begins to load its first quad of
  /// the halo before it waits for any other.
  template <bool Inside>
  __device__ void load_quads(Cell* tile) const {
    const QuadDecoder<Cell, Stored> decoder(channel_, span_.misalignment);
    const std::uint8_t* const origin = Inside ? picture_row(box_.y0) : nullptr;
    const unsigned pitch = static_cast<unsigned>(group_.src_pitch);
    const auto row_at = [&](int r) {
      return Inside ? origin + static_cast<unsigned>(r) * pitch : rows_[r];
    };
    const int rows = end_row_ - first_row_;
    Cell* const first = tile + first_row_ * box_.pitch();
    const int more = box_.quads - 32;
    // Division by multiplication with the reciprocal: exact for products below 2^32.
    const unsigned reciprocal =
        more > 1 ? 0xFFFFFFFFu / static_cast<unsigned>(more) + 1 : 0xFFFFFFFFu;
    const auto halo_row = [&](int i) {
      return static_cast<int>(more > 1 ? __umulhi(static_cast<unsigned>(i), reciprocal) : i);
    };
    const auto load_halo = [&](int i) {
      const int r = halo_row(i);
      Quad<Stored> quad;
      quad.load(row_at(r) + quad_byte(i - r * more + 32));
      return quad;
    };
    const auto store_halo = [&](int i, const Quad<Stored>& quad) {
      const int r = halo_row(i);
      decoder.store(quad,
                    first + r * box_.pitch() + cell_offset(4 * (i - r * more + 32), box_.part()));
    };
    const int halo_quads = rows * more;
    Quad<Stored> halo;
    if (kBatch > 1 && thread() < halo_quads) halo = load_halo(thread());

    const int line = threadIdx.y;
    // Eight threads that store at once have adjacent quads of one part.
    const unsigned part = threadIdx.x / 8, within_part = threadIdx.x % 8;
    const unsigned byte = quad_byte(static_cast<int>(kParts * within_part + part));
    Cell* const first_cell = first + part * box_.part() + 4 * within_part;
    Cell* const to = first_cell + line * box_.pitch();
    int r = 0;
    if constexpr (Inside && kBatch > 1) {
      const auto exists = [&](int n) { return n < kGuaranteedBatch || n * kLines < rows; };
      const unsigned own = static_cast<unsigned>(line) * pitch + byte;
      Quad<Stored> quad[kBatch];
#pragma unroll
      for (int n = 0; n < kBatch; ++n)
        if (n < kGuaranteedBatch)
          quad[n].load(origin + (own + static_cast<unsigned>(n * kLines) * pitch));
        else if (exists(n))
          quad[n].load(row_at(min(line + n * kLines, rows - 1)) + byte);
#pragma unroll
      for (int n = 0; n < kBatch; ++n)
        if (exists(n)) decoder.store(quad[n], to + n * kLines * box_.pitch());
      r = kBatch * kLines;
    }
    constexpr int kSmallBatch = kBatch < 4 ? kBatch : 4;
#pragma unroll 1
    for (r += line; r < rows; r += kSmallBatch * kLines) {
      Quad<Stored> quad[kSmallBatch];
#pragma unroll
      for (int n = 0; n < kSmallBatch; ++n)
        if (r + n * kLines < rows) quad[n].load(row_at(r + n * kLines) + byte);
#pragma unroll
      for (int n = 0; n < kSmallBatch; ++n)
        if (r + n * kLines < rows)
          decoder.store(quad[n], first_cell + (r + n * kLines) * box_.pitch());
    }

    if (kBatch > 1 && thread() < halo_quads) store_halo(thread(), halo);
#pragma unroll 1
    for (int i = thread() + (kBatch > 1 ? kThreads : 0); i < halo_quads; i += kThreads)
      store_halo(i, load_halo(i));
  }

  /// Offset of the words of quad `q` of a row. Quads outside the span repeat its outermost quad, as
  /// that is cheaper than a branch; load_cells() overwrites them.
  __device__ unsigned quad_byte(int q) const {
    return static_cast<unsigned>(min(max(q - span_.first / 4, 0), span_.quads - 1)) *
           Quad<Stored>::kBytes;
  }

  /// Loads the columns outside the span, a warp for each row.
  __device__ void load_cells(Cell* tile) const {
    constexpr int kCells = kBatch < 5 ? kBatch : 5;
    const int lane = threadIdx.x, line = threadIdx.y;
    const int rows = end_row_ - first_row_;
    const int columns = box_.columns - min(box_.columns - span_.first, 4 * span_.quads);
#pragma unroll 1
    for (int i = lane; i < columns; i += 32) {
      const int c = i < span_.first ? i : i + 4 * span_.quads;
      const int x = border_index(group_.border, box_.x0 + c, group_.width);
      const int byte = x * group_.step - span_.start;
#pragma unroll 1
      for (int r = line; r < rows; r += kCells * kLines) {
        Stored stored[kCells];
#pragma unroll
        for (int n = 0; n < kCells; ++n)
          if (r + n * kLines < rows && x != kNoSignal)
            stored[n] = __ldg(reinterpret_cast<const Stored*>(row(r + n * kLines) + byte));
#pragma unroll
        for (int n = 0; n < kCells; ++n)
          if (r + n * kLines < rows)
            tile[(first_row_ + r + n * kLines) * box_.pitch() + cell_offset(c, box_.part())] =
                x == kNoSignal
                    ? Cell(0)
                    : static_cast<Cell>(decode_sample(stored[n], channel_.layout) - channel_.black);
      }
    }
  }

  __device__ void clear_rows(Cell* tile) const {
#pragma unroll 1
    for (int r = threadIdx.y; r < box_.rows; r += kLines)
      if (r < first_row_ || r >= end_row_)
#pragma unroll 1
        for (int c = threadIdx.x; c < box_.columns; c += 32)
          tile[r * box_.pitch() + cell_offset(c, box_.part())] = Cell(0);
  }

  const GroupArguments& group_;
  const ChannelArguments& channel_;
  const TileBox box_;
  const std::uint8_t** rows_;
  QuadSpan span_;
  int first_row_, end_row_;  ///< Rows with a signal.
  bool inside_;              ///< All rows lie in the picture, and there are at least kTileRows.
};

}  // namespace
}  // namespace convolve
