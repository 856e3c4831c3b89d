// SPDX-License-Identifier: LGPL-2.1-or-later
// Builds without gstreamer-cuda-1.0: nothing is shared, and no frame lies in CUDA memory.
#include "plugin/frames/cudamemory.h"

namespace cudaconvolve {

bool knows_cuda_memory() {
  return false;
}
bool cuda_memory_has_streams() {
  return false;
}
bool is_in_cuda_memory(GstBuffer*) {
  return false;
}
GstMapFlags on_the_device(GstMapFlags flags) {
  return flags;
}
const GstVideoInfo& cuda_memory_layout(GstBuffer*) {
  static const GstVideoInfo none = {};
  return none;
}
void* cuda_memory_stream(GstBuffer*) {
  return nullptr;
}
void keep_context_of(GstMemory*) {}

struct SharedCudaContext::State {};

SharedCudaContext::SharedCudaContext() = default;
SharedCudaContext::~SharedCudaContext() = default;

bool is_written_by_cpu(GstBuffer*, guint) {
  return false;
}
void mark_read_on_stream(GstBuffer*) {}
void SharedCudaContext::offer(GstElement*, GstContext*, int) {}
bool SharedCudaContext::answer(GstElement*, GstQuery*) {
  return false;
}
bool SharedCudaContext::acquire(GstElement*, int) {
  return false;
}
bool SharedCudaContext::provide(GstElement*, const convolve::Device::NativeContext&) {
  return false;
}
bool SharedCudaContext::is_foreign(GstBuffer*) const {
  return false;
}
bool SharedCudaContext::adopt(GstElement*, GstBuffer*, int) {
  return false;
}
void* SharedCudaContext::handle() const {
  return nullptr;
}
GstBufferPool* SharedCudaContext::new_pool() const {
  return nullptr;
}
void SharedCudaContext::give_stream(GstBufferPool*, GstStructure*) const {}
bool SharedCudaContext::made(GstBufferPool*) const {
  return false;
}
void SharedCudaContext::release() {}

SharedCudaContext::Scope::Scope(SharedCudaContext&) {}
SharedCudaContext::Scope::~Scope() = default;

}  // namespace cudaconvolve
