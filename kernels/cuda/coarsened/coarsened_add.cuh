// SPDX-License-Identifier: LGPL-2.1-or-later
// The multiply-adds of kernel `coarsened`: the contribution of rows of the tile and of the mask to
// the register tile of a thread.
#pragma once

#include "kernels/cuda/coarsened/coarsened_tile.cuh"

namespace convolve {
namespace {

/// Adds the contribution of Taps adjacent weights of the mask rows that cover one row of cells.
/// read(i, quad) reads the i-th quad of the row, from the column of the first weight on.
/// weight_of(t) are the weights of the mask row that output row t multiplies it with; covers(t):
/// there is one. Cells are read quad by quad, so that none of them occupies a register for long.
template <int Taps, class A, class Read, class Covers, class WeightOf>
__device__ __forceinline__ void add_row(typename A::Sum (&sum)[kThreadRows][kThreadColumns],
                                        Read&& read, Covers&& covers, WeightOf&& weight_of) {
  using Cell = typename A::Cell;
  // A cell is converted to double once for both rows: conversions are slower than multiply-adds.
  using Value = std::conditional_t<std::is_same_v<typename A::Sum, double>, double, Cell>;
#pragma unroll
  for (int quad = 0; quad * kQuad < kThreadColumns + Taps - 1; ++quad) {
    Cell cell[kQuad];
    read(quad, cell);
#pragma unroll
    for (int c = 0; c < kQuad; ++c) {
      const Value value = cell[c];
#pragma unroll
      for (int t = 0; t < kThreadRows; ++t) {
        if (!covers(t)) continue;
        const typename A::Weight* weight = weight_of(t);
#pragma unroll
        for (int k = 0; k < Taps; ++k) {
          const int x = quad * kQuad + c - k;
          if (x < 0 || x >= kThreadColumns) continue;
          if constexpr (std::is_same_v<Value, double>)
            sum[t][x] = fma(weight[k], value, sum[t][x]);
          else
            A::mac(sum[t][x], weight[k], value);
        }
      }
    }
  }
}

/// Reads Taps weights from constant memory in pairs. If Odd, the first one is read alone, as then
/// the second one begins on 8 bytes.
template <bool Odd, int Taps, class Weight>
__device__ __forceinline__ void read_weights(const Weight* from, Weight (&to)[Taps]) {
  static_assert(sizeof(Weight) == 4);
  if constexpr (Odd) to[0] = from[0];
#pragma unroll
  for (int k = Odd; k < Taps; k += 2) {
    if (k + 1 < Taps) {
      const auto two = *reinterpret_cast<const long long*>(from + k);
      const int low = static_cast<int>(two), high = static_cast<int>(two >> 32);
      if constexpr (std::is_same_v<Weight, float>) {
        to[k] = __int_as_float(low);
        to[k + 1] = __int_as_float(high);
      } else {
        to[k] = low;
        to[k + 1] = high;
      }
    } else {
      to[k] = from[k];
    }
  }
}

/// Adds the contribution of Taps adjacent columns of `rows` mask rows. `cells`: the thread's first
/// row, from the column of the first weight. `weights`: in constant memory from 8 bytes on, `pitch`
/// weights from row to row, an odd number if Odd.
///
/// The weights are the same for all threads, so that they are kept in uniform registers: those of
/// the kThreadRows mask rows in use take none of a thread's own registers, and each weight is read
/// once. The loop is unrolled kThreadRows times, so that each mask row keeps its registers. With
/// four output rows the code would be twice as long and miss the instruction cache from 9 columns
/// on. The first cells of a row are read during the row before: small pictures, with few blocks,
/// would wait for them.
template <int Taps, bool Odd, class A>
__device__ __forceinline__ void add_columns(typename A::Sum (&sum)[kThreadRows][kThreadColumns],
                                            Cells<typename A::Cell> cells,
                                            const typename A::Weight* weights, int pitch,
                                            int rows) {
  static_assert(kThreadRows == 2);
  typename A::Weight even[Taps];
  typename A::Weight odd[Taps];
  constexpr int kLast = (kThreadColumns + Taps - 2) / kQuad;
  typename A::Cell ahead[kQuad];
  const auto add = [&](auto& upper, auto& lower, auto covers, auto more) {
    const auto read = [&](int quad, auto& cell) {
      if (quad == 0) {
#pragma unroll
        for (int i = 0; i < kQuad; ++i)
          cell[i] = ahead[i];
      } else {
        read_row<true>(cells.quad(quad), cell);
      }
      if (quad == kLast) {
        cells.next_row();
        if constexpr (decltype(more)::value) read_row<true>(cells.quad(0), ahead);
      }
    };
    add_row<Taps, A>(sum, read, covers, [&](int t) { return t == 0 ? upper : lower; });
  };
  constexpr std::true_type kMore;
  read_row<true>(cells.quad(0), ahead);
  const auto both = [](int) { return true; };
  // Output row t multiplies row r of the cells with mask row r - t.
  read_weights<false>(weights, even);
  add(
      even, even, [](int t) { return t == 0; }, kMore);
#pragma unroll 1
  for (int row = 1; row < rows; ++row) {
    read_weights<Odd>(weights + row * pitch, odd);
    add(odd, even, both, kMore);
    if (++row >= rows) break;
    read_weights<false>(weights + row * pitch, even);
    add(even, odd, both, kMore);
  }
  read_row<false>(weights + (rows - 1) * pitch, odd);
  add(
      odd, odd, [](int t) { return t == 1; }, std::false_type{});
}

// The policies of coarsened_kernel(), each a way to loop over a mask. kSharedWeights: the weights
// lie in shared memory, in rows of `columns`, so that the mask need not fit constant memory.
// kSegments: the policy serves masks in several segments.

/// Mask columns that add_columns() takes at once where a mask has more than 12: longer code would
/// miss the instruction cache.
constexpr int kColumnBlock = 8;
/// Masks of Width columns, from constant memory; those of more than 12 in two blocks of columns.
template <int Width>
struct Narrow {
  static constexpr bool kSharedWeights = false;
  static constexpr bool kSegments = false;

