// SPDX-License-Identifier: LGPL-2.1-or-later
// A column times a row as whole numbers of two 8-bit digits, the form that integer matrix units
// take: which masks of rank 1 they serve within the contract, and how the sums are quantised.
//
// Rows first. The row sum of samples p with weights r is R = sum of q p, where r ~ u q, and is
// quantised to 16 bits,
//
//   v = (M R + start) / 65536, rounded down,
//
// with the largest whole M for which no picture's v leaves 16 bits; `start` contains the half that
// makes this rounding to nearest, and the offset that keeps v positive where weights are negative.
// Then columns: v = 256 h + l times a weight of two digits, 256 a + b, is
//
//   65536 a h + 256 (a l + b h) + b l.
//
// The last product is dropped: T = sum of 256 a h + a l + b h fits 32 bits and is precise enough
// for a code. Rational masks whose row sums fit 16 bits and whose column fits one digit lose
// nothing: there M is 65536, so that v is R plus the offset, and a is the column's weight with b =
// 0.
//
// For other masks every error has a bound, in codes and before `scale`. Samples, v and l are
// counted from the middle of their ranges; the error of a constant picture is known, and
// SeparableSums::constant takes it back.
//
//   row weights:       127.5 sum|r - u q|                 \ of a row sum: times sum|column|
//   rounding of v:     65536 u / M / 2                    /
//   column weights:    half of v's range x sum|column - w (256 a + b)|
//   dropped products:  127.5 sum|b| w, in units of v
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/separable_sums.h"

namespace convolve {

struct SeparableDigits : SeparableSums {
  int column_digits = 0;             ///< 1: b is 0 throughout; or 2.
  std::vector<std::int32_t> row;     ///< q, of two digits.
  std::vector<std::int32_t> column;  ///< 256 a + b.
  std::uint32_t multiplier = 0;      ///< M,
  std::uint32_t row_start = 0;       ///< and start: arithmetic is modulo 2^32.
};

/// The digits for `mask`; `rational`: as is_rational() says. Nothing if the mask is not of rank 1,
/// if samples are not of 8 bits, or if a rational mask is not exact in digits.
std::optional<SeparableDigits> make_separable_digits(const FrameFormat& format, const Mask& mask,
                                                     bool rational);

/// The samples under a mask in chunks of 32, which is how many one product of tensor cores sums,
/// for 16 outputs. Along a row, the 32 outputs from x on need the samples from x - left on; down a
/// column, the 32 outputs from y on need the row sums from y - anchor on.
struct SeparableWindow {
  int left = 0;           ///< A multiple of 8.
  int row_chunks = 1;     ///< Chunks of samples that 32 outputs of a row need.
  int column_chunks = 1;  ///< Chunks of row sums that 32 outputs of a column need.
};
SeparableWindow separable_window(const Mask& mask);

/// Up to so many chunks on either axis both passes run in one launch.
inline constexpr int kMostFusedChunks = 3;

/// Upper bound on the shared memory of a block of the row pass in a launch of its own: 32 rows of
/// the samples that 256 outputs need.
constexpr std::size_t separable_shared_bytes(const SeparableWindow& window) {
  const auto samples = static_cast<std::size_t>(256 + 32 * window.row_chunks);
  return 32 * (samples + 64) + 2 * (samples + 16);
}

}  // namespace convolve
