// SPDX-License-Identifier: LGPL-2.1-or-later
// Samples in memory and codes in arithmetic: byte order, shift and depth, and nothing else.
#pragma once

#include <cstdint>

#include "kernels/core/base/host_device.h"

namespace convolve {

/// How a component stores its codes, for the type of sample `std::uint8_t` or `std::uint16_t`.
struct SampleLayout {
  int shift = 0;          ///< Unused low bits below the code.
  bool swap = false;      ///< Two-byte samples in the other byte order than the machine's.
  int max_code = 0xFFFF;  ///< 2^depth - 1: the code's bits, counted from `shift` on.

  CONVOLVE_HD friend constexpr bool operator==(const SampleLayout& a, const SampleLayout& b) {
    return a.shift == b.shift && a.swap == b.swap && a.max_code == b.max_code;
  }
};

// Bits outside the depth do not count when read, whatever a producer left there.

CONVOLVE_HD constexpr int decode_sample(std::uint8_t stored, SampleLayout layout) {
  return stored >> layout.shift & layout.max_code;
}

CONVOLVE_HD constexpr std::uint16_t swap_bytes(std::uint16_t v) {
  return static_cast<std::uint16_t>(static_cast<unsigned>(v) << 8 | static_cast<unsigned>(v) >> 8);
}

CONVOLVE_HD constexpr int decode_sample(std::uint16_t stored, SampleLayout layout) {
  return (layout.swap ? swap_bytes(stored) : stored) >> layout.shift & layout.max_code;
}

/// The stored form of `code`, 0 .. max_code; bits outside the depth become zero.
template <class Stored>
CONVOLVE_HD constexpr Stored encode_sample(int code, SampleLayout layout) {
  const Stored stored = static_cast<Stored>(code << layout.shift);
  if constexpr (sizeof(Stored) == 2) return layout.swap ? swap_bytes(stored) : stored;
  return stored;
}

}  // namespace convolve
