// SPDX-License-Identifier: LGPL-2.1-or-later
// The column pass of separable-dots: sums of bytes down the columns, for several rows at once, as
// products of pairs of 16 bits. The bytes may be those of a component, or of all components of
// pixels where they lie (pixel_sums-inl.h).
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_PAIR_COLUMNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_PAIR_COLUMNS_INL_H_
#undef CONVOLVE_PAIR_COLUMNS_INL_H_
#else
#define CONVOLVE_PAIR_COLUMNS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/dots/pair_product-inl.h"
#include "kernels/cpu/separable/pair_taps.h"

/// 1 where pixels are filtered where they lie: an instruction set that shifts pairs in registers
/// and whose shuffles take bytes from all over a vector.
#undef CONVOLVE_PAIRED_PIXELS
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3_DL
#define CONVOLVE_PAIRED_PIXELS 1
#else
#define CONVOLVE_PAIRED_PIXELS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

/// The weight of tap `i` among pairs.
HWY_INLINE std::int32_t tap(const std::int32_t* pairs, int i) {
  return static_cast<std::int16_t>(static_cast<std::uint32_t>(pairs[i / 2]) >> (i % 2 * 16));
}

constexpr int kColumnStep = 1;

/// Output rows that are computed together.
constexpr int kRowsAtOnce = 4;

/// Where the sums of each row go, those of all columns side by side.
struct SumLines {
  std::int16_t* line[kRowsAtOnce];
};

template <class Sums, class Fetch>
HWY_INLINE void sum_columns(const std::uint8_t* const* lines, const PairTaps& taps, int begin,
                            int end, const Fetch& fetch, const Sums& sums) {
  for (int r = 0; r < kRowsAtOnce; ++r)
    for (int x = begin; x < end; ++x) {
      if (r == 0) fetch(x);
      std::int32_t sum = taps.column_start();
      for (int i = 0; i < taps.height(); ++i)
        sum += tap(taps.even_rows(), i) * lines[r + i][x];
      sums.line[r][x] = static_cast<std::int16_t>(sum >> taps.shift());
    }
}

#else

/// Weights of pairs of 16 bits for an output that begins with a pair, and for the next one.
struct PairWeights {
  const std::int32_t *even, *odd;

  void advance(int pairs) {
    even += pairs;
    odd += pairs;
  }
};

/// Columns that are summed at a time, as many as a vector holds. It is known when compiling, as no
/// target with vectors of unknown size is compiled (highway_targets.h).
constexpr int kColumnStep = static_cast<int>(hn::MaxLanes(Pairs()));

/// Output rows that are computed together, so that they share pairs of lines: as many as have their
/// sums of a vector of columns in registers.
constexpr int kRowsAtOnce = HWY_TARGET <= HWY_AVX3 ? 8 : 6;

/// Sums of a vector of columns for each of kRowsAtOnce rows, in two halves.
struct ColumnSums {
  hn::Vec<Words> lower[kRowsAtOnce], upper[kRowsAtOnce];
};

/// Adds the pair of `lines`, which meets the first of `weights` in rows 0 and 1, to rows kFirst ..
/// kEnd - 1, both even numbers. Rows 2 and 3 begin a pair after those, and so take the weights of
/// the pair before; rows 4 and 5 begin another pair later.
template <int kFirst, int kEnd>
HWY_INLINE void add_line_pair(const std::uint8_t* const* lines, int x, const PairWeights& weights,
                              ColumnSums& sum) {
  const Pairs d;
  const hn::Rebind<std::uint8_t, Pairs> d_codes;
  const auto first = hn::PromoteTo(d, hn::LoadU(d_codes, lines[0] + x));
  const auto second = hn::PromoteTo(d, hn::LoadU(d_codes, lines[1] + x));
  const auto low = hn::InterleaveLower(d, first, second);
  const auto high = hn::InterleaveUpper(d, first, second);
  HWY_UNROLL(4)
  for (int later = kFirst / 2; later < kEnd / 2; ++later) {
    const int even_row = 2 * later, odd_row = even_row + 1;
    const auto even = set_pairs(*(weights.even - later)), odd = set_pairs(*(weights.odd - later));
    sum.lower[even_row] = add_pair_products(sum.lower[even_row], low, even);
    sum.upper[even_row] = add_pair_products(sum.upper[even_row], high, even);
    sum.lower[odd_row] = add_pair_products(sum.lower[odd_row], low, odd);
    sum.upper[odd_row] = add_pair_products(sum.upper[odd_row], high, odd);
  }
}