  static __host__ __device__ int columns(int) { return Width; }

  template <class A>
  static __device__ __forceinline__ void add(typename A::Sum (&sum)[kThreadRows][kThreadColumns],
                                             Cells<typename A::Cell> cells,
                                             const typename A::Weight* weights, int, int rows) {
    constexpr bool kOdd = Width % 2 != 0;
    if constexpr (Width > 12) {
      add_columns<kColumnBlock, kOdd, A>(sum, cells, weights, Width, rows);
      add_columns<Width - kColumnBlock, kOdd, A>(sum, cells.next_columns(), weights + kColumnBlock,
                                                 Width, rows);
    } else {
      add_columns<Width, kOdd, A>(sum, cells, weights, Width, rows);
    }
  }
};

/// Masks of any width from constant memory, kColumnBlock columns at a time and then the one to
/// eight that remain. One kernel serves all widths: a kernel for each remainder would contain the
/// code of a block again, and take the compiler eight times as long.
struct ColumnBlocks {
  static constexpr bool kSharedWeights = false;
  static constexpr bool kSegments = true;

  static __host__ __device__ int columns(int mask_width) { return mask_width; }

  template <class A>
  static __device__ __forceinline__ void add(typename A::Sum (&sum)[kThreadRows][kThreadColumns],
                                             Cells<typename A::Cell> cells,
                                             const typename A::Weight* weights, int columns,
                                             int rows) {
    if (columns % 2 != 0)
      add_blocks<A, true>(sum, cells, weights, columns, rows);
    else
      add_blocks<A, false>(sum, cells, weights, columns, rows);
  }

 private:
  template <class A, bool kOdd>
  static __device__ __forceinline__ void add_blocks(
      typename A::Sum (&sum)[kThreadRows][kThreadColumns], Cells<typename A::Cell> cells,
      const typename A::Weight* weights, int columns, int rows) {
    int left = columns;
#pragma unroll 1
    for (; left > kColumnBlock;
         left -= kColumnBlock, weights += kColumnBlock, cells = cells.next_columns())
      add_columns<kColumnBlock, kOdd, A>(sum, cells, weights, columns, rows);
    // Blocks are even, so the remainder is odd where the width is.
    constexpr int kFirst = kOdd ? 1 : 2;
    if (left == kFirst)
      add_columns<kFirst, kOdd, A>(sum, cells, weights, columns, rows);
    else if (left == kFirst + 2)
      add_columns<kFirst + 2, kOdd, A>(sum, cells, weights, columns, rows);
    else if (left == kFirst + 4)
      add_columns<kFirst + 4, kOdd, A>(sum, cells, weights, columns, rows);
    else
      add_columns<kFirst + 6, kOdd, A>(sum, cells, weights, columns, rows);
  }
};

/// All other masks, Taps weights at a time: wider sums, narrow masks in several segments, and masks
/// that do not fit constant memory. If Padded, weights of zero pad rows to a multiple of Taps;
/// otherwise the remaining one to three weights are added together.
template <int Taps, bool Padded>
struct AnyMask {
  static constexpr bool kSharedWeights = true;
  static constexpr bool kSegments = true;

  static __host__ __device__ int columns(int mask_width) {
    return Padded ? (mask_width + Taps - 1) / Taps * Taps : mask_width;
  }

  template <class A>
  static __device__ __forceinline__ void add(typename A::Sum (&sum)[kThreadRows][kThreadColumns],
                                             Cells<typename A::Cell> cells,
                                             const typename A::Weight* weights, int columns,
                                             int rows) {
#pragma unroll 1
    for (int r = 0; r < rows + kThreadRows - 1; ++r, cells.next_row()) {
      const auto add_taps = [&](int k, auto taps) {
        constexpr int kTaps = decltype(taps)::value;
        const auto covers = [&](int t) { return t <= r && r - t < rows; };
        typename A::Weight weight[kThreadRows][kTaps];
#pragma unroll
        for (int t = 0; t < kThreadRows; ++t)
          if (covers(t)) read_row<Padded>(weights + (r - t) * columns + k, weight[t]);
        const auto read = [&](int quad, auto& cell) {
          const int column = k + kQuad * quad;
          if constexpr (Taps % kQuad == 0) {
            read_row<true>(cells.at(column), cell);
          } else {
#pragma unroll
            for (int i = 0; i < kQuad; ++i)
              cell[i] = *cells.at(column + i);
          }
        };
        add_row<kTaps, A>(sum, read, covers, [&](int t) { return weight[t]; });
      };
      int k = 0;
#pragma unroll 1
      for (; k + Taps <= columns; k += Taps)
        add_taps(k, std::integral_constant<int, Taps>{});
      if constexpr (!Padded && Taps > 1) {
        static_assert(Taps == kQuad);
        const int left = columns - k;
        if (left == 1)
          add_taps(k, std::integral_constant<int, 1>{});
        else if (left == 2)
          add_taps(k, std::integral_constant<int, 2>{});
        else if (left == 3)
          add_taps(k, std::integral_constant<int, 3>{});
      }
    }
  }
};

}  // namespace
}  // namespace convolve
