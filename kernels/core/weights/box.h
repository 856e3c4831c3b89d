// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks whose weights are all equal, as kernel box computes with them: one window sum of code
// values stands for all products, so that nothing is rounded before the very end.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/core/base/host_device.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/arithmetic.h"

namespace convolve {

/// The weight that all taps of a mask have.
struct BoxWeight {
  std::int64_t integer =
      0;            ///< -1, 0 or 1 in a rational mask, as its integers have no common factor.
  double real = 0;  ///< Rounded to double.
};

/// The weight of all taps; nothing if two weights differ.
std::optional<BoxWeight> box_weight(const Mask& mask);

/// True if the code values below the mask add up to less than 2^32 in every filtered component.
/// Sums are kept modulo 2^32, so that prefix sums may overflow as long as window sums do not.
/// 255x255 code values of 16 bits just fit: 4,261,413,375.
bool box_sums_fit(const FrameFormat& format, const Mask& mask);

/// True for boxes over bytes whose rows the CPU sums before their columns, in registers
/// (kernels/cpu/box/box_narrow-inl.h), where a NarrowBoxDivision serves.
constexpr bool is_narrow_box(int width, int height) {
  constexpr int kMostRows = 8;  // Their sums stay in the cache of the first level.
  return (width == 3 || width == 5) && height <= kMostRows;
}

/// True if the sum of a column below the mask fits 16 bits in every filtered component of `plane`.
bool box_packed(const PlaneFormat& plane, const Mask& mask);

/// The epilogue of a rational mask, base + gain * (sum - taps * black), as one division of whole
/// numbers:
///
///   code = floor((multiplier * sum + offset) / divisor) - subtract, clamped to 0 .. max_code.
///
/// `offset` includes half a divisor, to round to nearest. A numerator that is then a multiple of
/// the divisor is a tie, which only even divisors have, and is rounded down where its quotient is
/// odd. All of it is modulo 2^32; make_box_division() proves that no numerator leaves 0 .. 2^32 - 1
/// for any sum of the component's code values. The quotient is a multiplication by ceil(2^(32 +
/// shift) / divisor) (Granlund and Montgomery, 1994).
struct BoxDivision {
  bool serves = false;  ///< False: use the epilogue of make_box_epilogue().
  /// Every code value is box_quotient(sum + offset), but for ties: it needs no multiplier, and is
  /// in range without a clamp.
  bool direct = false;
  bool plain = false;  ///< The same without ties, where `shift` is whole bytes.
  bool ties = false;
  int shift = 0;
  int subtract = 0;  ///< Even, so that a quotient's parity, which ties depend on, stays.
  std::uint32_t multiplier = 1;
  std::uint32_t offset = 0;
  std::uint32_t divisor = 1;
  std::uint32_t reciprocal = 0;
  /// For floats: floor(n / divisor) is floor((n + inverse_raise) * inverse), where that product is
  /// not rounded before, for every n of 0 .. 2^24 - 2.
  float inverse = 1;
  std::uint32_t inverse_raise = 0;
};

/// The division for `component` and a mask of `weight`; it does not serve if mask or scale are not
/// rational, or a numerator needs more than 32 bits.
BoxDivision make_box_division(const Component& component, const Mask& mask, const BoxWeight& weight,
                              double scale, double bias, bool rational);

/// floor(numerator / divisor).
CONVOLVE_HD inline std::uint32_t box_quotient(std::uint32_t numerator, const BoxDivision& d) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(numerator) * d.reciprocal >> 32) >>
         d.shift;
}

/// The code value of a window sum, 0 .. max_code.
CONVOLVE_HD inline int box_code(std::uint32_t sum, const BoxDivision& d, int max_code) {
  const std::uint32_t numerator = d.multiplier * sum + d.offset;
  std::uint32_t quotient = box_quotient(numerator, d);
  if (d.ties && quotient * d.divisor == numerator) quotient &= ~1u;
  const int code = static_cast<int>(quotient) - d.subtract;
  return code < 0 ? 0 : (code > max_code ? max_code : code);
}

/// A division of 16 bits for sums of as many, as processors multiply twice as many of those at
/// once:
///
///   code = ((sum + offset) * reciprocal >> 16) >> shift.
struct NarrowBoxDivision {
  bool serves = false;
  int shift = 0;
  std::uint16_t offset = 0;
  std::uint16_t reciprocal = 0;
};

/// The same as `division` for sums of 0 .. `largest`. It serves if that is direct and has no ties,
/// and if the reciprocal of 16 bits gives the quotients of all numerators.
NarrowBoxDivision make_narrow_division(const BoxDivision& division, std::int64_t largest);

/// A division of sums that are kept as the bits of floats of 2^23 .. 2^24, whose mantissas are
/// whole numbers, so that to add to a sum is to add to its bits. One fused multiplication and
/// addition rounds the quotient, as the result again has whole numbers for a mantissa. Let f be the
/// float whose bits are
///
///   empty + sum - pivot * divisor.
///
/// The bits of f * reciprocal + offset are
///
///   kCodeBits + code                     where the pivot is 0,
///   kCodeBits + kRaise + code - pivot    where sums do not fit a mantissa and the pivot is a code
///                                        that the sum had before.
struct FloatBoxDivision {
  /// The bits of 2^23.
  static constexpr std::int32_t kCodeBits = 0x4B000000;
  /// With a pivot, what is added to a difference of codes, which may be negative.
  static constexpr int kRaise = 128;

  bool serves = false;
  bool pivoted = false;
  std::int32_t empty = 0;  ///< The bits of a sum of 0 with a pivot of 0.
  float divisor = 1;
  float reciprocal = 1;
  float offset = 0;  ///< With a pivot it includes kRaise.
};

/// The same as `division` for sums of 0 .. `largest`, without a pivot or for sums that differ by
/// at most `change` from one whose code the pivot is. It serves if `division` is direct and has no
/// ties, if the sums fit a mantissa and codes less their pivots a byte, and if the error of the
/// reciprocal moves no quotient.
FloatBoxDivision make_float_division(const BoxDivision& division, std::int64_t largest,
                                     std::int64_t change);

/// The epilogue for sums of differences from black, each counted once, whatever the weight: for
/// real masks, and where whole numbers do not fit. `in_float` says that the sums are also below
/// 2^24, so that a float holds them. Only one product of an exact sum is rounded, so that results
/// in double stay within the zone of every mask.
Epilogue make_box_epilogue(const Component& component, const Mask& mask, const BoxWeight& weight,
                           double scale, double bias, bool rational);

}  // namespace convolve
