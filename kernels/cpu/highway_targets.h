// SPDX-License-Identifier: LGPL-2.1-or-later
// Which instruction sets the vector kernels are compiled for. Comes before any header of Highway.
#pragma once

#include <hwy/detect_compiler_arch.h>

/// Vectors whose size is unknown when compiling (SVE, RISC-V) cannot be kept in arrays, which is
/// how the register tiles are written; such machines run the next best target.
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
