// SPDX-License-Identifier: LGPL-2.1-or-later
// Which instruction sets the vector kernels are compiled for. Comes before any header of Highway.
#pragma once

#include <hwy/detect_compiler_arch.h>

/// Vectors whose size is unknown when compiling (SVE, RISC-V) cannot be kept in arrays, which is
/// how the register tiles are written; such machines run the next best target.
#define CONVOLVE_SIZELESS_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

/// Processors that have SSSE3 and no SSE4 were made for some two years (2006 and 2007). They run
/// what every machine has, and each target takes a fifth of the time to compile.
#define CONVOLVE_UNUSED_TARGETS (CONVOLVE_SIZELESS_TARGETS | HWY_SSSE3)

/// With a sanitizer each takes a minute to compile. SSE2 and AVX2 show nearly the same code; what
/// AVX-512 alone has, such as shifts in registers and pixels filtered where they lie, is seen to
/// stay within its frames by tests/kernels/page_ends_test.cc.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HWY_DISABLED_TARGETS (CONVOLVE_UNUSED_TARGETS | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS CONVOLVE_UNUSED_TARGETS
#endif
