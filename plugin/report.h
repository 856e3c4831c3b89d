// SPDX-License-Identifier: LGPL-2.1-or-later
// How an engine Status becomes a message on the bus.
#pragma once

#include <gst/gst.h>

#include <string>

#include "kernels/convolver.h"

namespace cudaconvolve {

/// Posts an error: the stream ends. `doing` begins the user's text: "DOING: status message".
/// Settings give GST_LIBRARY_ERROR_SETTINGS, devices and memory GST_RESOURCE_ERROR_*.
void post_error(GstElement* element, const std::string& doing, const convolve::Status& status);

/// Posts a warning: the stream goes on, in the way that `consequence` says.
void post_warning(GstElement* element, const std::string& doing, const convolve::Status& status,
                  const std::string& consequence);

/// Posts GST_STREAM_ERROR_FAILED for a buffer that cannot be filtered.
void post_bad_buffer(GstElement* element, const std::string& which, const convolve::Status& status);

/// Posts GST_STREAM_ERROR_FORMAT for caps that cannot be filtered.
void post_bad_caps(GstElement* element, const convolve::Status& status);

/// Takes the engine's log lines into the debug category. `element` must outlive the devices it is
/// given to.
convolve::LogCallback make_log_callback(GstElement* element);

}  // namespace cudaconvolve
