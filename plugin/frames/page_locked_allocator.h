// SPDX-License-Identifier: LGPL-2.1-or-later
// A GstAllocator of page-locked memory, which frames cross the bus from and to where they lie.
#pragma once

#include <gst/gst.h>

#include <memory>

#include "kernels/convolver.h"

namespace cudaconvolve {

/// The most page-locked memory of an element. What it wants beyond is ordinary memory.
inline constexpr gsize kMostPageLockedBytes = gsize{256} << 20;

/// An allocator for the frames of one element; the caller's own. Where `device` has no page-locked
/// memory left, or no more than kMostPageLockedBytes would do, it gives ordinary system memory, so
/// it never fails where that does not. Memory outlives allocator, element and device.
GstAllocator* new_page_locked_allocator(std::shared_ptr<convolve::Device> device);

/// From here on the allocator gives ordinary memory: its device is about to be closed.
void close_page_locked_allocator(GstAllocator* allocator);

/// True if `memory` is page-locked memory of such an allocator, or a part of it.
bool is_page_locked(GstMemory* memory);

}  // namespace cudaconvolve
