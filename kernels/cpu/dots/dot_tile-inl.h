// SPDX-License-Identifier: LGPL-2.1-or-later
// From lines of bytes to codes: a tile of outputs in registers, summed by dot products.
//
// A tile is kDotRows rows of kDotVectors vectors of sums. Each vector of quads that is made from a
// line is multiplied by the weights of all rows that the line belongs to. Weights of several digits
// are summed from the highest one down: the sums are multiplied by 256 before the next one.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_DOT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_DOT_TILE_INL_H_
#undef CONVOLVE_DOT_TILE_INL_H_
#else
#define CONVOLVE_DOT_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/core/weights/digits.h"
#include "kernels/cpu/bytes/byte_codes-inl.h"
#include "kernels/cpu/bytes/rows_ahead.h"
#include "kernels/cpu/bytes/source_rows-inl.h"
#include "kernels/cpu/dots/dot_product-inl.h"
#include "kernels/cpu/dots/dot_taps.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The lines that a block of output rows reads, and where its codes go.
struct DotBlock {
  const std::uint8_t* const* lines;
  std::uint8_t* out[kMostDotRows];
  int rows;  ///< Of `out`.
  const Reciprocals& reciprocals;
  const RowsAhead& ahead;
  int part;  ///< Of the task.
};

#if HWY_TARGET == HWY_SCALAR

/// Output rows of a block.
inline constexpr int kDotRows = 1;

/// The code at column `x` of the block's row.
inline int dot_code(const DotTaps& taps, const DigitEpilogue& e, const DotBlock& block, int x) {
  const int bits = e.quantiser == DigitEpilogue::Quantiser::kBits ? kRoundingBits : 0;
  std::int64_t sum = 0;
  for (int d = taps.digits() - 1; d >= 0; --d) {
    const std::int32_t* weights = taps.digit(d);
    sum *= 256;
    for (int i = 0; i < taps.height(); ++i)
      for (int j = 0; j < kQuadTaps * taps.quads(); ++j) {
        const std::int32_t quad = weights[i * taps.quads() + j / kQuadTaps];
        const auto weight = static_cast<std::int8_t>(quad >> 8 * (j % kQuadTaps));
        sum += weight * block.lines[i][x + j];
      }
  }
  const double total = static_cast<double>(sum + e.start - bits) + e.wide_start;
  const int max_code = e.general.max_code;
  return e.general.in_float ? finish(static_cast<float>(total), e.general.narrow, max_code)
                            : finish(static_cast<double>(total), e.general.wide, max_code);
}

inline Stride dot_stride(const DotTaps& taps) {
  return {1, kQuadTaps * taps.quads()};
}

inline void filter_block(const DotTaps& taps, const DigitEpilogue& e, const DotBlock& block,
                         int begin, int end, int) {
  for (int x = begin; x < end; ++x)
    block.out[0][x] = static_cast<std::uint8_t>(dot_code(taps, e, block, x));
}

#else

/// Vectors of sums in a row of a tile. Every 16 bytes of a row of outputs are four of each, so that
/// they pack to bytes in their order.
inline constexpr int kDotVectors = 4;

/// Output rows of a tile. Its sums, the quads of a line that are in use and a weight fill the
/// registers; products of pairs take two of them for each vector of quads.
inline constexpr int kDotRows = CONVOLVE_DOT_INSTRUCTION ? kMostDotRows
                                : HWY_TARGET <= HWY_AVX3 ? 4
                                                         : 1;

using DotSums = hn::Vec<Words>[kDotRows][kDotVectors];

/// Adds the line that begins at `cells` to rows kFirst .. kEnd - 1 of a tile. `weights` are the
/// quads of row 0 on this line; row r uses the mask row above those of row r - 1.
///
/// The vector of quads for sums k and quad g of the mask begins 4 (k + g) columns on, so each quad
/// of the mask needs one vector of quads that the one before had not.
template <int kFirst, int kEnd>
HWY_INLINE void add_quads(const std::uint8_t* cells, const std::int32_t* weights, int quads,
                          DotSums& sum) {
  Quads q0 = load_quads(cells);
  Quads q1 = load_quads(cells + kQuadTaps);
  Quads q2 = load_quads(cells + 2 * kQuadTaps);
  for (int g = 0; g < quads; ++g) {
    const Quads q3 = load_quads(cells + (g + 3) * kQuadTaps);
    HWY_UNROLL(8)
    for (int r = kFirst; r < kEnd; ++r) {
      const QuadWeights w = split_weights(weights[g - r * quads]);
      sum[r][0] = add_products(sum[r][0], q0, w);
      sum[r][1] = add_products(sum[r][1], q1, w);
      sum[r][2] = add_products(sum[r][2], q2, w);
      sum[r][3] = add_products(sum[r][3], q3, w);
    }
    q0 = q1;
    q1 = q2;
    q2 = q3;
  }
}

