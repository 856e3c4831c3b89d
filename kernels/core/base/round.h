// SPDX-License-Identifier: LGPL-2.1-or-later
// Whole numbers rounded up, of tiles, blocks and bytes: neither may be negative.
#pragma once

#include <cstdint>

#include "kernels/core/base/host_device.h"

namespace convolve {

/// How many units of `unit` hold `value`.
CONVOLVE_HD constexpr int divide_up(int value, int unit) {
  return (value + unit - 1) / unit;
}

/// The multiple of `unit` that is not below `value`.
CONVOLVE_HD constexpr int round_up(int value, int unit) {
  return divide_up(value, unit) * unit;
}

/// 2^32 / divisor, rounded up: the high word of its product with n is n / divisor, where these are
/// small. 0 for 0, 1 for 1, where it does not serve.
constexpr std::uint32_t reciprocal(int divisor) {
  return divisor == 0 ? 0
                      : static_cast<std::uint32_t>((std::uint64_t{1} << 32) /
                                                   static_cast<std::uint64_t>(divisor)) +
                            1;
}

}  // namespace convolve
