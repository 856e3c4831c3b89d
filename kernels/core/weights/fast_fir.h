// SPDX-License-Identifier: LGPL-2.1-or-later
// A fast FIR algorithm for the rows and columns of a mask (Parhi, VLSI Digital Signal Processing
// Systems, 1999, chapter 9; Mou and Duhamel, Short-Length FIR Filters and Their Use in Fast
// Nonrecursive Filtering, 1991): fewer products for more additions.
//
// Let A_k = X_2k and B_k = X_2k+1 be the even and the odd rows of a picture X, E and O those of the
// weights, and W * R_k the sum of the products of the rows of W with R_k, R_k+1, ... Then
//
//     Y_2k   = E * (A_k + B_k)   - (E - O) * B_k
//     Y_2k+1 = O * (A_k+1 + B_k) + (E - O) * B_k
//
// so that two rows of outputs take three subfilters of half the rows each, in place of four. Each
// of these may be split in the same way: n levels make 3^n subfilters of a 2^n-th of the rows, for
// 2^n rows of outputs. Columns may be split as well. It is exact where sums wrap, as those of 32
// bits do, if the subfilters' weights and the sums of samples fit the operands of the products.
// With E + O and differences of samples, as it is mostly written, weights of one sign would grow by
// one bit a level, while in E - O most of what they have in common is gone.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

/// One level alone is never faster than none, or than two.
inline constexpr int kFewestFirLevels = 2;
inline constexpr int kMostFirLevels = 4;
/// So many levels split rows. One more splits columns, and comes before the others.
inline constexpr int kMostFirRowLevels = 3;

/// How many of `levels` levels split rows.
constexpr int fir_row_levels(int levels) {
  return levels > kMostFirRowLevels ? kMostFirRowLevels : levels;
}
constexpr bool fir_splits_columns(int levels) {
  return levels > kMostFirRowLevels;
}

/// Half of the codes of a byte: none is further from it.
inline constexpr int kHalfOfByteCodes = 128;

/// Whether sums of bytes less half of their codes fit 32 bits, if the magnitudes of their weights
/// add up to `magnitude`.
constexpr bool halved_sums_fit(double magnitude) {
  return magnitude * kHalfOfByteCodes < 2147483648.0;
}

/// Codes up to `max_code` lie in lines of 16 bits less this: half of the codes there are where they
/// have 12 bits or more, so that those of 16 fit, and sums of 16 lines of those of 12.
constexpr int line_offset(int max_code) {
  return max_code > 0x7FF ? (max_code + 1) / 2 : 0;
}

/// Whether sums of 2^`levels` samples, as lines hold them, fit 16 bits.
constexpr bool fir_lines_fit(int max_code, int levels) {
  return (max_code - line_offset(max_code)) << levels <= 0x7FFF;
}

/// 3^levels.
constexpr int fir_subfilters(int levels) {
  return levels == 0 ? 1 : 3 * fir_subfilters(levels - 1);
}

/// Rows of a subfilter of a mask of `height` rows, and columns of one of `width` columns.
int fir_height(int height, int levels);
int fir_width(int width, int levels);

/// What a sample takes, in products of pairs of neighbours in a row: these, and for each level the
/// lines of sums of samples and the sums that go from subfilter to subfilter in memory.
double fir_products(const Mask& mask, int levels);

/// The subfilters of a mask, depth first: each level has its E - O, E and O in this order. Each has
/// fir_height() rows of fir_width() weights, one after the other.
std::vector<std::vector<std::int32_t>> split_for_fir(const Mask& mask,
                                                     const std::vector<std::int32_t>& values,
                                                     int levels);

/// The largest magnitude of a weight of a subfilter of `values`, row-major numbers of the mask's
/// size.
double largest_fir_weight(const Mask& mask, const std::vector<std::int32_t>& values, int levels);

/// The number of levels, 0 or kFewestFirLevels .. kMostFirLevels, that take least time, of those
/// whose subfilters' weights, and sums of codes up to `max_code`, fit 16 bits. 0 for wide weights.
int choose_fir_levels(const Mask& mask, const DigitWeights& weights, int max_code);

/// `digits` of a mask that is not rational, or weights of fewer bits that keep the contract, too,
/// if more levels serve these.
DigitWeights digits_for_fir(const FrameFormat& format, const Mask& mask, double scale,
                            DigitWeights digits);

}  // namespace convolve
