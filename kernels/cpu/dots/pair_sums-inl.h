// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums of products of pairs of 16 bits, where there is an instruction for these: a tile of them in
// registers.
//
// Samples lie in lines of 16 bits. A vector of them that begins at the sample of an output holds
// the pairs of taps of every other output from there on, and the vector one sample later those of
// the outputs between. Weights of up to 16 bits are whole in their pairs, so that weights of two
// digits of a byte take as long as those of one.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_PAIR_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_PAIR_SUMS_INL_H_
#undef CONVOLVE_PAIR_SUMS_INL_H_
#else
#define CONVOLVE_PAIR_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/weights/fast_fir.h"
#include "kernels/cpu/dots/dot_pairs.h"
#include "kernels/cpu/dots/dot_sums-inl.h"
#include "kernels/cpu/dots/pair_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if CONVOLVE_DOT_PAIRS

/// Vectors of sums in each of the kDotPairRows rows of a tile: with 16 registers its sums, the
/// weights of a pair of columns, the pairs of a line that are in use and a product fill them.
inline constexpr int kPairVectors = HWY_TARGET <= HWY_AVX3 ? kDotVectors : kDotVectors / 2;

/// Vectors 0 and 1 are those of even and odd outputs in the first half of a row of the tile, or in
/// all of it, and 2 and 3 those in the second.
using PairSums = hn::Vec<Words>[kDotPairRows][kPairVectors];

/// Weights of a pair of columns in some rows of the mask.
template <int kWeightRows>
using PairWeights = hn::Vec<Pairs>[kWeightRows];

/// Adds the products of line kLine and those after it to the rows of a tile. `lines` begin at the
/// samples of the first output, `at` is the first column of the pair, and `w` its weights in
/// kWeightRows rows of the mask, of which row r of the tile meets the first one in line r.
template <int kWeightRows, int kLine = 0, int kRows>
HWY_INLINE void add_column(const std::int16_t* const* lines, int at,
                           const PairWeights<kWeightRows>& w,
                           hn::Vec<Words> (&sum)[kRows][kPairVectors]) {
  constexpr int kFirst = kLine < kWeightRows ? 0 : kLine - kWeightRows + 1;
  constexpr int kEnd = kLine < kRows ? kLine + 1 : kRows;
  const std::int16_t* const cells = lines[kLine] + at;
  hn::Vec<Pairs> v[kPairVectors];
  HWY_UNROLL(4)
  for (int k = 0; k < kPairVectors; ++k)
    v[k] = load_pairs(cells + k / 2 * static_cast<int>(hn::Lanes(Pairs())) + k % 2);
  HWY_UNROLL(4)
  for (int r = kFirst; r < kEnd; ++r) {
    HWY_UNROLL(4)
    for (int k = 0; k < kPairVectors; ++k)
      sum[r][k] = add_pair_products(sum[r][k], v[k], w[kLine - r]);
  }
  if constexpr (kLine + 1 < kWeightRows + kRows - 1)
    add_column<kWeightRows, kLine + 1>(lines, at, w, sum);
}

/// Adds the products of pair `p` of columns. `lines` are as for add_column().
template <int kWeightRows, int kRows>
HWY_INLINE void add_columns(const std::int16_t* const* lines, int p, const std::int32_t* weights,
                            hn::Vec<Words> (&sum)[kRows][kPairVectors]) {
  PairWeights<kWeightRows> w;
  HWY_UNROLL(8)
  for (int i = 0; i < kWeightRows; ++i)
    w[i] = set_pairs(weights[p * kWeightRows + i]);
  add_column<kWeightRows>(lines, 2 * p, w, sum);
}

/// Adds the products of kWeightRows rows of the mask to a tile at column `x`. `lines` are those of
/// the first of these rows, `weights` those of so many rows (DotPairs::weights()). kPairs is their
/// number of pairs, or 0 if that is known at run time only.
template <int kWeightRows, int kPairs = 0, int kRows>
HWY_INLINE void add_rows(const std::uint8_t* const* lines, int x, const std::int32_t* weights,
                         int pairs, hn::Vec<Words> (&sum)[kRows][kPairVectors]) {
  const std::int16_t* first[kWeightRows + kRows - 1];
  HWY_UNROLL(8)
  for (int i = 0; i < kWeightRows + kRows - 1; ++i)
    first[i] = reinterpret_cast<const std::int16_t*>(lines[i]) + x;
  if constexpr (kPairs > 0) {
    HWY_UNROLL(4)
    for (int p = 0; p < kPairs; ++p)
      add_columns<kWeightRows>(first, p, weights, sum);
  } else {
    for (int p = 0; p < pairs; ++p)
      add_columns<kWeightRows>(first, p, weights, sum);
  }
}

/// Adds the products of the last rows of the mask, `rows` of them.
template <int kWeightRows, int kRows>
HWY_INLINE void add_last_rows(int rows, const std::uint8_t* const* lines, int x,
                              const std::int32_t* weights, int pairs,
                              hn::Vec<Words> (&sum)[kRows][kPairVectors]) {
  if (rows == kWeightRows) return add_rows<kWeightRows>(lines, x, weights, pairs, sum);
  if constexpr (kWeightRows > 1)
    add_last_rows<kWeightRows - 1>(rows, lines, x, weights, pairs, sum);
}

/// Adds the products of a part of the weights at column `x` of the lines to the sums of a tile, or
/// of fewer rows.
template <int kRows>
HWY_INLINE void add_part(const DotPairs& taps, int part, const std::uint8_t* const* lines, int x,
                         hn::Vec<Words> (&sum)[kRows][kPairVectors]) {
  const int height = taps.height(), pairs = taps.pairs();
  int row = 0;
  for (; row + kMostWeightRows <= height; row += kMostWeightRows)
    add_rows<kMostWeightRows>(lines + row, x, taps.weights(part, row), pairs, sum);
  add_last_rows<kMostWeightRows - 1>(height - row, lines + row, x, taps.weights(part, row), pairs,
                                     sum);
}

