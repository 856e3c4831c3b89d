// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/report.h"

#include "plugin/log.h"

namespace cudaconvolve {
namespace {

using convolve::Code;
using convolve::Status;

struct ErrorKind {
  GQuark domain;
  gint code;
};

ErrorKind kind_of(Code code) {
  switch (code) {
    case Code::kOk:
    case Code::kInvalidArgument:
    case Code::kUnsupported:
      return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS};
    case Code::kNoDevice:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND};
    case Code::kOutOfMemory:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NO_SPACE_LEFT};
    case Code::kDeviceError:
    case Code::kDeviceLost:
    case Code::kStopped:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED};
  }
  return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED};
}

void post(GstElement* element, GstMessageType type, ErrorKind kind, const std::string& text) {
  gst_element_message_full(element, type, kind.domain, kind.code, g_strdup(text.c_str()), nullptr,
                           __FILE__, GST_FUNCTION, __LINE__);
}

GstDebugLevel debug_level(convolve::LogLevel level) {
  switch (level) {
    case convolve::LogLevel::kDebug:
      return GST_LEVEL_DEBUG;
    case convolve::LogLevel::kInfo:
      return GST_LEVEL_INFO;
    case convolve::LogLevel::kWarning:
      return GST_LEVEL_WARNING;
  }
  return GST_LEVEL_DEBUG;
}

}  // namespace

void post_error(GstElement* element, const std::string& doing, const Status& status) {
  post(element, GST_MESSAGE_ERROR, kind_of(status.code()), doing + ": " + status.message());
}

void post_warning(GstElement* element, const std::string& doing, const Status& status,
                  const std::string& consequence) {
  post(element, GST_MESSAGE_WARNING, kind_of(status.code()),
       doing + ": " + status.message() + "; " + consequence);
}

void post_bad_buffer(GstElement* element, const std::string& which, const Status& status) {
  post(element, GST_MESSAGE_ERROR, {GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED},
       which + " buffer: " + status.message());
}

void post_bad_caps(GstElement* element, const Status& status) {
  post(element, GST_MESSAGE_ERROR, {GST_STREAM_ERROR, GST_STREAM_ERROR_FORMAT}, status.message());
}

convolve::LogCallback make_log_callback(GstElement* element) {
  return [element](convolve::LogLevel level, const std::string& line) {
    GST_CAT_LEVEL_LOG(GST_CAT_DEFAULT, debug_level(level), element, "%s", line.c_str());
  };
}

}  // namespace cudaconvolve
