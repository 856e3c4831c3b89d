// SPDX-License-Identifier: LGPL-2.1-or-later
// A playing pipeline of one cudaconvolve for the GPU runner's programs: bytes in, samples out.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace cudaconvolve::gpu {

using Bytes = std::vector<std::uint8_t>;

class ElementPipeline {
 public:
  /// `properties` as gst-launch takes them after the element's name. The pipeline is playing at
  /// once; a failure shows in the first pull().
  ElementPipeline(const std::string& properties, GstVideoFormat format, int width, int height);
  ~ElementPipeline();
  ElementPipeline(const ElementPipeline&) = delete;
  ElementPipeline& operator=(const ElementPipeline&) = delete;

  /// Sets a property from text, from the next frame pushed on.
  void set(const char* property, const std::string& value);

  void push(const Bytes& frame);

  /// The samples of the next filtered frame without any padding, component after component; nothing
  /// after an error, the end of the stream, or 20 seconds.
  std::optional<Bytes> pull();

  /// "cuda coarsened ...", or empty.
  std::string active_plan() const;

  struct Messages {
    int warnings = 0;
    int errors = 0;
    std::string last;
  };
  /// What the element posted since the last call.
  Messages messages();

  const GstVideoInfo& info() const { return info_; }

 private:
  void read_bus();

  GstVideoInfo info_{};
  GstElement* pipeline_ = nullptr;
  GstElement* source_ = nullptr;
  GstElement* filter_ = nullptr;
  GstElement* sink_ = nullptr;
  GstClockTime next_pts_ = 0;
  Messages unread_;
  bool failed_ = false;  ///< The element has posted an error: no more frames will come.
};

/// A frame of `info`'s size, padding included, of random bytes.
Bytes random_frame(const GstVideoInfo& info, std::mt19937& random);

/// Pushes `frame` and pulls the result.
std::optional<Bytes> filter(ElementPipeline& pipeline, const Bytes& frame);

/// Prints the line that scripts read and gives the exit status.
int finish(long passed, long failed);

}  // namespace cudaconvolve::gpu
