// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams that the devices of a context share, for frames that cross the bus.
//
// An engine that copies takes the copies of one stream for many milliseconds before it turns to
// another: of eight pipelines of 4K with streams of their own the slowest got 0.54 of the mean, and
// frames waited for up to 340 ms. In one stream copies run in the order in which they were
// enqueued, which is that of the frames: none got less than 0.99 of the mean, and 99 of 100 frames
// took less than 8.5 ms. And the driver puts all streams of a program on eight queues, where one
// waits for the other whatever they have to do: with a stream each for the kernels of 32 pipelines
// of 1080p, uploads stand behind kernels that wait for other uploads.
//
// Whatever is enqueued here delays the frames of other elements. So it waits for nothing but what
// brings the frames themselves: planes with owners, second fields and kernels that take longer than
// a crossing go on streams of their device (DeviceCore::streams()). Beside that they wait for the
// element's own kernels before, where those had another stream, and for frames that a stop has left
// behind.
#pragma once

#include <memory>

#include "kernels/cuda/runtime/context.h"
#include "kernels/cuda/runtime/handles.h"

namespace convolve {

/// The streams for uploads and downloads are those of all devices of a context, that for kernels is
/// the one of two that fewer of them have.
struct SharedStreams {
  std::shared_ptr<const Stream> upload, kernels, download;

  explicit operator bool() const { return upload != nullptr; }
  /// How many devices share them.
  long users() const { return upload.use_count(); }
};

/// The context must be current, here and when the last reference goes. Errors: of CUDA.
Result<SharedStreams> shared_streams(const Context& context);

}  // namespace convolve
