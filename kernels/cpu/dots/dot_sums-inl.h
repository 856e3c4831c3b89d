// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums of dot products: a tile of them in registers.
//
// A tile is kDotRows rows of kDotVectors vectors of sums. Each vector of quads that is made from a
// line is multiplied by the weights of all rows that the line belongs to. The products of digit i
// of a weight and byte k of a code count 256^(i + k); the sums begin with those that count most and
// are multiplied by 256 before the next ones.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_DOT_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_DOT_SUMS_INL_H_
#undef CONVOLVE_DOT_SUMS_INL_H_
#else
#define CONVOLVE_DOT_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/core/base/sample.h"
#include "kernels/cpu/dots/dot_product-inl.h"
#include "kernels/cpu/dots/dot_taps.h"
#include "kernels/cpu/dots/macropixel_quads.h"
#include "kernels/cpu/quotient.h"
#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/rows/source_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The lines that a block of output rows reads, and where its samples go.
struct DotBlock {
  const std::uint8_t* const* lines;
  std::ptrdiff_t upper;  ///< From the lower bytes of codes to the upper ones, if they have two.
  std::uint8_t* out[kMostDotRows];
  int rows;  ///< Of `out`.
  SampleLayout layout;
  const Reciprocals& reciprocals;
  const RowsAhead& ahead;
  int part;  ///< Of the task.
  /// Where pixels of four bytes are filtered in place, `copied` has 0xFF for each byte of a pixel
  /// that is to be copied, and `from` the rows of the source that it is copied from.
  std::uint32_t copied = 0;
  const std::uint8_t* from[kMostDotRows] = {};
  const MacropixelQuads* macropixels = nullptr;  ///< Not null for kMacropixelStep.
};

/// In the place of the bytes from sample to sample: those of macropixels are two, and four.
inline constexpr int kMacropixelStep = 0;

/// Digits of a weight, whose products with byte k of codes count 256^(digit + k).
struct DigitRange {
  int begin, end;
};

/// The digits that have products which count 256^`power`: those with byte `power` - digit.
template <class Stored>
HWY_INLINE DigitRange digits_of_power(const DotTaps& taps, int power) {
  if constexpr (sizeof(Stored) == 1) return {power, power + 1};
  return {std::max(power - 1, 0), std::min(power + 1, taps.digits())};
}

/// The power of 256 that the products count which count most.
template <class Stored>
HWY_INLINE int highest_power(const DotTaps& taps) {
  return taps.digits() - 1 + static_cast<int>(sizeof(Stored)) - 1;
}

#if HWY_TARGET == HWY_SCALAR

/// Output rows of a block.
inline constexpr int kDotRows = 1;

