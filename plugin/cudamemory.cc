// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/cudamemory.h"

#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudautils.h>

#include <mutex>
#include <utility>

#include "plugin/log.h"

namespace cudaconvolve {

/// The mutex guards the pointer and nothing else. Whoever is asked for a context may ask this
/// element in turn, or set one on it: no lock is held meanwhile.
struct SharedCudaContext::State {
  std::mutex mutex;
  GstCudaContext* context = nullptr;

  /// A reference of the caller's own, or null.
  GstCudaContext* ref() {
    const std::lock_guard lock(mutex);
    if (context != nullptr) gst_object_ref(context);
    return context;
  }

  /// Takes `found` over, which may be null, unless there is a context already: that one stays.
  void keep(GstCudaContext* found) {
    {
      const std::lock_guard lock(mutex);
      if (context == nullptr) std::swap(context, found);
    }
    gst_clear_object(&found);
  }

  bool has_context() {
    const std::lock_guard lock(mutex);
    return context != nullptr;
  }
};

namespace {

/// The context in `context`, if it is for the device; the caller's own reference.
GstCudaContext* context_in(GstElement* element, GstContext* context, int device_id) {
  GstCudaContext* found = nullptr;
  gst_cuda_handle_set_context(element, context, device_id, &found);
  return found;
}

/// The context that an element on either side has, or null.
GstCudaContext* ask_neighbours(GstElement* element, int device_id) {
  GstCudaContext* cuda = nullptr;
  for (const char* name : {"src", "sink"}) {
    GstPad* pad = gst_element_get_static_pad(element, name);
    if (pad == nullptr) continue;
    GstQuery* query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
    GstContext* found = nullptr;
    if (gst_pad_peer_query(pad, query)) gst_query_parse_context(query, &found);
    if (found != nullptr) cuda = context_in(element, found, device_id);
    gst_query_unref(query);
    gst_object_unref(pad);
    if (cuda != nullptr) break;
  }
  return cuda;
}

}  // namespace

SharedCudaContext::SharedCudaContext() : state_(std::make_unique<State>()) {}

SharedCudaContext::~SharedCudaContext() {
  release();
}

void SharedCudaContext::offer(GstElement* element, GstContext* context, int device_id) {
  state_->keep(context_in(element, context, device_id));
}

bool SharedCudaContext::answer(GstElement* element, GstQuery* query) {
  GstCudaContext* context = state_->ref();
  if (context == nullptr) return false;
  const bool answered = gst_cuda_handle_context_query(element, query, context) != FALSE;
  gst_object_unref(context);
  return answered;
}

bool SharedCudaContext::acquire(GstElement* element, int device_id) {
  if (!gst_cuda_load_library()) {
    GST_DEBUG_OBJECT(element, "no CUDA driver library: no context to share");
    return false;
  }
  if (!state_->has_context()) state_->keep(ask_neighbours(element, device_id));
  if (!state_->has_context()) {
    // Bins and the application answer by calling set_context before this returns.
    gst_element_post_message(
        element, gst_message_new_need_context(GST_OBJECT_CAST(element), GST_CUDA_CONTEXT_TYPE));
  }
  GstCudaContext* context = state_->ref();
  if (context == nullptr) {
    GST_DEBUG_OBJECT(element, "nobody has a CUDA context to share");
    return false;
  }
  GST_DEBUG_OBJECT(element, "shares %" GST_PTR_FORMAT, context);
  gst_object_unref(context);
  return true;
}

void SharedCudaContext::release() {
  GstCudaContext* context = nullptr;
  {
    const std::lock_guard lock(state_->mutex);
    std::swap(context, state_->context);
  }
  gst_clear_object(&context);
}

SharedCudaContext::Scope::Scope(SharedCudaContext& shared) {
  GstCudaContext* context = shared.state_->ref();
  if (context == nullptr) return;
  if (gst_cuda_context_push(context))
    pushed_ = GST_OBJECT(context);
  else
    gst_object_unref(context);
}

SharedCudaContext::Scope::~Scope() {
  if (pushed_ == nullptr) return;
  gst_cuda_context_pop(nullptr);
  gst_object_unref(pushed_);
}

}  // namespace cudaconvolve
