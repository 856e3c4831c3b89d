// SPDX-License-Identifier: LGPL-2.1-or-later
// The element in a GstHarness, with its bus. The environment variable CUDACONVOLVE_TEST_BACKEND
// (auto, cuda or cpu; default auto) selects the backend of every element made here.
#pragma once

#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/oracle.h"

namespace check {

/// Property names and values as gst-launch takes them.
using Settings = std::vector<std::pair<std::string, std::string>>;

/// A new `cudaconvolve` (floating reference sunk) with `settings`.
GstElement* make_element(const Settings& settings = {});

/// A message on the bus that tells the user something.
struct Message {
  GstMessageType type;
  GQuark domain;
  int code;
  std::string text;
};

/// All messages of `types` (warnings, errors) posted so far; removes everything from the bus.
std::vector<Message> take_messages(GstBus* bus, GstMessageType types);

/// True once in the environment CUDACONVOLVE_REQUIRE_GPU=1: a test without a GPU must then fail.
bool gpu_required();

/// How often to do what is done in great numbers: `count` times, or the part of it that the
/// environment variable CUDACONVOLVE_TEST_PERCENT says (2 under valgrind, 1000 before a release).
int scaled(int count);

/// `format` of `width` x `height`, progressive unless `interlace_mode` says otherwise.
GstVideoInfo video_info(
    GstVideoFormat format, int width, int height,
    GstVideoInterlaceMode interlace_mode = GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);

/// All formats of the element's pad template.
const std::vector<GstVideoFormat>& template_formats();

/// A playing element. Unless `settings` say otherwise no frame is in flight: what is pushed has
/// come out when push() returns.
class Harness {
 public:
  explicit Harness(const Settings& settings = {});
  ~Harness();
  Harness(const Harness&) = delete;
  Harness& operator=(const Harness&) = delete;

  GstHarness* get() { return harness_; }
  GstElement* element() { return element_; }

  void set(const std::string& property, const std::string& value);
  std::string get_string(const char* property);
  guint64 stat(const char* field);

  /// Frames of `info` from here on.
  void set_caps(const GstVideoInfo& info);

  /// Pushes a frame of the caps with this timestamp in frames of 1/25 s.
  GstFlowReturn push(const oracle::Bytes& frame, int number = 0);
  GstFlowReturn push_buffer(GstBuffer* buffer);

  /// The next output buffer (owned by the caller), or nullptr.
  GstBuffer* pull_buffer();

  /// Its picture laid out as the caps say, whatever its strides; empty if there is none.
  oracle::Bytes pull();

  /// Pushes and pulls.
  oracle::Bytes filter(const oracle::Bytes& frame, int number = 0);

  std::vector<Message> errors() { return take_messages(bus_, GST_MESSAGE_ERROR); }
  std::vector<Message> warnings() { return take_messages(bus_, GST_MESSAGE_WARNING); }
  std::vector<Message> problems() {
    return take_messages(bus_,
                         static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING));
  }

 private:
  GstElement* element_;
  GstBus* bus_;
  GstHarness* harness_;
  GstVideoInfo info_;
};

/// `frame` as a buffer without GstVideoMeta.
GstBuffer* make_buffer(const oracle::Bytes& frame, int number = 0);

/// The picture in `buffer`, which has the caps `info`, laid out as `info` says.
oracle::Bytes picture_of(GstBuffer* buffer, const GstVideoInfo& info);

}  // namespace check
