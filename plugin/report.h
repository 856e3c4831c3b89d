// SPDX-License-Identifier: LGPL-2.1-or-later
// How an engine Status, or an exception, becomes a message on the bus.
#pragma once

#include <gst/gst.h>

#include <exception>
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

/// No exception may cross GStreamer's C frames: exhausted memory becomes an error message. Every
/// vmethod that runs C++ of more than these frames runs it in here.
template <class Result, class Function>
Result guarded(gpointer self, Result on_failure, Function&& function) {
  try {
    return function();
  } catch (const std::exception& e) {
    GST_ELEMENT_ERROR(self, RESOURCE, NO_SPACE_LEFT, ("unexpected failure: %s", e.what()),
                      (nullptr));
  } catch (...) {
    GST_ELEMENT_ERROR(self, LIBRARY, FAILED, ("unexpected failure"), (nullptr));
  }
  return on_failure;
}

}  // namespace cudaconvolve
