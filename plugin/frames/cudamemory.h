// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in CUDA memory, and the CUDA context that the elements of a pipeline share for them. The
// only door to GStreamer's CUDA library: a stub stands behind it in builds without that library.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>

#include "kernels/convolver.h"

namespace cudaconvolve {

/// True if frames may lie in CUDA memory: the library is built in, and of a version whose calls are
/// known. Makes no CUDA call.
bool knows_cuda_memory();

/// True if CUDA memory may have a stream, which work with it can be put on: from GStreamer 1.24 on.
bool cuda_memory_has_streams();

/// True if `buffer` has memory, and all of it is CUDA memory.
bool is_in_cuda_memory(GstBuffer* buffer);

/// As `flags`, but what is mapped is the address on the device, in the place of a copy in system
/// memory.
GstMapFlags on_the_device(GstMapFlags flags);

/// Where the planes lie in the CUDA memory of `buffer`, whatever the caps say: for buffers without
/// a GstVideoMeta.
const GstVideoInfo& cuda_memory_layout(GstBuffer* buffer);

/// The cudaStream_t on which the owner of `buffer`, which is in CUDA memory, may still be at work
/// with it, or null. Memory of several streams is waited for here.
void* cuda_memory_stream(GstBuffer* buffer);

/// True if memory `n` of `buffer`, which is in CUDA memory, waits in host memory: mapping it begins
/// a copy, and who wrote it may write there again as soon as the buffer comes back.
bool is_written_by_cpu(GstBuffer* buffer, guint n);

/// Lets who waits for the memory of `buffer`, which is in CUDA memory with a stream, wait for that
/// stream, though nobody has written it: it may still be read there.
void mark_read_on_stream(GstBuffer* buffer);

/// Tells the leaks tracer that the context of `memory`, if it is CUDA memory, is kept for good.
void keep_context_of(GstMemory* memory);

/// An element's part in the sharing. All functions may be called from any thread; none makes a CUDA
/// call before acquire(), and none fails loudly: without a shared context the engine uses its own.
/// offer() and answer() never wait for an acquire() that asks others.
class SharedCudaContext {
 public:
  SharedCudaContext();
  ~SharedCudaContext();
  SharedCudaContext(const SharedCudaContext&) = delete;
  SharedCudaContext& operator=(const SharedCudaContext&) = delete;

  /// GstElement::set_context: keeps the context if it is one for CUDA device `device_id` (-1 =
  /// any) and there is none yet.
  void offer(GstElement* element, GstContext* context, int device_id);

  /// Answers a GST_QUERY_CONTEXT if this has a context; false if the query is for somebody else.
  bool answer(GstElement* element, GstQuery* query);

  /// Finds the context for `device_id` that an element of the pipeline already has. False if there
  /// is none: then the engine works in the device's primary context. None is made here, which would
  /// cost every start a tenth of a second and, with frames in system memory, share nothing.
  bool acquire(GstElement* element, int device_id);

  /// If there is none, makes the context of the engine's device the shared one, and tells the
  /// pipeline. False if there is none afterwards.
  bool provide(GstElement* element, const convolve::Device::NativeContext& native);

  /// True if `buffer`, which is in CUDA memory, lies in another context than this one.
  bool is_foreign(GstBuffer* buffer) const;

  /// Takes the context that `buffer` lies in, in the place of the present one, and tells the
  /// pipeline. False, and nothing changes, if it is not one for CUDA device `device_id` (-1 = any).
  bool adopt(GstElement* element, GstBuffer* buffer, int device_id);

  /// The CUcontext; null if there is none.
  void* handle() const;

  /// A pool of frames in CUDA memory in this context, not configured; null if there is none.
  GstBufferPool* new_pool() const;

  /// Gives the memory of `pool`, one that such a context has, a stream by way of `config`, if
  /// GStreamer knows streams and it has none: then frames are pushed while they are still being
  /// made. It is the same for the pools on both sides, and that of a neighbour's pool if it came
  /// with one, as in GStreamer's own elements: two streams would wait for each other with every
  /// frame.
  void give_stream(GstBufferPool* pool, GstStructure* config) const;

  /// True if `pool` is such a pool.
  bool made(GstBufferPool* pool) const;

  /// Drops the context, after the engine's device is closed.
  void release();

  /// Makes the shared context current for a scope, if there is one.
  class Scope {
   public:
    explicit Scope(SharedCudaContext& shared);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

    /// True if there was one, which is current now.
    bool pushed() const { return pushed_ != nullptr; }

   private:
    GstObject* pushed_ = nullptr;  ///< The context, kept for the scope.
  };

 private:
  struct State;
  void tell_pipeline(GstElement* element);

  std::unique_ptr<State> state_;
};

}  // namespace cudaconvolve