/// The products of one digit and one byte of the codes, at column `x` of the block's row.
inline std::int64_t sum_products(const DotTaps& taps, int digit, const DotBlock& block,
                                 std::ptrdiff_t x) {
  const std::int32_t* const weights = taps.digit(digit);
  std::int64_t sum = 0;
  for (int i = 0; i < taps.height(); ++i)
    for (int j = 0; j < kQuadTaps * taps.quads(); ++j) {
      const std::int32_t quad = weights[(i * taps.quads() + j / kQuadTaps) * kMostDotRows];
      const auto weight = static_cast<std::int8_t>(quad >> 8 * (j % kQuadTaps));
      sum += weight * block.lines[i][x + j];
    }
  return sum;
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

/// Adds the products of one quad of the mask to rows kFirst .. kEnd - 1 of a tile. `weights` are
/// those of all its rows.
template <int kFirst, int kEnd>
HWY_INLINE void add_quad(const Quads& q0, const Quads& q1, const Quads& q2, const Quads& q3,
                         const std::int32_t* weights, DotSums& sum) {
  HWY_UNROLL(8)
  for (int r = kFirst; r < kEnd; ++r) {
    const QuadWeights w = split_weights(weights[r]);
    sum[r][0] = add_products(sum[r][0], q0, w);
    sum[r][1] = add_products(sum[r][1], q1, w);
    sum[r][2] = add_products(sum[r][2], q2, w);
    sum[r][3] = add_products(sum[r][3], q3, w);
  }
}

/// Adds the products of quad `g` of the mask with macropixels, the first of which begins at
/// `cells`, to rows kFirst .. kEnd - 1 of a tile. `weights` are those of the line's first quad.
template <int kFirst, int kEnd>
HWY_INLINE void add_macropixel_quad(const std::uint8_t* cells, const std::int32_t* weights, int g,
                                    const MacropixelQuads& macropixels, DotSums& sum) {
  cells += macropixels.offset[g];
  const std::uint8_t* const taken = macropixels.bytes[g];
  add_quad<kFirst, kEnd>(load_quads(cells, taken), load_quads(cells + kQuadTaps, taken),
                         load_quads(cells + 2 * kQuadTaps, taken),
                         load_quads(cells + 3 * kQuadTaps, taken), weights + g * kMostDotRows, sum);
}

/// Adds the line that begins at `cells` to rows kFirst .. kEnd - 1 of a tile. `weights` are those
/// of its first quad. Samples of a row of the mask are kStep bytes apart.
///
/// The vector of quads for sums k and quad g of the mask begins 4 (k + kStep g) bytes on, so each
/// quad of the mask needs kStep vectors of quads that the one before had not.
template <int kFirst, int kEnd, int kStep>
HWY_INLINE void add_quads(const std::uint8_t* cells, const std::int32_t* weights, int quads,
                          DotSums& sum) {
  constexpr int kKept = kDotVectors - kStep;
  Quads q[kDotVectors];
  HWY_UNROLL(4)
  for (int k = 0; k < kKept; ++k)
    q[k] = load_quads<kStep>(cells + k * kQuadTaps);
  for (int g = 0; g < quads; ++g) {
    HWY_UNROLL(4)
    for (int k = kKept; k < kDotVectors; ++k)
      q[k] = load_quads<kStep>(cells + (g * kStep + k) * kQuadTaps);
    add_quad<kFirst, kEnd>(q[0], q[1], q[2], q[3], weights + g * kMostDotRows, sum);
    HWY_UNROLL(4)
    for (int k = 0; k < kKept; ++k)
      q[k] = q[k + kStep];
  }
}

/// Rows `first` .. `end` - 1 of a tile as one number.
constexpr int rows_key(int first, int end) {
  return first * (kDotRows + 1) + end;
}

/// Adds the line that begins at `cells` to the rows that `key` stands for. Lists every case, so
/// that no register is addressed by a number known at run time only; and by one number, of which
/// the compiler makes a table of jumps.
template <int kFirst, int kEnd, int kStep>
HWY_INLINE void add_quads_to(int key, const std::uint8_t* cells, const std::int32_t* weights,
                             int quads, const MacropixelQuads* macropixels, DotSums& sum) {
  if (key == rows_key(kFirst, kEnd)) {
    if constexpr (kStep == kMacropixelStep) {
      for (int g = 0; g < quads; ++g)
        add_macropixel_quad<kFirst, kEnd>(cells, weights, g, *macropixels, sum);
    } else {
      add_quads<kFirst, kEnd, kStep>(cells, weights, quads, sum);
    }
    return;
  }
  if constexpr (kEnd - 1 > kFirst)
    return add_quads_to<kFirst, kEnd - 1, kStep>(key, cells, weights, quads, macropixels, sum);
  else if constexpr (kFirst + 1 < kDotRows)
    return add_quads_to<kFirst + 1, kDotRows, kStep>(key, cells, weights, quads, macropixels, sum);
}

#if CONVOLVE_DOT_INSTRUCTION

/// Adds the line that begins at `cells` to rows kFirst .. kEnd - 1 of a tile, for a mask of kQuads
/// quads: a number known when compiling, so that no loop is left.
template <int kFirst, int kEnd, int kQuads, int kStep>
HWY_INLINE void add_few_quads(const std::uint8_t* cells, const std::int32_t* weights,
                              DotSums& sum) {
  constexpr int kVectors = (kQuads - 1) * kStep + kDotVectors;
  Quads q[kVectors];
  HWY_UNROLL(8)
  for (int i = 0; i < kVectors; ++i)
    q[i] = load_quads<kStep>(cells + i * kQuadTaps);
  HWY_UNROLL(8)
  for (int g = 0; g < kQuads; ++g) {
    const Quads* const of = q + g * kStep;
    add_quad<kFirst, kEnd>(of[0], of[1], of[2], of[3], weights + g * kMostDotRows, sum);
  }
}

/// Adds the lines of a mask of kHeight rows, from line kLine on, without a loop: those of a small
/// mask would take as many instructions as its products.
template <int kHeight, int kQuads, int kStep, int kLine = 0>
HWY_INLINE void add_lines(const DotBlock& block, std::ptrdiff_t x, const std::int32_t* weights,
                          DotSums& sum) {
  constexpr int kFirst = kLine < kHeight ? 0 : kLine - kHeight + 1;
  constexpr int kEnd = kLine < kDotRows ? kLine + 1 : kDotRows;
  const std::uint8_t* const cells = block.lines[kLine] + x;
  if constexpr (kStep == kMacropixelStep) {
    HWY_UNROLL(2)
    for (int g = 0; g < kQuads; ++g)
      add_macropixel_quad<kFirst, kEnd>(cells, weights, g, *block.macropixels, sum);
  } else {
    add_few_quads<kFirst, kEnd, kQuads, kStep>(cells, weights, sum);
  }
  if constexpr (kLine + 1 < kHeight + kDotRows - 1)
    add_lines<kHeight, kQuads, kStep, kLine + 1>(block, x, weights + kQuads * kMostDotRows, sum);
}

#endif

/// Adds the products of one digit, and of the bytes that lie at column `x` of the lines, to the
/// sums of a tile.
template <int kStep>
HWY_INLINE void add_digit(const DotTaps& taps, int digit, const DotBlock& block, std::ptrdiff_t x,
                          DotSums& sum) {
  const int height = taps.height(), quads = taps.quads();
  const std::int32_t* weights = taps.digit(digit);
#if CONVOLVE_DOT_INSTRUCTION
  if (height == 3 && quads == 1) return add_lines<3, 1, kStep>(block, x, weights, sum);
  if (height == 5 && quads == 2) return add_lines<5, 2, kStep>(block, x, weights, sum);
  if (height == 7 && quads == 2) return add_lines<7, 2, kStep>(block, x, weights, sum);
#endif
  // The first and the last lines of a block belong to some of its rows only.
  for (int line = 0; line < height + kDotRows - 1; ++line, weights += taps.words_of_line()) {
    const int first = line < height ? 0 : line - height + 1;
    const int end = line < kDotRows ? line + 1 : kDotRows;
    add_quads_to<0, kDotRows, kStep>(rows_key(first, end), block.lines[line] + x, weights, quads,
                                     block.macropixels, sum);
  }
}

/// Sums that registers keep, in memory: those whose address is given away to a function that is not
/// inlined would lie there from the beginning.
template <int kRows, int kVectors>
HWY_INLINE void copy_sums(const hn::Vec<Words> (&sum)[kRows][kVectors],
                          hn::Vec<Words> (&copy)[kRows][kVectors]) {
  HWY_UNROLL(8)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int k = 0; k < kVectors; ++k)
      copy[r][k] = sum[r][k];
  }
}

