// SPDX-License-Identifier: LGPL-2.1-or-later
// Builds without gstreamer-cuda-1.0: nothing is shared.
#include "plugin/cudamemory.h"

namespace cudaconvolve {

struct SharedCudaContext::State {};

SharedCudaContext::SharedCudaContext() = default;
SharedCudaContext::~SharedCudaContext() = default;

void SharedCudaContext::offer(GstElement*, GstContext*, int) {}
bool SharedCudaContext::answer(GstElement*, GstQuery*) {
  return false;
}
bool SharedCudaContext::acquire(GstElement*, int) {
  return false;
}
void SharedCudaContext::release() {}

SharedCudaContext::Scope::Scope(SharedCudaContext&) {}
SharedCudaContext::Scope::~Scope() = default;

}  // namespace cudaconvolve