/// Rows `first` .. `end` - 1 of a tile as one number.
constexpr int rows_key(int first, int end) {
  return first * (kDotRows + 1) + end;
}

/// The same for the rows that `key` stands for. Lists every case, so that no register is addressed
/// by a number known at run time only; and by one number, of which the compiler makes a table of
/// jumps.
template <int kFirst, int kEnd>
HWY_INLINE void add_quads_to(int key, const std::uint8_t* cells, const std::int32_t* weights,
                             int quads, DotSums& sum) {
  if (key == rows_key(kFirst, kEnd)) return add_quads<kFirst, kEnd>(cells, weights, quads, sum);
  if constexpr (kEnd - 1 > kFirst)
    return add_quads_to<kFirst, kEnd - 1>(key, cells, weights, quads, sum);
  else if constexpr (kFirst + 1 < kDotRows)
    return add_quads_to<kFirst + 1, kDotRows>(key, cells, weights, quads, sum);
}

/// Adds the products of one digit to the sums of the tile at column `x`.
HWY_INLINE void add_digit(const DotTaps& taps, int digit, const DotBlock& block, int x,
                          DotSums& sum) {
  // The first and the last lines of a block belong to some of its rows only.
  const int height = taps.height();
  const std::int32_t* weights = taps.digit(digit);
  for (int line = 0; line < height + kDotRows - 1; ++line, weights += taps.quads()) {
    const int first = line < height ? 0 : line - height + 1;
    const int end = line < kDotRows ? line + 1 : kDotRows;
    add_quads_to<0, kDotRows>(rows_key(first, end), block.lines[line] + x, weights, taps.quads(),
                              sum);
  }
}

/// Codes before they are clamped, where one multiply-add rounds them to whole numbers: the low bits
/// of a float near 1.5 x 2^23 (see DigitEpilogue).
template <bool kBits>
HWY_INLINE hn::Vec<Words> rounded_codes(hn::Vec<Words> sums, const DigitEpilogue& e) {
  const Words d;
  // A product of the bits, which is not rounded, is what the proof of Quantiser::kBits is about.
  if constexpr (!kFused)
    return quick_codes<Rounding::kLinear>(kBits ? hn::Sub(sums, hn::Set(d, kRoundingBits)) : sums,
                                          e.general.narrow, Reciprocal<float>());
  const hn::Repartition<float, Words> d_float;
  const auto value = kBits ? hn::BitCast(d_float, sums) : hn::ConvertTo(d_float, sums);
  const auto rounded = hn::MulAdd(hn::Set(d_float, e.scale), value, hn::Set(d_float, e.base));
  return hn::Sub(hn::BitCast(d, rounded), hn::Set(d, kRoundingBits));
}

/// The sums of a tile as codes, to the block's rows from column `x` on, `count` columns of them.
template <class Codes>
HWY_INLINE void finish_tile(const DotSums& sum, const DotBlock& block, int x, int count,
                            const Codes& codes_of) {
  HWY_UNROLL(8)
  for (int r = 0; r < kDotRows; ++r) {
    if (r >= block.rows) return;
    const hn::Vec<Words> codes[kDotVectors] = {codes_of(sum[r][0]), codes_of(sum[r][1]),
                                               codes_of(sum[r][2]), codes_of(sum[r][3])};
    store_codes(pack_words(codes), count, block.out[r] + x);
  }
}

/// The same for what is seldom needed. Not inlined, as its registers would be those of the sums.
HWY_NOINLINE void finish_seldom(const DotSums& sum, const Epilogue& e,
                                const Reciprocals& reciprocals, const DotBlock& block, int x,
                                int count) {
  with_codes(e, reciprocals,
             [&](const auto& codes_of) HWY_ATTR { finish_tile(sum, block, x, count, codes_of); });
}

