// SPDX-License-Identifier: LGPL-2.1-or-later
// The debug category of the plugin: GST_DEBUG=cudaconvolve:4 says the plan whenever it changes.
#pragma once

#include <gst/gst.h>

GST_DEBUG_CATEGORY_EXTERN(cuda_convolve_debug);
#define GST_CAT_DEFAULT cuda_convolve_debug
