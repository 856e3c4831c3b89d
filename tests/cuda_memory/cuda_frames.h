// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in CUDA memory for tests: made with GStreamer's CUDA library, on a GPU or on the stand-in
// for its driver.
#pragma once

#include <gst/video/video.h>

#include <memory>
#include <random>
#include <vector>

#include "tests/support/oracle.h"

typedef struct _GstCudaContext GstCudaContext;

namespace cuda_frames {

/// The formats that GStreamer's CUDA library lays out, of the element's pad template.
const std::vector<GstVideoFormat>& formats();

/// A context, released with its last owner.
using Context = std::shared_ptr<GstCudaContext>;

/// A new one on a device; null where there is none.
Context new_context(int device = 0);

/// As an application gives it to its elements (transfer full).
GstContext* as_gst_context(const Context& context);

/// The one that an element shares with its neighbours; null if it has none.
Context shared_by(GstElement* element);

/// Caps of `info`, in CUDA memory or in system memory (transfer full).
GstCaps* caps_of(const GstVideoInfo& info, bool cuda);

/// `frame`, laid out as `info` says, as a buffer of a pool of the library, with this timestamp in
/// frames of 1/25 s. Null if there is no memory.
GstBuffer* upload(const Context& context, const GstVideoInfo& info, const oracle::Bytes& frame,
                  int number = 0);

/// True if memory may be in the making on a stream of its own: from GStreamer 1.24 on.
bool has_streams();

/// As upload(), but the copy is asked for on a new stream, which nobody waits for here; null where
/// there are no streams.
GstBuffer* upload_on_a_stream(const Context& context, const GstVideoInfo& info,
                              const oracle::Bytes& frame, int number);

/// A pool of the library, as a source has one: frames of `info`, on a stream of their own where
/// there are streams.
class Pool {
 public:
  Pool(const Context& context, const GstVideoInfo& info);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// `frame` in a buffer of this pool, with this timestamp in frames of 1/25 s; null if there is no
  /// memory.
  GstBuffer* upload(const oracle::Bytes& frame, int number);

 private:
  const GstVideoInfo info_;
  GstBufferPool* pool_;
  gpointer stream_ = nullptr;  ///< A CUstream.
};

/// A pool of the library as downstream offers one, not active, of `most` buffers at most (0 = any
/// number), of which `least` are made at once.
GstBufferPool* bounded_pool(const Context& context, const GstVideoInfo& info, guint least,
                            guint most);

/// `frame` as a buffer whose planes lie at any address and of any pitch that samples allow, drawn
/// from `random`, with foreign bytes around them.
GstBuffer* upload_anywhere(const Context& context, const GstVideoInfo& info,
                           const oracle::Bytes& frame, int number, std::mt19937& random);

/// The picture in `buffer`, in whichever memory, laid out as `info` says. CUDA memory is read where
/// it lies: GStreamer 1.22 does not bring all chroma of odd heights to system memory.
oracle::Bytes picture_of(GstBuffer* buffer, const GstVideoInfo& info);

/// True if all memory of `buffer` is CUDA memory.
bool is_in_cuda_memory(GstBuffer* buffer);

/// The CUcontext that the memory of `buffer`, which is CUDA memory, lies in.
gpointer handle_of(GstBuffer* buffer);

}  // namespace cuda_frames
