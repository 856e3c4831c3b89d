// SPDX-License-Identifier: LGPL-2.1-or-later
// From lines of bytes to samples: the sums of a tile (dot_sums-inl.h, pair_sums-inl.h), rounded to
// codes.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_DOT_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_DOT_TILE_INL_H_
#undef CONVOLVE_DOT_TILE_INL_H_
#else
#define CONVOLVE_DOT_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "kernels/core/weights/digits.h"
#include "kernels/cpu/dots/dot_sums-inl.h"
#include "kernels/cpu/dots/dot_taps.h"
#include "kernels/cpu/dots/pair_sums-inl.h"
#include "kernels/cpu/rows/byte_codes-inl.h"
#include "kernels/cpu/rows/source_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

/// The code at column `x` of the block's row.
template <class Stored>
inline int dot_code(const DotTaps& taps, const DigitEpilogue& e, const DotBlock& block, int x) {
  std::int64_t sum = 0;
  for (int power = highest_power<Stored>(taps); power >= 0; --power) {
    sum *= 256;
    const DigitRange digits = digits_of_power<Stored>(taps, power);
    for (int digit = digits.begin; digit < digits.end; ++digit)
      sum += sum_products(taps, digit, block, x + (power - digit) * block.upper);
  }
  return finish_in_width(static_cast<double>(sum) + offset_of_sums(e), e.general);
}

template <class StoredSample>
struct QuadTile {
  using Stored = StoredSample;
  static constexpr int kRows = kDotRows;

  static Stride stride(const DotTaps& taps) { return {1, kQuadTaps * taps.quads()}; }
};

template <class Tile>
inline void filter_block(const DotTaps& taps, const DigitEpilogue& e, const DotBlock& block,
                         int begin, int end, int) {
  using Stored = typename Tile::Stored;
  for (int x = begin; x < end; ++x)
    write_sample(block.out[0] + x * static_cast<int>(sizeof(Stored)),
                 encode_sample<Stored>(dot_code<Stored>(taps, e, block, x), block.layout));
}

#else

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

/// The sums of a tile as samples, to the block's rows from column `x` on, `count` columns of them.
/// Codes of kDotVectors vectors are packed together: those of a row, or of two.
template <class Tile, class Codes>
HWY_INLINE void finish_tile(const typename Tile::Sums& sum, const DotBlock& block, int x, int count,
                            const Codes& codes_of) {
  constexpr int kVectors = Tile::kVectors;
  HWY_UNROLL(8)
  for (int r = 0; r < Tile::kRows; r += kDotVectors / kVectors) {
    if (r >= block.rows) return;
    const hn::Vec<Words> codes[kDotVectors] = {codes_of(sum[r][0]), codes_of(sum[r][1]),
                                               codes_of(sum[r + 2 / kVectors][2 % kVectors]),
                                               codes_of(sum[r + 3 / kVectors][3 % kVectors])};
    Tile::store(codes, block, r, x, count);
  }
}

/// True for quotients of which finish_quotients() makes samples.
template <class Real>
HWY_INLINE bool finishes_quickly(const EpilogueOf<Real>& e, const Reciprocal<Real>& reciprocal) {
  return rounding_of(e, reciprocal) == Rounding::kQuotient &&
         quick_codes_serve(e, Rounding::kQuotient, Sums::kExact);
}

template <class Tile, class Real>
HWY_INLINE void finish_quotients(const typename Tile::Sums& sum, const DotBlock& block, int x,
                                 int count, const EpilogueOf<Real>& e,
                                 const Reciprocal<Real>& reciprocal) {
  finish_tile<Tile>(sum, block, x, count, [&](hn::Vec<Words> sums) HWY_ATTR {
    return quick_codes<Rounding::kQuotient>(sums, e, reciprocal);
  });
}

/// Makes samples of the quotients of the sums themselves.
template <class Tile, class Real>
HWY_INLINE void finish_plain_quotients(const typename Tile::Sums& sum, const DotBlock& block, int x,
                                       int count, const Reciprocal<Real>& reciprocal) {
  finish_tile<Tile>(sum, block, x, count, [&](hn::Vec<Words> sums) HWY_ATTR {
    return quick_quotients(sums, reciprocal);
  });
}

