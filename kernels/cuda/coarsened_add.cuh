// SPDX-License-Identifier: LGPL-2.1-or-later
// The multiply-adds of kernel `coarsened`: what the rows of a tile and of the mask contribute to a
// thread's register tile.
#pragma once

#include "kernels/cuda/coarsened_tile.cuh"

namespace convolve {
namespace {

/// Adds what Taps adjacent weights of each mask row in sight contribute to the thread's outputs,
/// four by four. `cells`: a row of them, from the column of the first weight. weight_of(t) are the
/// weights by which output row t sees it; it does if sees(t).
template <int Taps, bool Aligned, class A, class Sees, class WeightOf>
__device__ __forceinline__ void add_row(typename A::Sum (&sum)[kRows][kColumns],
                                        const typename A::Cell* cells, Sees&& sees,
                                        WeightOf&& weight_of) {
  // Padded to whole wide reads; what they read too much lies in the row's padding.
  constexpr int kWindow = Aligned ? padded(kFour + Taps - 1) : kFour + Taps - 1;
#pragma unroll
  for (int four = 0; four < kFours; ++four) {
    typename A::Cell window[kWindow];
    read_row<Aligned>(cells + four * kNextFour, window);
    // Made wide once for all rows: conversions are slower than what they are for.
    constexpr bool kDouble = std::is_same_v<typename A::Sum, double>;
    std::conditional_t<kDouble, double, typename A::Cell> value[kWindow];
#pragma unroll
    for (int i = 0; i < kWindow; ++i)
      value[i] = window[i];
#pragma unroll
    for (int t = 0; t < kRows; ++t) {
      if (!sees(t)) continue;
      const typename A::Weight* weight = weight_of(t);
#pragma unroll
      for (int k = 0; k < Taps; ++k)
#pragma unroll
        for (int x = 0; x < kFour; ++x) {
          typename A::Sum& to = sum[t][four * kFour + x];
          if constexpr (kDouble)
            to = fma(weight[k], value[k + x], to);
          else
            A::mac(to, weight[k], value[k + x]);
        }
    }
  }
}

/// Adds what Taps adjacent columns of `rows` mask rows contribute. `cells`: the thread's first row,
/// from the column of the first weight. The weights, `pitch` from row to row, lie in constant
/// memory and are the same for all threads, so that they wait in uniform registers: those of the
/// kRows mask rows that see one row of cells at once take none of the threads' own, and each comes
/// once. The loop is written out kRows times, as the mask rows then keep their registers. With four
/// rows instead of two code would be twice as long, and miss the instruction cache from 9 columns
/// on.
template <int Taps, class A>
__device__ __forceinline__ void add_columns(typename A::Sum (&sum)[kRows][kColumns],
                                            const typename A::Cell* cells, int cell_pitch,
                                            const typename A::Weight* weights, int pitch,
                                            int rows) {
  static_assert(kRows == 2);
  typename A::Weight even[Taps];
  typename A::Weight odd[Taps];
  const auto add = [&](auto& upper, auto& lower, auto sees) {
    add_row<Taps, true, A>(sum, cells, sees, [&](int t) { return t == 0 ? upper : lower; });
    cells += cell_pitch;
  };
  const auto both = [](int) { return true; };
  // Output row t sees row r of the cells under mask row r - t.
  read_row<false>(weights, even);
  add(even, even, [](int t) { return t == 0; });
#pragma unroll 1
  for (int row = 1; row < rows; ++row) {
    read_row<false>(weights + row * pitch, odd);
    add(odd, even, both);
    if (++row >= rows) break;
    read_row<false>(weights + row * pitch, even);
    add(even, odd, both);
  }
  read_row<false>(weights + (rows - 1) * pitch, odd);
  add(odd, odd, [](int t) { return t == 1; });
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
                                             const typename A::Cell* cells, int cell_pitch,
                                             const typename A::Weight* weights, int, int rows) {
    constexpr int kFirst = Width > 12 ? kChunk : 0;
    if constexpr (kFirst != 0) add_columns<kFirst, A>(sum, cells, cell_pitch, weights, Width, rows);
    add_columns<Width - kFirst, A>(sum, cells + kFirst, cell_pitch, weights + kFirst, Width, rows);
  }
};

/// Masks of kChunk * n + Rest columns, from constant memory.
template <int Rest>
struct Wide {
  static constexpr bool kStaged = false;
  static constexpr bool kSegments = true;

  static __host__ __device__ int columns(int mask_width) { return mask_width; }

  template <class A>
  static __device__ __forceinline__ void add(typename A::Sum (&sum)[kRows][kColumns],
                                             const typename A::Cell* cells, int cell_pitch,
                                             const typename A::Weight* weights, int columns,
                                             int rows) {
    int k = 0;
#pragma unroll 1
    for (; k + kChunk + Rest <= columns; k += kChunk)
      add_columns<kChunk, A>(sum, cells + k, cell_pitch, weights + k, columns, rows);
    constexpr int kFirst = Rest > kChunk ? 4 : 0;
    if constexpr (kFirst != 0)
      add_columns<kFirst, A>(sum, cells + k, cell_pitch, weights + k, columns, rows);
    k += kFirst;
    add_columns<Rest - kFirst, A>(sum, cells + k, cell_pitch, weights + k, columns, rows);
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
                                             const typename A::Cell* cells, int cell_pitch,
                                             const typename A::Weight* weights, int columns,
                                             int rows) {
#pragma unroll 1
    for (int r = 0; r < rows + kRows - 1; ++r, cells += cell_pitch) {
      const auto add_taps = [&](int k, auto taps) {
        constexpr int kTaps = decltype(taps)::value;
        constexpr bool kAligned = Taps % 4 == 0;
        const auto sees = [&](int t) { return t <= r && r - t < rows; };
        typename A::Weight weight[kRows][kTaps];
#pragma unroll
        for (int t = 0; t < kRows; ++t)
          if (sees(t)) read_row<Padded>(weights + (r - t) * columns + k, weight[t]);
        add_row<kTaps, kAligned, A>(sum, cells + k, sees, [&](int t) { return weight[t]; });
      };
      int k = 0;
#pragma unroll 1
      for (; k + Taps <= columns; k += Taps)
        add_taps(k, std::integral_constant<int, Taps>{});
      if constexpr (!Padded && Taps > 1) {
        static_assert(Taps == 4);
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
