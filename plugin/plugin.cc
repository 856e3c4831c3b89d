// SPDX-License-Identifier: LGPL-2.1-or-later
// The plugin: registration only. Loading and inspecting make no CUDA call.
#include <gst/gst.h>

#include "plugin/gstcudaconvolve.h"

static gboolean plugin_init(GstPlugin* plugin) {
  return GST_ELEMENT_REGISTER(cudaconvolve, plugin);
}

GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, cudaconvolve,
                  "Convolution of video with masks, on CUDA or on the CPU", plugin_init, VERSION,
                  "LGPL", PACKAGE, PACKAGE_ORIGIN)
