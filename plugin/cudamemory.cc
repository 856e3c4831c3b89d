// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/cudamemory.h"

#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudautils.h>

#include <mutex>

#include "plugin/log.h"

namespace cudaconvolve {

/// Recursive: asking the pipeline for a context calls set_context of the same element on the way.
struct SharedCudaContext::State {
  std::recursive_mutex mutex;
  GstCudaContext* context = nullptr;
};

namespace {

/// Asks the elements on both sides for the context that they have.
void ask_neighbours(GstElement* element, int device_id, GstCudaContext** context) {
  for (const char* name : {"src", "sink"}) {
    GstPad* pad = gst_element_get_static_pad(element, name);
    if (pad == nullptr) continue;
    GstQuery* query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
    GstContext* found = nullptr;
    if (gst_pad_peer_query(pad, query)) gst_query_parse_context(query, &found);
    if (found != nullptr) gst_cuda_handle_set_context(element, found, device_id, context);
    gst_query_unref(query);
    gst_object_unref(pad);
    if (*context != nullptr) return;
  }
}

}  // namespace

SharedCudaContext::SharedCudaContext() : state_(std::make_unique<State>()) {}

SharedCudaContext::~SharedCudaContext() {
  release();
}

void SharedCudaContext::offer(GstElement* element, GstContext* context, int device_id) {
  const std::lock_guard lock(state_->mutex);
  gst_cuda_handle_set_context(element, context, device_id, &state_->context);
}

bool SharedCudaContext::answer(GstElement* element, GstQuery* query) {
  const std::lock_guard lock(state_->mutex);
  return state_->context != nullptr &&
         gst_cuda_handle_context_query(element, query, state_->context);
}

bool SharedCudaContext::acquire(GstElement* element, int device_id) {
  if (!gst_cuda_load_library()) {
    GST_DEBUG_OBJECT(element, "no CUDA driver library: no context to share");
    return false;
  }
  const std::lock_guard lock(state_->mutex);
  if (state_->context == nullptr) ask_neighbours(element, device_id, &state_->context);
  if (state_->context == nullptr) {
    // Bins and the application answer by calling set_context before this returns.
    gst_element_post_message(
        element, gst_message_new_need_context(GST_OBJECT_CAST(element), GST_CUDA_CONTEXT_TYPE));
  }
  if (state_->context == nullptr) {
    GST_DEBUG_OBJECT(element, "nobody has a CUDA context to share");
    return false;
  }
  GST_DEBUG_OBJECT(element, "shares %" GST_PTR_FORMAT, state_->context);
  return true;
}

void SharedCudaContext::release() {
  const std::lock_guard lock(state_->mutex);
  gst_clear_object(&state_->context);
}

SharedCudaContext::Scope::Scope(SharedCudaContext& shared) {
  const std::lock_guard lock(shared.state_->mutex);
  pushed_ = shared.state_->context != nullptr && gst_cuda_context_push(shared.state_->context);
}

SharedCudaContext::Scope::~Scope() {
  if (pushed_) gst_cuda_context_pop(nullptr);
}

}  // namespace cudaconvolve
