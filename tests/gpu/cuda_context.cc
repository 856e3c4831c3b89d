// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/gpu/cuda_context.h"

#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudautils.h>

namespace cudaconvolve::gpu {

GstContext* new_cuda_context() {
  if (!gst_cuda_load_library()) return nullptr;
  GstCudaContext* cuda = gst_cuda_context_new(0);
  if (cuda == nullptr) return nullptr;
  GstContext* context = gst_context_new_cuda_context(cuda);
  gst_object_unref(cuda);
  return context;
}

}  // namespace cudaconvolve::gpu
