// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks whose weights are all equal: what kernel box needs of them. One window sum of codes stands
// for all products, so nothing is rounded before the very end.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/core/base/host_device.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/arithmetic.h"

namespace convolve {

/// What all weights of a mask are.
struct BoxWeight {
  std::int64_t integer = 0;  ///< Of a rational mask: -1, 0 or 1, as its integers are primitive.
  double real = 0;           ///< Rounded to double.
};

/// Nothing if two weights differ.
std::optional<BoxWeight> box_weight(const Mask& mask);

/// True if the codes below the mask add up to less than 2^32 in every filtered component. Sums are
/// kept modulo 2^32, so prefix sums may overflow as long as the window sums do not. 255x255 codes
/// of 16 bits just do: 4,261,413,375.
bool box_sums_fit(const FrameFormat& format, const Mask& mask);

/// True if sums of a column below the mask fit 16 bits in every filtered component of `plane`.
bool box_packed(const PlaneFormat& plane, const Mask& mask);

/// base + gain * (sum - taps * black) in whole numbers, for rational masks: with everything over
/// one divisor,
///
///   code = floor((multiplier * sum + offset) / divisor) - subtract, clamped to 0 .. max_code,
///
/// where `offset` holds half a divisor to round to nearest; ties, which only even divisors know,
/// then go down from odd quotients. All of it modulo 2^32; make_box_division() proves that no
/// numerator leaves 0 .. 2^32 - 1 for any sum of the component's codes. The quotient is a
/// multiplication with ceil(2^(32 + shift) / divisor) (Granlund and Montgomery, 1994).
struct BoxDivision {
  bool serves = false;  ///< Otherwise the epilogue has to.
  /// Every code is box_quotient(sum + offset), but for ties: in range, without a multiplier.
  bool direct = false;
  bool plain = false;  ///< The same, without ties, and `shift` is whole bytes.
  bool ties = false;
  int shift = 0;
  int subtract = 0;  ///< Even: parity, and so where ties go, stays.
  std::uint32_t multiplier = 1;
  std::uint32_t offset = 0;
  std::uint32_t divisor = 1;
  std::uint32_t reciprocal = 0;
  /// As floats: floor(n / divisor) is floor((n + inverse_raise) * inverse), that product taken
  /// exactly, for every n of 0 .. 2^24 - 2.
  float inverse = 1;
  std::uint32_t inverse_raise = 0;
};

/// The division for `component` and a mask of `weight`; one that does not serve if mask and scale
/// are not rational, or a numerator needs more than 32 bits.
BoxDivision make_box_division(const Component& component, const Mask& mask, const BoxWeight& weight,
                              double scale, double bias, bool rational);

/// floor(numerator / divisor).
CONVOLVE_HD inline std::uint32_t box_quotient(std::uint32_t numerator, const BoxDivision& d) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(numerator) * d.reciprocal >> 32) >>
         d.shift;
}

/// The code for a window sum, 0 .. max_code.
CONVOLVE_HD inline int box_code(std::uint32_t sum, const BoxDivision& d, int max_code) {
  const std::uint32_t numerator = d.multiplier * sum + d.offset;
  std::uint32_t quotient = box_quotient(numerator, d);
  if (d.ties && quotient * d.divisor == numerator) quotient &= ~1u;
  const int code = static_cast<int>(quotient) - d.subtract;
  return code < 0 ? 0 : (code > max_code ? max_code : code);
}

/// The epilogue for sums of differences from black, each counted once, whatever the weight: for
/// masks that are real, and where whole numbers do not fit. `in_float` says that the sums are below
/// 2^24 too, so that a float holds them. One product of an exact sum keeps every zone in double.
Epilogue make_box_epilogue(const Component& component, const Mask& mask, const BoxWeight& weight,
                           double scale, double bias, bool rational);

}  // namespace convolve
