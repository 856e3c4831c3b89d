// SPDX-License-Identifier: LGPL-2.1-or-later
// How kernels wait for memory that other threads write. A kernel that polled for ever could not be
// stopped from outside, and the process that launched it would hang in the driver. So every poll
// has a limit: an error of ours then becomes an error that the host sees, and it goes on without
// the GPU.
#pragma once

#include <cuda_runtime.h>

namespace convolve {

/// Clock cycles of a multiprocessor after which a poll gives up: about two seconds. What is polled
/// for takes microseconds.
inline constexpr long long kLongestPoll = 1LL << 32;

/// Calls `done` until it returns true. Traps after kLongestPoll, which the host sees as a sticky
/// error.
template <class Done>
static __device__ __forceinline__ void poll(const Done& done) {
  if (done()) return;
  const long long begin = clock64();
  while (!done())
    if (clock64() - begin > kLongestPoll) __trap();
}

}  // namespace convolve