/// Makes samples of quotients of the sums that are less by half of the codes.
template <class Tile>
HWY_INLINE void finish_centred_quotients(const typename Tile::Sums& sum, const DotBlock& block,
                                         int x, int count, const Reciprocal<float>& reciprocal,
                                         std::int32_t half) {
  finish_tile<Tile>(sum, block, x, count, [&](hn::Vec<Words> sums) HWY_ATTR {
    return hn::Add(quick_quotients(sums, reciprocal), hn::Set(Words(), half));
  });
}

/// How the sums of a tile become codes. Plain are quotients of S + offset, with which the sums
/// begin. Centred are those in float, less half of the codes (quotient.h).
enum class TileEnd { kBits, kFloat, kPlainNarrow, kCentred, kPlainWide, kNarrow, kWide, kSeldom };

/// Half of the codes there are.
HWY_INLINE std::int32_t half_of_codes(const Epilogue& e) {
  return (e.max_code + 1) / 2;
}

/// True for quotients of S + offset, where that less `middle` fits 32 bits.
template <class Real>
HWY_INLINE bool is_plain(const EpilogueOf<Real>& e, double largest_sum, double middle = 0) {
  constexpr double kTwo31 = 2147483648.0;
  return e.numerator == 1 &&
         largest_sum + std::abs(static_cast<double>(e.offset)) + middle < kTwo31;
}

HWY_INLINE TileEnd tile_end(const DotTaps& taps, const DigitEpilogue& e,
                            const Reciprocals& reciprocals) {
  if (e.quantiser == DigitEpilogue::Quantiser::kBits) return TileEnd::kBits;
  if (e.quantiser == DigitEpilogue::Quantiser::kFloat) return TileEnd::kFloat;
  const Epilogue& general = e.general;
  const double largest_sum = taps.magnitude() * general.max_code;
  const bool narrow = general.in_float && finishes_quickly(general.narrow, reciprocals.narrow);
  if (narrow && is_plain(general.narrow, largest_sum)) return TileEnd::kPlainNarrow;
  const double middle = half_of_codes(general) * static_cast<double>(general.narrow.divisor);
  if (kFused && reciprocals.centred.serves && is_plain(general.narrow, largest_sum, middle))
    return TileEnd::kCentred;
  if (narrow) return TileEnd::kNarrow;
  if (general.in_float) return TileEnd::kSeldom;
  if (!finishes_quickly(general.wide, reciprocals.wide)) return TileEnd::kSeldom;
  return is_plain(general.wide, largest_sum) ? TileEnd::kPlainWide : TileEnd::kWide;
}

HWY_INLINE std::int32_t first_sum(const DigitEpilogue& e, TileEnd end) {
  const EpilogueOf<float>& narrow = e.general.narrow;
  if (end == TileEnd::kPlainNarrow) return e.start + static_cast<std::int32_t>(narrow.offset);
  if (end == TileEnd::kPlainWide) return e.start + static_cast<std::int32_t>(e.general.wide.offset);
  if (end == TileEnd::kCentred)
    return e.start + static_cast<std::int32_t>(narrow.offset) -
           half_of_codes(e.general) * static_cast<std::int32_t>(narrow.divisor);
  return e.start;
}

/// Makes samples of the sums of a tile by an epilogue that is seldom needed. Not inlined, as its
/// registers would be those of the sums.
template <class Tile>
HWY_NOINLINE void finish_seldom(const typename Tile::Sums& sum, const Epilogue& e,
                                const Reciprocals& reciprocals, const DotBlock& block, int x,
                                int count) {
  with_codes(e, reciprocals, Sums::kRounded, [&](const auto& codes_of) HWY_ATTR {
    finish_tile<Tile>(sum, block, x, count, codes_of);
  });
}

