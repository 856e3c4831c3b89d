// SPDX-License-Identifier: LGPL-2.1-or-later
// One pipeline of a row: source, caps, elements, fakesink; its bus, and what arrives.
#pragma once

#include <gst/video/video.h>

#include <string>

#include "tests/benchmarks/pipelines/course.h"
#include "tests/benchmarks/pipelines/picture_sample.h"
#include "tests/benchmarks/pipelines/row_run.h"

namespace cudaconvolve::pipelines {

/// The frames of `asked`.
GstVideoInfo video_info(const Case& asked, int live_fps);

/// Tells its course whatever goes wrong, warnings on the bus included.
class Line {
 public:
  /// `number` counts the pipelines that run at once, from 0 on.
  Line(const Case& asked, int number, int live_fps, Course& course, Track& track);
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void play();

  std::string pool() const { return source_pool(source_); }

  /// `stats` and `active-plan` of the first element that has them.
  void read_element(Row* row) const;

  /// Whether the sampled frame was another one at the sink than at the source.
  bool changed() const { return sample_ != source_sample(source_); }

 private:
  static GstBusSyncReply on_message(GstBus* bus, GstMessage* message, gpointer line);
  static GstPadProbeReturn on_buffer(GstPad* pad, GstPadProbeInfo* info, gpointer line);

  Course& course_;
  Track& track_;
  GstElement* pipeline_ = nullptr;
  GstElement* source_ = nullptr;
  PictureSample sample_;
};

}  // namespace cudaconvolve::pipelines
