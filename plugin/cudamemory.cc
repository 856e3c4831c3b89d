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
  if (!gst_cuda_ensure_element_context(element, device_id, &state_->context)) {
    GST_DEBUG_OBJECT(element, "no CUDA context to share for device %d", device_id);
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
