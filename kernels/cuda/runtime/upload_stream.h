// SPDX-License-Identifier: LGPL-2.1-or-later
// The one stream on which all devices of a context send frames to the GPU.
//
// An engine that copies takes the copies of one stream for many milliseconds before it turns to
// another: of eight pipelines of 4K with streams of their own the slowest got 0.56 of the mean, and
// frames waited for up to 158 ms. In one stream copies run in the order in which they were
// enqueued, which is that of the frames. What waits for kernels must not be
// among them, as one that takes long would hold up the frames of others: copies back have a stream
// for each device, and both fields of a frame have room of their own. Only a frame that a stop has
// left behind is waited for.
#pragma once

#include <memory>

#include "kernels/cuda/runtime/context.h"
#include "kernels/cuda/runtime/handles.h"

namespace convolve {

/// The context must be current, here and when the last reference goes. Errors: of CUDA.
Result<std::shared_ptr<const Stream>> shared_upload_stream(const Context& context);

}  // namespace convolve
