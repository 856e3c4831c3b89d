// SPDX-License-Identifier: LGPL-2.1-or-later
// Whole numbers rounded up, of tiles, blocks and bytes: neither may be negative.
#pragma once

#include "kernels/core/host_device.h"

namespace convolve {

/// How many units of `unit` hold `value`.
CONVOLVE_HD constexpr int divide_up(int value, int unit) {
  return (value + unit - 1) / unit;
}

/// The multiple of `unit` that is not below `value`.
CONVOLVE_HD constexpr int round_up(int value, int unit) {
  return divide_up(value, unit) * unit;
}

}  // namespace convolve
