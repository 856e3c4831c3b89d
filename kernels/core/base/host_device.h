// SPDX-License-Identifier: LGPL-2.1-or-later
// Marks the rules that host and device code share, so that each is written once.
#pragma once

#ifdef __CUDACC__
#define CONVOLVE_HD __host__ __device__
#else
#define CONVOLVE_HD
#endif