/// The sums of a tile at column `x` from the products that count 256^`highest` down to those that
/// count 256^`lowest`, which the result counts.
template <class Stored, int kStep>
HWY_INLINE void sum_powers(const DotTaps& taps, int highest, int lowest, const DotBlock& block,
                           int x, std::int32_t start, DotSums& sum) {
  const Words d;
  const auto first_start = hn::Set(d, highest == lowest ? start : 0);
  HWY_UNROLL(8)
  for (int r = 0; r < kDotRows; ++r) {
    HWY_UNROLL(4)
    for (int k = 0; k < kDotVectors; ++k)
      sum[r][k] = first_start;
  }
  for (int power = highest; power >= lowest; --power) {
    const DigitRange digits = digits_of_power<Stored>(taps, power);
    for (int digit = digits.begin; digit < digits.end; ++digit)
      add_digit<kStep>(taps, digit, block, x + (power - digit) * block.upper, sum);
    if (power == lowest) break;
    const auto next_start = hn::Set(d, power == lowest + 1 ? start : 0);
    HWY_UNROLL(8)
    for (int r = 0; r < kDotRows; ++r) {
      HWY_UNROLL(4)
      for (int k = 0; k < kDotVectors; ++k)
        sum[r][k] = hn::Add(hn::ShiftLeft<8>(sum[r][k]), next_start);
    }
  }
}

