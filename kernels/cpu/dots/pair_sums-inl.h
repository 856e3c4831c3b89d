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

#include "kernels/cpu/dots/dot_pairs.h"
#include "kernels/cpu/dots/dot_sums-inl.h"
#include "kernels/cpu/dots/pair_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if CONVOLVE_DOT_PAIRS

/// Output rows of a tile: with 16 registers its sums, the pairs of a line that are in use, a weight
/// and a product fill them.
inline constexpr int kDotPairRows = CONVOLVE_DOT_INSTRUCTION ? 6 : HWY_TARGET <= HWY_AVX3 ? 4 : 2;
static_assert(kDotPairRows <= kMostDotPairRows, "the weights are laid out for fewer rows");

/// Vectors 0 and 1 are those of even and odd outputs in the first half of a row of the tile, 2 and
/// 3 in the second.
using PairSums = hn::Vec<Words>[kDotPairRows][kDotVectors];

/// Pairs from `at` on. Half of all loads of 32 bytes lie in two lines of the cache, so that one for
/// each product would take longer than the products: hence the assembler's word, which the compiler
/// cannot load again.
HWY_INLINE hn::Vec<Pairs> load_pairs(const std::int16_t* at) {
  auto pairs = hn::LoadU(Pairs(), at);
#if HWY_TARGET <= HWY_AVX2
  asm("" : "+v"(pairs.raw));
#endif
  return pairs;
}

/// Adds the products of one pair of taps, whose samples for the first output begin at `at`, to rows
/// kFirst .. kEnd - 1 of a tile. `weights` are those of all its rows.
template <int kFirst, int kEnd>
HWY_INLINE void add_pair(const std::int16_t* at, const std::int32_t* weights, PairSums& sum) {
  const std::size_t half = hn::Lanes(Pairs());
  const auto v0 = load_pairs(at), v1 = load_pairs(at + 1);
  const auto v2 = load_pairs(at + half), v3 = load_pairs(at + half + 1);
  HWY_UNROLL(8)
  for (int r = kFirst; r < kEnd; ++r) {
    const auto w = set_pairs(weights[r]);
    sum[r][0] = add_pair_products(sum[r][0], v0, w);
    sum[r][1] = add_pair_products(sum[r][1], v1, w);
    sum[r][2] = add_pair_products(sum[r][2], v2, w);
    sum[r][3] = add_pair_products(sum[r][3], v3, w);
  }
}

/// Adds the line that begins at `cells` to rows kFirst .. kEnd - 1 of a tile. `weights` are those
/// of its first pair.
template <int kFirst, int kEnd>
HWY_INLINE void add_pairs(const std::int16_t* cells, const std::int32_t* weights, int pairs,
                          PairSums& sum) {
  for (int p = 0; p < pairs; ++p)
    add_pair<kFirst, kEnd>(cells + 2 * p, weights + p * kMostDotPairRows, sum);
}

/// Rows `first` .. `end` - 1 of a tile as one number.
constexpr int pair_rows_key(int first, int end) {
  return first * (kDotPairRows + 1) + end;
}

/// Adds the line that begins at `cells` to the rows that `key` stands for. Lists every case, so
/// that no register is addressed by a number known at run time only.
template <int kFirst, int kEnd>
HWY_INLINE void add_pairs_to(int key, const std::int16_t* cells, const std::int32_t* weights,
                             int pairs, PairSums& sum) {
  if (key == pair_rows_key(kFirst, kEnd))
    return add_pairs<kFirst, kEnd>(cells, weights, pairs, sum);
  if constexpr (kEnd - 1 > kFirst)
    return add_pairs_to<kFirst, kEnd - 1>(key, cells, weights, pairs, sum);
  else if constexpr (kFirst + 1 < kDotPairRows)
    return add_pairs_to<kFirst + 1, kDotPairRows>(key, cells, weights, pairs, sum);
}

