// SPDX-License-Identifier: LGPL-2.1-or-later
// Page-locked memory in buffers of one size, which all devices of the process take from and give
// back to.
//
// It is ordinary memory that is registered with the driver, and stays so: to unlock memory, the
// driver waits for all work of all streams (2.9 s behind a kernel of 3 s on an H100), and a filter
// that stops must not wait for others. So buffers are kept for the next filter; there are as many
// as were ever in use at once.
#pragma once

#include <cstddef>

#include "kernels/core/base/status.h"

namespace convolve {

inline constexpr std::size_t kStagingBufferBytes = std::size_t{1} << 20;

/// A buffer that copies of the current context cross asynchronously. Any thread. Errors:
/// kOutOfMemory, or of CUDA.
Result<void*> take_staging_buffer();

/// Gives a buffer back that nothing crosses any more.
void give_staging_buffer(void* buffer);

}  // namespace convolve