/// The same, but without loops for small masks: these would take as many instructions as their
/// products.
HWY_INLINE void add_any_part(const DotPairs& taps, int part, const std::uint8_t* const* lines,
                             int x, PairSums& sum) {
  const int height = taps.height(), pairs = taps.pairs();
  if (height == 3 && pairs == 2) return add_rows<3, 2>(lines, x, taps.weights(part, 0), pairs, sum);
  if (height == 5 && pairs == 3) return add_rows<5, 3>(lines, x, taps.weights(part, 0), pairs, sum);
  add_part(taps, part, lines, x, sum);
}

/// The tile of outputs of a byte, or of two if the weights are not wide. The interface of QuadTile.
template <class StoredSample>
struct PairTile {
  using Stored = StoredSample;
  using Sums = PairSums;
  static constexpr int kRows = kDotPairRows, kVectors = kPairVectors;

  /// Where a row has two vectors, those of the next one are the other two.
  static HWY_INLINE void store(const hn::Vec<Words> (&codes)[kDotVectors], const DotBlock& block,
                               int r, int x, int count) {
    const SampleLayout& layout = block.layout;
    std::uint8_t* const out = block.out[r] + x * static_cast<int>(sizeof(Stored));
    if constexpr (sizeof(Stored) == 1) {
      const auto packed = pack_even_and_odd(codes);
      if constexpr (kVectors == kDotVectors) return store_codes(Bytes(), packed, count, out);
      const hn::Half<Bytes> d;
      store_codes(d, hn::LowerHalf(d, packed), count, out);
      if (r + 1 < block.rows) store_codes(d, hn::UpperHalf(d, packed), count, block.out[r + 1] + x);
    } else {
      const auto first = pack_wide_even_and_odd(codes[0], codes[1]);
      const auto second = pack_wide_even_and_odd(codes[2], codes[3]);
      if constexpr (kVectors == kDotVectors)
        return store_wide_pairs(first, second, layout, count, out);
      store_wide_pairs(first, layout, count, out);
      if (r + 1 < block.rows) store_wide_pairs(second, layout, count, block.out[r + 1] + 2 * x);
    }
  }

  static std::int32_t start_of(const DotTaps& taps, SampleLayout layout) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(line_offset(layout.max_code)) *
                                     static_cast<std::uint32_t>(taps.sum()));
  }

  /// The sums of a tile at column `x` from part `highest` of the weights down to part `lowest`,
  /// which the result counts.
  static HWY_INLINE void sum_parts(const DotPairs& taps, int highest, int lowest,
                                   const DotBlock& block, int x, std::int32_t start,
                                   PairSums& sum) {
    const Words d;
    const auto first_start = hn::Set(d, highest == lowest ? start : 0);
    HWY_UNROLL(8)
    for (int r = 0; r < kDotPairRows; ++r) {
      HWY_UNROLL(4)
      for (int k = 0; k < kPairVectors; ++k)
        sum[r][k] = first_start;
    }
    for (int part = highest; part > lowest; --part) {
      add_any_part(taps, part, block.lines, x, sum);
      const auto next_start = hn::Set(d, part == lowest + 1 ? start : 0);
      HWY_UNROLL(8)
      for (int r = 0; r < kDotPairRows; ++r) {
        HWY_UNROLL(4)
        for (int k = 0; k < kPairVectors; ++k)
          sum[r][k] = hn::Add(hn::ShiftLeft<8>(sum[r][k]), next_start);
      }
    }
    add_any_part(taps, lowest, block.lines, x, sum);
  }

  static HWY_INLINE void sum_all(const DotTaps& taps, const DotBlock& block, int x,
                                 std::int32_t start, PairSums& sum) {
    sum_parts(taps.pairs(), taps.pairs().parts() - 1, 0, block, x, start, sum);
  }

  static HWY_NOINLINE void store_parts(const DotPairs& taps, int highest, int lowest,
                                       const DotBlock& block, int x, std::int32_t start,
                                       PairSums& stored) {
    PairSums sum;
    sum_parts(taps, highest, lowest, block, x, start, sum);
    copy_sums(sum, stored);
  }

  /// The sums that count 256 and those that count 1, in memory. Of weights of one part the latter
  /// are all of the sum but wide_start_of().
  static HWY_INLINE void store_wide(const DotTaps& taps, const DotBlock& block, int x,
                                    PairSums& high, PairSums& low) {
    const int parts = taps.pairs().parts();
    if (parts == 1) {
      const auto start = static_cast<std::int32_t>(-kHalfOfByteCodes * taps.sum());
      store_parts(taps.pairs(), 0, 0, block, x, start, low);
      for (auto& row : high)
        for (auto& sums : row)
          sums = hn::Zero(Words());
      return;
    }
    store_parts(taps.pairs(), parts - 1, 1, block, x, 0, high);
    store_parts(taps.pairs(), 0, 0, block, x, 0, low);
  }

  /// Sums of one part are of bytes less kHalfOfByteCodes, so that they fit 32 bits. A double takes
  /// this number, by which they are too small.
  static double wide_start_of(const DotTaps& taps) {
    return taps.pairs().parts() == 1 ? kHalfOfByteCodes * static_cast<double>(taps.sum()) : 0;
  }

  /// A step makes one tile, and reads the cells of its last outputs' last pairs.
  static Stride stride(const DotTaps& taps) {
    const int step = kVectors * static_cast<int>(hn::Lanes(Words()));
    return {step, step + 2 * taps.pairs().pairs()};
  }
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
