// SPDX-License-Identifier: LGPL-2.1-or-later
// Who allocates frames: what upstream is offered for input, and which pool output comes from.
#pragma once

#include <gst/gst.h>

#include "plugin/frames/cudamemory.h"

namespace cudaconvolve {

/// Answers upstream's ALLOCATION query: any strides and offsets that a GstVideoMeta describes, and
/// a pool if it asks for one, of memory of `allocator` or, where that is null, of system memory; of
/// CUDA memory in `context` if the caps say so. False if the query has no usable caps.
bool offer_pool(GstQuery* query, GstAllocator* allocator, const SharedCudaContext& context);

/// Sets the first pool of the answer to our own ALLOCATION query: downstream's if it offers one,
/// else one of ours. Its memory is of downstream's allocator where that is a special one, else of
/// `allocator`, which may be null for system memory. With GstVideoMeta if both sides know it. Where
/// the caps say CUDA memory it is a pool of that in `context`, downstream's if it is one. False if
/// there are no usable caps, or no such pool.
bool choose_pool(GstQuery* query, GstAllocator* allocator, const SharedCudaContext& context);

}  // namespace cudaconvolve
