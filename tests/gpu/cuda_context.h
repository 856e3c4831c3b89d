// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

#include <gst/gst.h>

namespace cudaconvolve::gpu {

/// A new CUDA context of device 0, as applications give it to their pipelines. Null in builds
/// without GStreamer's CUDA library, and where there is no device.
GstContext* new_cuda_context();

}  // namespace cudaconvolve::gpu