/// Adds the pairs of lines before the first that all rows read. `lines`: all of them. `weights`:
/// those of line pair kPair.
template <int kPair = 0>
HWY_INLINE void add_first_line_pairs(const std::uint8_t* const* lines, int x, PairWeights& weights,
                                     ColumnSums& sum) {
  if constexpr (2 * (kPair + 1) < kRowsAtOnce) {
    add_line_pair<0, 2 * (kPair + 1)>(lines + 2 * kPair, x, weights, sum);
    weights.advance(1);
    add_first_line_pairs<kPair + 1>(lines, x, weights, sum);
  }
}

/// Adds the pairs of lines after the last that all rows read. `lines` begin with the first of these
/// pairs. `weights`: those that would meet line pair kPair of them, behind the last, so that rows 2
/// and 3 take the last.
template <int kPair = 0>
HWY_INLINE void add_last_line_pairs(const std::uint8_t* const* lines, int x, PairWeights& weights,
                                    ColumnSums& sum) {
  if constexpr (2 * (kPair + 1) < kRowsAtOnce) {
    add_line_pair<2 * (kPair + 1), kRowsAtOnce>(lines + 2 * kPair, x, weights, sum);
    weights.advance(1);
    add_last_line_pairs<kPair + 1>(lines, x, weights, sum);
  }
}

/// Adds all pairs of lines.
HWY_INLINE void add_line_pairs(const std::uint8_t* const* lines, const PairTaps& taps, int x,
                               ColumnSums& sum) {
  constexpr int kBefore = kRowsAtOnce / 2 - 1;
  static_assert(kBefore <= kLeastRowPairs);
  const int pairs = taps.row_pairs();
  PairWeights weights{taps.even_rows(), taps.odd_rows()};
  add_first_line_pairs(lines, x, weights, sum);
  for (int p = kBefore; p < pairs; ++p) {
    add_line_pair<0, kRowsAtOnce>(lines + 2 * p, x, weights, sum);
    weights.advance(1);
    // Hides that the weights lie a step further on: the compiler would keep them in registers, of
    // which there are too few.
    asm("" : "+r"(weights.even), "+r"(weights.odd));
  }
  add_last_line_pairs(lines + 2 * pairs, x, weights, sum);
}

/// Where the sums of each row go, those of all columns side by side.
struct SumLines {
  static constexpr int kStep = kColumnStep;

  HWY_INLINE void store(hn::Vec<Pairs> sums, int row, int x) const {
    hn::StoreU(sums, Pairs(), line[row] + x);
  }

  std::int16_t* line[kRowsAtOnce];
};

/// Column sums of kRowsAtOnce rows, from codes `begin` .. `end` - 1 of each line that they read.
/// Calls `fetch` with each column that begins a vector of sums, and gives each row's vector to
/// `sums`, whose kStep says how many columns of it are wanted: the next one begins behind these.
template <class Sums, class Fetch>
HWY_INLINE void sum_columns(const std::uint8_t* const* lines, const PairTaps& taps, int begin,
                            int end, const Fetch& fetch, const Sums& sums) {
  const Pairs d;
  const auto start = hn::Set(Words(), taps.column_start());
  for (int x = begin; x < end; x += Sums::kStep) {
    fetch(x);
    ColumnSums sum;
    HWY_UNROLL(8)
    for (int r = 0; r < kRowsAtOnce; ++r)
      sum.lower[r] = sum.upper[r] = start;
    add_line_pairs(lines, taps, x, sum);
    // Interleaved within blocks of 16 bytes, and put together within them again.
    HWY_UNROLL(8)
    for (int r = 0; r < kRowsAtOnce; ++r)
      sums.store(hn::ReorderDemote2To(d, hn::ShiftRightSame(sum.lower[r], taps.shift()),
                                      hn::ShiftRightSame(sum.upper[r], taps.shift())),
                 r, x);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
