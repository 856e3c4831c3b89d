// SPDX-License-Identifier: LGPL-2.1-or-later
// A column times a row as whole numbers of two 8-bit digits, the form that integer matrix units
// take: which masks of rank 1 they serve within the contract, and how sums of them become codes.
//
// Rows first. A row's sum of samples p with weights r is R = sum of q p, where r ~ u q, and goes on
// as 16 bits,
//
//   v = (M R + start) / 65536, rounded down,
//
// with the largest whole M for which no picture's v leaves 16 bits; start brings the half that
// makes this rounding to nearest, and the offset that keeps v positive where weights are negative.
// Then columns: v = 256 h + l times a weight of two digits, 256 a + b, is
//
//   65536 a h + 256 (a l + b h) + b l.
//
// The last product is dropped: T = sum of 256 a h + a l + b h fits 32 bits and is all that a code
// needs. Rational masks whose row sums fit 16 bits, and whose column one digit, lose nothing: there
// M is 65536, so that v is R and the offset, and a the column's weight with b = 0.
//
// For other masks everything that is lost has a bound, in codes and before `scale`. Samples, v and
// l are counted from the middle of what they can be: what a constant share of them means is known,
// and taken back by SeparableDigits::constant.
//
//   row weights:       127.5 sum|r - u q|                 \ of a row sum: times sum|column|
//   v's rounding:      65536 u / M / 2                    /
//   column weights:    half of v's range x sum|column - w (256 a + b)|
//   dropped products:  127.5 sum|b| w, in units of v
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

struct SeparableDigits {
  int column_digits = 0;             ///< 1: b is 0 throughout; or 2.
  std::vector<std::int32_t> row;     ///< q, of two digits.
  std::vector<std::int32_t> column;  ///< 256 a + b.
  std::uint32_t multiplier = 0;      ///< M,
  std::uint32_t row_start = 0;       ///< and start: arithmetic is modulo 2^32.
  double unit = 1;       ///< Of T: a picture without black level makes T * unit + constant,
  double constant = 0;   ///< before scale.
  double magnitude = 0;  ///< Largest |start + T|, of make_separable_epilogue().
  /// Long masks, for which T takes all of 32 bits: the value that it counts from, the middle.
  std::optional<double> middle;
  double error = 0;  ///< See above. 0: nothing is lost.
};

/// The digits for `mask`, or nothing if it is not of rank 1, not of 8-bit samples, or, with
/// `rational`, as is_rational() says, not exact.
std::optional<SeparableDigits> make_separable_digits(const FrameFormat& format, const Mask& mask,
                                                     bool rational);

/// True if `digits` keep the contract for every filtered component of `format` with this scale.
bool separable_digits_serve(const FrameFormat& format, const Mask& mask,
                            const SeparableDigits& digits, double scale, bool rational);

/// How T becomes a code of `component`, where separable_digits_serve(): as S does, where S is start
/// + T. Never by Codes::kBits.
DigitEpilogue make_separable_epilogue(const Component& component, const Mask& mask,
                                      const SeparableDigits& digits, double scale, double bias,
                                      bool rational);

/// Products of 32 samples for 16 outputs, on both axes. Rows: 32 outputs from x on see the samples
/// from x - left on; columns: 32 outputs from y on see row sums from y - anchor on.
struct SeparableWindow {
  int left = 0;           ///< A multiple of 8.
  int row_chunks = 1;     ///< Of 32 samples that 32 outputs see.
  int column_chunks = 1;  ///< Of 32 row sums.
};
SeparableWindow separable_window(const Mask& mask);

/// Chunks on either axis up to which both passes are one launch.
inline constexpr int kMostFusedChunks = 3;

/// The most shared memory that a block of the row pass takes where it is a launch of its own: 32
/// rows of what 256 outputs see.
constexpr std::size_t separable_shared_bytes(const SeparableWindow& window) {
  const auto samples = static_cast<std::size_t>(256 + 32 * window.row_chunks);
  return 32 * (samples + 64) + 2 * (samples + 16);
}

}  // namespace convolve
