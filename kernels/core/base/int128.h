// SPDX-License-Identifier: LGPL-2.1-or-later
// Products of two 64-bit integers, exactly.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace convolve {

__extension__ typedef __int128 Int128;

/// `v` as 64 bits; nothing if it does not fit.
inline std::optional<std::int64_t> narrow(Int128 v) {
  if (v < std::numeric_limits<std::int64_t>::min() || v > std::numeric_limits<std::int64_t>::max())
    return std::nullopt;
  return static_cast<std::int64_t>(v);
}

inline Int128 magnitude_of(Int128 v) {
  return v < 0 ? -v : v;
}

/// Greatest common divisor, never negative; gcd(0, b) = |b|.
inline Int128 greatest_common_divisor(Int128 a, Int128 b) {
  a = magnitude_of(a);
  b = magnitude_of(b);
  while (b != 0) {
    const Int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

}  // namespace convolve
