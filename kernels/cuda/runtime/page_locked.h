// SPDX-License-Identifier: LGPL-2.1-or-later
// Page-locked host memory, which copies cross asynchronously and at the speed of the bus.
//
// It is ordinary memory that is registered with the driver for all contexts, so it stays readable
// and writable when its context or the whole device is gone. To unlock memory, the driver waits for
// all work of all streams (2.9 s behind a kernel of 3 s on an H100). So memory that is given back
// while a device of the process works is kept, for whoever asks for as much again, until all rest.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/core/base/status.h"
#include "kernels/cuda/runtime/context.h"

namespace convolve {

inline constexpr std::size_t kPageBytes = 4096;

/// Registers `bytes` bytes from `memory` on, a page, for all contexts. Does nothing if they are
/// registered: the context that they were registered in may be gone, and the registration with it,
/// so the driver is asked. A context must be current. Errors: kOutOfMemory, kDeviceLost, of CUDA.
Status lock_pages(void* memory, std::size_t bytes);

/// True if the current context knows the byte at `memory` as page-locked.
bool is_page_locked(const void* memory);

/// Once as much as this is kept of what was given back while a device worked, no other memory is
/// page-locked until it is taken again or all rest.
inline constexpr std::size_t kMostKeptBytes = std::size_t{256} << 20;

/// `bytes` bytes, from a page on, registered in `context`, which is current. Goes back with its
/// last owner, from any thread, with any context current or none, whether or not `context` is still
/// there. Errors: kOutOfMemory, also if as much as kMostKeptBytes waits for devices to rest, unless
/// it is `needed`; kDeviceLost, of CUDA.
Result<std::shared_ptr<std::uint8_t>> make_page_locked(const Context& context, std::size_t bytes,
                                                       bool needed = false);

/// Tells that a device begins to work, and that all it was given has ended. In pairs. What a device
/// that is left behind may still write is never freed, so it never ends its work.
void device_begins_work();
void device_ends_work();

}  // namespace convolve
