// SPDX-License-Identifier: LGPL-2.1-or-later
// Sharing a CUDA context with the other elements of a pipeline (GstCudaContext). The only door to
// GStreamer's CUDA library: a stub stands behind it in builds without that library.
#pragma once

#include <gst/gst.h>

#include <memory>

namespace cudaconvolve {

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
  /// any).
  void offer(GstElement* element, GstContext* context, int device_id);

  /// Answers a GST_QUERY_CONTEXT if this has a context; false if the query is for somebody else.
  bool answer(GstElement* element, GstQuery* query);

  /// Finds the context for `device_id` that an element of the pipeline already has. False if there
  /// is none: then the engine works in the device's primary context. None is made here, which would
  /// cost every start a tenth of a second and, with frames in system memory, share nothing.
  bool acquire(GstElement* element, int device_id);

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
  std::unique_ptr<State> state_;
};

}  // namespace cudaconvolve
