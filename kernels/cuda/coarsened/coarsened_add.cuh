// SPDX-License-Identifier: LGPL-2.1-or-later
// The multiply-adds of kernel `coarsened`: what the rows of a tile and of the mask contribute to a
// thread's register tile.
#pragma once

#include "kernels/cuda/coarsened/coarsened_tile.cuh"

namespace convolve {
namespace {

/// Adds what Taps adjacent weights of each mask row in sight contribute to the thread's outputs.
/// read(i, four) reads the i-th four cells of their row, from the column of the first weight on.
/// weight_of(t) are the weights by which output row t sees it; it does if sees(t). Cells come and
/// go four by four, so that none of them occupies a register for long.
template <int Taps, class A, class Read, class Sees, class WeightOf>
__device__ __forceinline__ void add_row(typename A::Sum (&sum)[kRows][kColumns], Read&& read,
                                        Sees&& sees, WeightOf&& weight_of) {
  using Cell = typename A::Cell;
  // Cells are made wide once for both rows: conversions are slower than what they are for.
  using Value = std::conditional_t<std::is_same_v<typename A::Sum, double>, double, Cell>;
#pragma unroll
  for (int quad = 0; quad * kFour < kColumns + Taps - 1; ++quad) {
    Cell cell[kFour];
    read(quad, cell);
#pragma unroll
    for (int c = 0; c < kFour; ++c) {
      const Value value = cell[c];
#pragma unroll
      for (int t = 0; t < kRows; ++t) {
        if (!sees(t)) continue;
        const typename A::Weight* weight = weight_of(t);
#pragma unroll
        for (int k = 0; k < Taps; ++k) {
          const int x = quad * kFour + c - k;
          if (x < 0 || x >= kColumns) continue;
          if constexpr (std::is_same_v<Value, double>)
            sum[t][x] = fma(weight[k], value, sum[t][x]);
          else
            A::mac(sum[t][x], weight[k], value);
        }
      }
    }
  }
}

/// Reads Taps weights from constant memory, two by two but for the first if it is Odd: then the one
/// before it starts on 8 bytes.
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

/// Adds what Taps adjacent columns of `rows` mask rows contribute. `cells`: the thread's first row,
/// from the column of the first weight. The weights, `pitch` from row to row (an odd number if Odd,
/// from 8 bytes on), lie in constant memory and are the same for all threads, so that they wait in
/// uniform registers: those of the kRows mask rows that see one row of cells at once take none of
/// the threads' own, and each comes once. The loop is written out kRows times, as the mask rows
/// then keep their registers. With four rows instead of two code would be twice as long, and miss
/// the instruction cache from 9 columns on. A row's first cells come with the row before: small
/// pictures, with few blocks, would wait for them.
template <int Taps, bool Odd, class A>
__device__ __forceinline__ void add_columns(typename A::Sum (&sum)[kRows][kColumns],
                                            Cells<typename A::Cell> cells,
                                            const typename A::Weight* weights, int pitch,
                                            int rows) {
  static_assert(kRows == 2);
  typename A::Weight even[Taps];
  typename A::Weight odd[Taps];
  constexpr int kLast = (kColumns + Taps - 2) / kFour;
  typename A::Cell ahead[kFour];
  const auto add = [&](auto& upper, auto& lower, auto sees, auto more) {
    const auto read = [&](int quad, auto& cell) {
      if (quad == 0) {
#pragma unroll
        for (int i = 0; i < kFour; ++i)
          cell[i] = ahead[i];
      } else {
        read_row<true>(cells.quad(quad), cell);
      }
      if (quad == kLast) {
        cells.step();
        if constexpr (decltype(more)::value) read_row<true>(cells.quad(0), ahead);
      }
    };
    add_row<Taps, A>(sum, read, sees, [&](int t) { return t == 0 ? upper : lower; });
  };
  constexpr std::true_type kMore;
  read_row<true>(cells.quad(0), ahead);
  const auto both = [](int) { return true; };
  // Output row t sees row r of the cells under mask row r - t.
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

// The ways through a mask. kStaged: its weights lie in shared memory, in rows of `columns`, so that
// it need not have a place in constant memory. kSegments: serves masks in several segments.

/// Masks of Width columns, from constant memory: beyond 12 in two parts, as code would be longer
/// than the instruction cache likes.
constexpr int kChunk = 8;
template <int Width>
struct Narrow {
  static constexpr bool kStaged = false;
  static constexpr bool kSegments = false;

  static __host__ __device__ int columns(int) { return Width; }

  template <class A>
  static __device__ __forceinline__ void add(typename A::Sum (&sum)[kRows][kColumns],
                                             Cells<typename A::Cell> cells,
                                             const typename A::Weight* weights, int, int rows) {
    constexpr bool kOdd = Width % 2 != 0;
    if constexpr (Width > 12) {
      add_columns<kChunk, kOdd, A>(sum, cells, weights, Width, rows);
      add_columns<Width - kChunk, kOdd, A>(sum, cells.next(), weights + kChunk, Width, rows);
    } else {
      add_columns<Width, kOdd, A>(sum, cells, weights, Width, rows);
    }
  }
};

/// Masks of any width from constant memory, kChunk columns at a time and then the one to eight that
/// are left. One kernel for all of them: a kernel for each remainder would contain the chunk again,
/// and takes the compiler eight times as long.
struct Chunked {
  static constexpr bool kStaged = false;
  static constexpr bool kSegments = true;

  static __host__ __device__ int columns(int mask_width) { return mask_width; }

  template <class A>
  static __device__ __forceinline__ void add(typename A::Sum (&sum)[kRows][kColumns],
                                             Cells<typename A::Cell> cells,
                                             const typename A::Weight* weights, int columns,
                                             int rows) {
    if (columns % 2 != 0)
      add_chunks<A, true>(sum, cells, weights, columns, rows);
    else
      add_chunks<A, false>(sum, cells, weights, columns, rows);
  }

 private:
  template <class A, bool kOdd>
  static __device__ __forceinline__ void add_chunks(typename A::Sum (&sum)[kRows][kColumns],
                                                    Cells<typename A::Cell> cells,
                                                    const typename A::Weight* weights, int columns,
                                                    int rows) {
    int left = columns;
#pragma unroll 1
    for (; left > kChunk; left -= kChunk, weights += kChunk, cells = cells.next())
      add_columns<kChunk, kOdd, A>(sum, cells, weights, columns, rows);
    // As chunks are even, the remainder is odd where the width is.
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

/// All other masks, Taps weights at a time: wider sums, rows for several tiles of a narrow mask, or
/// no place in constant memory. If Padded, weights of zero fill rows to whole Taps; else the one to
/// three that are left come together.
template <int Taps, bool Padded>
struct AnyMask {
  static constexpr bool kStaged = true;
  static constexpr bool kSegments = true;

  static __host__ __device__ int columns(int mask_width) {
    return Padded ? (mask_width + Taps - 1) / Taps * Taps : mask_width;
  }

  template <class A>
  static __device__ __forceinline__ void add(typename A::Sum (&sum)[kRows][kColumns],
                                             Cells<typename A::Cell> cells,
                                             const typename A::Weight* weights, int columns,
                                             int rows) {
#pragma unroll 1
    for (int r = 0; r < rows + kRows - 1; ++r, cells.step()) {
      const auto add_taps = [&](int k, auto taps) {
        constexpr int kTaps = decltype(taps)::value;
        const auto sees = [&](int t) { return t <= r && r - t < rows; };
        typename A::Weight weight[kRows][kTaps];
#pragma unroll
        for (int t = 0; t < kRows; ++t)
          if (sees(t)) read_row<Padded>(weights + (r - t) * columns + k, weight[t]);
        const auto read = [&](int quad, auto& cell) {
          const int column = k + kFour * quad;
          if constexpr (Taps % kFour == 0) {
            read_row<true>(cells.at(column), cell);
          } else {
#pragma unroll
            for (int i = 0; i < kFour; ++i)
              cell[i] = *cells.at(column + i);
          }
        };
        add_row<kTaps, A>(sum, read, sees, [&](int t) { return weight[t]; });
      };
      int k = 0;
#pragma unroll 1
      for (; k + Taps <= columns; k += Taps)
        add_taps(k, std::integral_constant<int, Taps>{});
      if constexpr (!Padded && Taps > 1) {
        static_assert(Taps == kFour);
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