/// Makes samples of the sums of a tile at column `x`, of which `count` columns are wanted.
template <class Tile>
HWY_INLINE void finish_sums(const typename Tile::Sums& sum, const DigitEpilogue& e, TileEnd end,
                            const DotBlock& block, int x, int count) {
  const Reciprocals& reciprocals = block.reciprocals;
  switch (end) {
    case TileEnd::kBits:
      return finish_tile<Tile>(sum, block, x, count, [&e](hn::Vec<Words> sums) HWY_ATTR {
        return rounded_codes<true>(sums, e);
      });
    case TileEnd::kFloat:
      return finish_tile<Tile>(sum, block, x, count, [&e](hn::Vec<Words> sums) HWY_ATTR {
        return rounded_codes<false>(sums, e);
      });
    case TileEnd::kPlainNarrow:
      return finish_plain_quotients<Tile>(sum, block, x, count, reciprocals.narrow);
    case TileEnd::kCentred:
      return finish_centred_quotients<Tile>(sum, block, x, count, reciprocals.centred,
                                            half_of_codes(e.general));
    case TileEnd::kPlainWide:
      return finish_plain_quotients<Tile>(sum, block, x, count, reciprocals.wide);
    case TileEnd::kNarrow:
      return finish_quotients<Tile>(sum, block, x, count, e.general.narrow, reciprocals.narrow);
    case TileEnd::kWide:
      return finish_quotients<Tile>(sum, block, x, count, e.general.wide, reciprocals.wide);
    case TileEnd::kSeldom:
      break;
  }
  typename Tile::Sums copy;
  copy_sums(sum, copy);
  finish_seldom<Tile>(copy, e.general, reciprocals, block, x, count);
}

/// Makes samples of the sums of a tile that lie in memory. Not inlined: the levels of a fast FIR
/// algorithm share it, as compiling it for each would take minutes.
template <class Tile>
HWY_NOINLINE void finish_stored_sums(const typename Tile::Sums& sum, const DigitEpilogue& e,
                                     TileEnd end, const DotBlock& block, int x, int count) {
  finish_sums<Tile>(sum, e, end, block, x, count);
}

/// The tile at column `x`, of which `count` columns are wanted. Its sums begin with `start`.
template <class Tile>
HWY_INLINE void filter_tile(const DotTaps& taps, const DigitEpilogue& e, TileEnd end,
                            std::int32_t start, const DotBlock& block, int x, int count) {
  typename Tile::Sums sum;
  Tile::sum_all(taps, block, x, start, sum);
  finish_sums<Tile>(sum, e, end, block, x, count);
}

/// The sums of a tile begin with this number, so that black levels, offsets of quotients and those
/// of lines cost no instruction of their own.
template <class Tile>
HWY_INLINE std::int32_t start_of_sums(const DotTaps& taps, const DigitEpilogue& e, TileEnd end,
                                      SampleLayout layout) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(first_sum(e, end)) +
                                   static_cast<std::uint32_t>(Tile::start_of(taps, layout)));
}

/// Writes the samples of the tile at column `x`, of which `count` columns are wanted, for wide
/// weights (DigitWeights::wide).
template <class Tile>
HWY_NOINLINE void filter_wide_tile(const DotTaps& taps, const DigitEpilogue& e,
                                   const DotBlock& block, int x, int count) {
  typename Tile::Sums high, low;
  Tile::store_wide(taps, block, x, high, low);
  const double start = e.wide_start + Tile::wide_start_of(taps);
  with_wide_codes(e.general.wide, block.reciprocals.wide, start, e.general.max_code,
                  [&](const auto& codes_of) HWY_ATTR {
                    constexpr int kVectors = Tile::kVectors;
                    for (int r = 0; r < block.rows; r += kDotVectors / kVectors) {
                      hn::Vec<Words> codes[kDotVectors];
                      for (int k = 0; k < kDotVectors; ++k) {
                        const int row = r + k / kVectors;
                        codes[k] = codes_of(high[row][k % kVectors], low[row][k % kVectors]);
                      }
                      Tile::store(codes, block, r, x, count);
                    }
                  });
}

/// Writes the samples of columns `begin` .. `end` - 1 of `width` to each row of the block.
template <class Tile>
inline void filter_block(const DotTaps& taps, const DigitEpilogue& e, const DotBlock& block,
                         int begin, int end, int width) {
  const Stride stride = Tile::stride(taps);
  const TileEnd tile = tile_end(taps, e, block.reciprocals);
  const std::int32_t start = start_of_sums<Tile>(taps, e, tile, block.layout);
  constexpr int kFetchedColumns = 64;
  int fetched = begin;
  for (int x = begin; x < end; x += stride.step) {
    if (x >= fetched) {
      block.ahead.fetch(block.part, width, x, std::min(kFetchedColumns, width - x));
      fetched += kFetchedColumns;
    }
    if (e.wide)
      filter_wide_tile<Tile>(taps, e, block, x, width - x);
    else
      filter_tile<Tile>(taps, e, tile, start, block, x, width - x);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