/// The sums of the products that count 256^`highest` down to 256^`lowest`, in memory. Not inlined,
/// so that each has the registers for itself.
template <class Stored, int kStep>
HWY_NOINLINE void store_powers(const DotTaps& taps, int highest, int lowest, const DotBlock& block,
                               int x, DotSums& stored) {
  DotSums sum;
  sum_powers<Stored, kStep>(taps, highest, lowest, block, x, 0, sum);
  copy_sums(sum, stored);
}

/// A tile of outputs of a byte, or of two, by products of quads of bytes. kStep: bytes from sample
/// to sample of a component, 1 where they lie side by side, or kMacropixelStep; those of the pixels
/// between them are outputs of the same tile.
template <class StoredSample, int kStep = 1>
struct QuadTile {
  using Stored = StoredSample;
  using Sums = DotSums;
  static constexpr int kRows = kDotRows, kVectors = kDotVectors;

  /// Stores codes of row `r` of the tile as samples from column `x` on, `count` of them if that is
  /// less.
  static HWY_INLINE void store(const hn::Vec<Words> (&codes)[kDotVectors], const DotBlock& block,
                               int r, int x, int count) {
    std::uint8_t* const out = block.out[r] + x * static_cast<int>(sizeof(Stored));
    if constexpr (sizeof(Stored) == 1)
      store_codes(Bytes(), with_copied(pack_words(codes), block, r, x, count), count, out);
    else
      store_wide_codes(codes, block.layout, count, out);
  }

  /// Lines may hold codes less an offset: the sums begin with this number to make up for it.
  static std::int32_t start_of(const DotTaps&, SampleLayout) { return 0; }

  /// The sums of the tile at column `x`, which begin with `start`.
  static HWY_INLINE void sum_all(const DotTaps& taps, const DotBlock& block, int x,
                                 std::int32_t start, DotSums& sum) {
    sum_powers<Stored, kStep>(taps, highest_power<Stored>(taps), 0, block, x, start, sum);
  }

  /// Stores the sums that count 256 and those that count 1, which wide weights keep apart.
  static HWY_INLINE void store_wide(const DotTaps& taps, const DotBlock& block, int x,
                                    DotSums& high, DotSums& low) {
    store_powers<Stored, kStep>(taps, highest_power<Stored>(taps), 1, block, x, high);
    store_powers<Stored, kStep>(taps, 0, 0, block, x, low);
  }

  /// Wide sums of quads are whole: nothing is added to them.
  static double wide_start_of(const DotTaps&) { return 0; }

  /// A step makes one tile, and reads the cells that the quads of its sums lie on.
  static Stride stride(const DotTaps& taps) {
    const int step = static_cast<int>(hn::Lanes(Bytes()));
    // The quads of macropixels begin where those of chroma do, or before.
    constexpr int kApart = kStep == kMacropixelStep ? 4 : kStep;
    return {step, step + kQuadTaps * (kApart * (taps.quads() - 1) + kDotVectors - 1)};
  }

 private:
  /// `bytes` with those of the source that are copied, of which `count` are there.
  static HWY_INLINE hn::Vec<Bytes> with_copied(hn::Vec<Bytes> bytes, const DotBlock& block, int r,
                                               int x, int count) {
    if constexpr (kStep == 4 || kStep == kMacropixelStep) {
      if (block.copied == 0) return bytes;
      const Bytes d;
      const auto there = hn::FirstN(d, std::min(static_cast<std::size_t>(count), hn::Lanes(d)));
      const auto copied = hn::BitCast(d, hn::Set(hn::RebindToUnsigned<Words>(), block.copied));
      return hn::OrAnd(hn::AndNot(copied, bytes), copied,
                       hn::MaskedLoad(there, d, block.from[r] + x));
    }
    return bytes;
  }
};

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