/// The tile at column `x`, of which `count` columns are wanted.
inline void filter_tile(const DotTaps& taps, const DigitEpilogue& e, const DotBlock& block, int x,
                        int count) {
  const Words d;
  DotSums sum;
  const auto first_start = hn::Set(d, taps.digits() == 1 ? e.start : 0);
  HWY_UNROLL(8)
  for (int r = 0; r < kDotRows; ++r) {
    HWY_UNROLL(4)
    for (int k = 0; k < kDotVectors; ++k)
      sum[r][k] = first_start;
  }
  for (int digit = taps.digits() - 1; digit >= 0; --digit) {
    add_digit(taps, digit, block, x, sum);
    if (digit == 0) break;
    const auto start = hn::Set(d, digit == 1 ? e.start : 0);
    HWY_UNROLL(8)
    for (int r = 0; r < kDotRows; ++r) {
      HWY_UNROLL(4)
      for (int k = 0; k < kDotVectors; ++k)
        sum[r][k] = hn::Add(hn::ShiftLeft<8>(sum[r][k]), start);
    }
  }
  switch (e.quantiser) {
    case DigitEpilogue::Quantiser::kBits:
      return finish_tile(sum, block, x, count, [&e](hn::Vec<Words> sums) HWY_ATTR {
        return rounded_codes<true>(sums, e);
      });
    case DigitEpilogue::Quantiser::kFloat:
      return finish_tile(sum, block, x, count, [&e](hn::Vec<Words> sums) HWY_ATTR {
        return rounded_codes<false>(sums, e);
      });
    case DigitEpilogue::Quantiser::kGeneral:
      break;
  }
  const EpilogueOf<float>& narrow = e.general.narrow;
  if (e.general.in_float && rounding_of(narrow, block.reciprocals.narrow) == Rounding::kQuotient &&
      quick_codes_serve(narrow, Rounding::kQuotient))
    return finish_tile(sum, block, x, count, [&](hn::Vec<Words> sums) HWY_ATTR {
      return quick_codes<Rounding::kQuotient>(sums, narrow, block.reciprocals.narrow);
    });
  // A copy, as sums whose address is given away would lie in memory from the beginning.
  DotSums copy;
  HWY_UNROLL(8)
  for (int r = 0; r < kDotRows; ++r) {
    HWY_UNROLL(4)
    for (int k = 0; k < kDotVectors; ++k)
      copy[r][k] = sum[r][k];
  }
  finish_seldom(copy, e.general, block.reciprocals, block, x, count);
}

/// Writes the codes of the tile at column `x`, of which `count` columns are wanted, for wide
/// weights (DigitWeights::wide). Its two sets of sums do not fit the registers, so it is not
/// inlined beside filter_tile(), whose sums do.
HWY_NOINLINE void filter_wide_tile(const DotTaps& taps, const DigitEpilogue& e,
                                   const DotBlock& block, int x, int count) {
  const Words d;
  DotSums high, low;
  for (int r = 0; r < kDotRows; ++r)
    for (int k = 0; k < kDotVectors; ++k)
      high[r][k] = low[r][k] = hn::Zero(d);
  for (int digit = taps.digits() - 1; digit > 0; --digit) {
    for (int r = 0; r < kDotRows; ++r)
      for (int k = 0; k < kDotVectors; ++k)
        high[r][k] = hn::ShiftLeft<8>(high[r][k]);
    add_digit(taps, digit, block, x, high);
  }
  add_digit(taps, 0, block, x, low);
  with_wide_codes(e.general.wide, block.reciprocals.wide, e.wide_start, e.general.max_code,
                  [&](const auto& codes_of) HWY_ATTR {
                    for (int r = 0; r < block.rows; ++r) {
                      hn::Vec<Words> codes[kDotVectors];
                      for (int k = 0; k < kDotVectors; ++k)
                        codes[k] = codes_of(high[r][k], low[r][k]);
                      store_codes(pack_words(codes), count, block.out[r] + x);
                    }
                  });
}

/// A step makes one tile, and reads the cells that the quads of its sums lie on.
inline Stride dot_stride(const DotTaps& taps) {
  const int step = static_cast<int>(hn::Lanes(Bytes()));
  return {step, step + kQuadTaps * (taps.quads() + kDotVectors - 2)};
}

/// Writes the codes of columns `begin` .. `end` - 1 of `width` to each row of the block.
inline void filter_block(const DotTaps& taps, const DigitEpilogue& e, const DotBlock& block,
                         int begin, int end, int width) {
  const Stride stride = dot_stride(taps);
  for (int x = begin; x < end; x += stride.step) {
    block.ahead.fetch(block.part, width, x, std::min(stride.step, width - x));
    if (e.wide)
      filter_wide_tile(taps, e, block, x, width - x);
    else
      filter_tile(taps, e, block, x, width - x);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
