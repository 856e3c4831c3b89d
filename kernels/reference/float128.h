// SPDX-License-Identifier: LGPL-2.1-or-later
// Floating point with 113 bits of significand, under the name that the machine has for it.
#pragma once

#include <cfloat>

namespace convolve {

#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 Float128;
#else
// On ARM long double is this format, and GCC has no other name for it in C++.
static_assert(LDBL_MANT_DIG == 113, "the exact reference needs quadruple precision");
typedef long double Float128;
#endif

}  // namespace convolve