/// Adds the lines of a mask of kHeight rows and kPairs pairs, from line kLine on, without a loop:
/// those of a small mask would take as many instructions as its products.
template <int kHeight, int kPairs, int kLine = 0>
HWY_INLINE void add_pair_lines(const std::uint8_t* const* lines, int x, const std::int32_t* weights,
                               PairSums& sum) {
  constexpr int kFirst = kLine < kHeight ? 0 : kLine - kHeight + 1;
  constexpr int kEnd = kLine < kDotPairRows ? kLine + 1 : kDotPairRows;
  const auto* const cells = reinterpret_cast<const std::int16_t*>(lines[kLine]) + x;
  HWY_UNROLL(4)
  for (int p = 0; p < kPairs; ++p)
    add_pair<kFirst, kEnd>(cells + 2 * p, weights + p * kMostDotPairRows, sum);
  if constexpr (kLine + 1 < kHeight + kDotPairRows - 1)
    add_pair_lines<kHeight, kPairs, kLine + 1>(lines, x, weights + kPairs * kMostDotPairRows, sum);
}

/// Adds the products of a part of the weights at column `x` of the lines to the sums of a tile.
HWY_INLINE void add_part(const DotPairs& taps, int part, const DotBlock& block, int x,
                         PairSums& sum) {
  const int height = taps.height(), pairs = taps.pairs();
  const std::int32_t* weights = taps.part(part);
  if (height == 3 && pairs == 2) return add_pair_lines<3, 2>(block.lines, x, weights, sum);
  if (height == 5 && pairs == 3) return add_pair_lines<5, 3>(block.lines, x, weights, sum);
  // The first and the last lines of a block belong to some of its rows only.
  for (int line = 0; line < height + kDotPairRows - 1; ++line, weights += taps.words_of_line()) {
    const int first = line < height ? 0 : line - height + 1;
    const int end = line < kDotPairRows ? line + 1 : kDotPairRows;
    const auto* const cells = reinterpret_cast<const std::int16_t*>(block.lines[line]) + x;
    add_pairs_to<0, kDotPairRows>(pair_rows_key(first, end), cells, weights, pairs, sum);
  }
}

/// The signs of 16 bits that codes leave, as lines hold them.
HWY_INLINE std::int32_t line_offset(SampleLayout layout) {
  return layout.max_code > 0x7FFF ? 0x8000 : 0;
}

/// The tile of outputs of a byte, or of two if the weights are not wide. The interface of QuadTile.
template <class StoredSample>
struct PairTile {
  using Stored = StoredSample;
  using Sums = PairSums;
  static constexpr int kRows = kDotPairRows;

  static HWY_INLINE void store(const hn::Vec<Words> (&codes)[kDotVectors], SampleLayout layout,
                               int count, std::uint8_t* out) {
    if constexpr (sizeof(Stored) == 1)
      store_codes(pack_even_and_odd(codes), count, out);
    else
      store_wide_even_and_odd(codes, layout, count, out);
  }

  static std::int32_t start_of(const DotTaps& taps, SampleLayout layout) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(line_offset(layout)) *
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
      for (int k = 0; k < kDotVectors; ++k)
        sum[r][k] = first_start;
    }
    for (int part = highest; part > lowest; --part) {
      add_part(taps, part, block, x, sum);
      const auto next_start = hn::Set(d, part == lowest + 1 ? start : 0);
      HWY_UNROLL(8)
      for (int r = 0; r < kDotPairRows; ++r) {
        HWY_UNROLL(4)
        for (int k = 0; k < kDotVectors; ++k)
          sum[r][k] = hn::Add(hn::ShiftLeft<8>(sum[r][k]), next_start);
      }
    }
    add_part(taps, lowest, block, x, sum);
  }

  static HWY_INLINE void sum_all(const DotTaps& taps, const DotBlock& block, int x,
                                 std::int32_t start, PairSums& sum) {
    sum_parts(taps.pairs(), taps.pairs().parts() - 1, 0, block, x, start, sum);
  }

  static HWY_NOINLINE void store_parts(const DotPairs& taps, int highest, int lowest,
                                       const DotBlock& block, int x, PairSums& stored) {
    PairSums sum;
    sum_parts(taps, highest, lowest, block, x, 0, sum);
    copy_sums(sum, stored);
  }

  /// The sums that count 256 and those that count 1, in memory.
  static HWY_INLINE void store_wide(const DotTaps& taps, const DotBlock& block, int x,
                                    PairSums& high, PairSums& low) {
    store_parts(taps.pairs(), taps.pairs().parts() - 1, 1, block, x, high);
    store_parts(taps.pairs(), 0, 0, block, x, low);
  }

  /// A step makes one tile, and reads the cells of its last outputs' last pairs.
  static Stride stride(const DotTaps& taps) {
    const int step = static_cast<int>(hn::Lanes(Bytes()));
    return {step, step + 2 * taps.pairs().pairs()};
  }
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
