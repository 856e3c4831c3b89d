// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams that the devices of a context share.
//
// An engine that copies takes the copies of one stream for many milliseconds before it turns to
// another: of eight pipelines of 4K with streams of their own for uploads the slowest got 0.56 of
// the mean, and frames waited for up to 158 ms. In one stream copies run in the order in which they
// were enqueued, which is that of the frames. What waits for kernels must not be among them, as one
// that takes long would hold up the frames of others: copies back have a stream for each device,
// and both fields of a frame have room of their own. Only a frame that a stop has left behind is
// waited for.
//
// Streams for kernels are few. The driver puts all streams of a program on eight queues, and those
// on one queue wait for each other whatever they have to do. So more streams than queues gain
// nothing, and with a stream for each of 32 pipelines of 1080p uploads stand behind kernels that
// wait for other uploads: 89 % of what the bus lets through (H100), and 97 with two streams for
// all. Of 8 pipelines it is 96 and 98 %. With four streams it is 94 and 92 %.
#pragma once

#include <memory>

#include "kernels/cuda/runtime/context.h"
#include "kernels/cuda/runtime/handles.h"

namespace convolve {

/// The one stream on which all devices of a context send frames to the GPU. The context must be
/// current, here and when the last reference goes. Errors: of CUDA.
Result<std::shared_ptr<const Stream>> shared_upload_stream(const Context& context);

/// The stream for kernels that the fewest devices have: of two devices each has its own. As above.
Result<std::shared_ptr<const Stream>> shared_kernel_stream(const Context& context);

}  // namespace convolve
