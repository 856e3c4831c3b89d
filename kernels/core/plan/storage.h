// SPDX-License-Identifier: LGPL-2.1-or-later
// Where a kernel finds the mask.
#pragma once

#include <cstddef>

namespace convolve {

/// Decided when a plan is prepared on a device, and shown in active-plan.
enum class MaskStorage : int {
  kHostMemory,
  kConstantMemory,
  kGlobalMemory,
  kParameter,  ///< box, shift: one weight, which is part of the epilogue.
};

/// Largest mask that fits the 64 KB constant bank of a module, in bytes.
inline constexpr std::size_t kConstantBankBytes = 65536;

}  // namespace convolve
