// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/gpu/element_pipeline.h"

#include <gst/app/app.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace cudaconvolve::gpu {
namespace {

constexpr GstClockTime kSlice = 50 * GST_MSECOND;
constexpr int kPatience = 400;  ///< Slices: 20 seconds.

Bytes packed_samples(const GstVideoFrame& frame) {
  Bytes samples;
  for (guint c = 0; c < GST_VIDEO_FRAME_N_COMPONENTS(&frame); ++c) {
    const auto component = static_cast<gint>(c);
    const int bytes = (GST_VIDEO_FRAME_COMP_DEPTH(&frame, component) + 7) / 8;
    const int step = GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, component);
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&frame, component); ++y) {
      const auto* row =
          static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_COMP_DATA(&frame, component)) +
          std::ptrdiff_t{y} * GST_VIDEO_FRAME_COMP_STRIDE(&frame, component);
      for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&frame, component); ++x)
        samples.insert(samples.end(), row + std::ptrdiff_t{x} * step,
                       row + std::ptrdiff_t{x} * step + bytes);
    }
  }
  return samples;
}

}  // namespace

ElementPipeline::ElementPipeline(const std::string& properties, GstVideoFormat format, int width,
                                 int height) {
  gst_video_info_set_format(&info_, format, static_cast<guint>(width), static_cast<guint>(height));
  info_.fps_n = 25;
  const std::string line = "appsrc name=source format=time ! cudaconvolve name=filter " +
                           properties + " ! appsink name=sink sync=false";
  GError* error = nullptr;
  pipeline_ = gst_parse_launch(line.c_str(), &error);
  if (error != nullptr) {
    std::printf("FAIL %s\n", error->message);
    std::exit(1);
  }
  source_ = gst_bin_get_by_name(GST_BIN(pipeline_), "source");
  filter_ = gst_bin_get_by_name(GST_BIN(pipeline_), "filter");
  sink_ = gst_bin_get_by_name(GST_BIN(pipeline_), "sink");
  GstCaps* caps = gst_video_info_to_caps(&info_);
  gst_app_src_set_caps(GST_APP_SRC(source_), caps);
  gst_caps_unref(caps);
  gst_element_set_state(pipeline_, GST_STATE_PLAYING);
}

ElementPipeline::~ElementPipeline() {
  gst_element_set_state(pipeline_, GST_STATE_NULL);
  for (GstElement* element : {source_, filter_, sink_, pipeline_})
    gst_object_unref(element);
}

void ElementPipeline::set(const char* property, const std::string& value) {
  gst_util_set_object_arg(G_OBJECT(filter_), property, value.c_str());
}

void ElementPipeline::push(const Bytes& frame) {
  GstBuffer* buffer = gst_buffer_new_allocate(nullptr, frame.size(), nullptr);
  gst_buffer_fill(buffer, 0, frame.data(), frame.size());
  GST_BUFFER_PTS(buffer) = next_pts_;
  next_pts_ += GST_SECOND / 25;
  gst_app_src_push_buffer(GST_APP_SRC(source_), buffer);
}

std::optional<Bytes> ElementPipeline::pull() {
  GstSample* sample = nullptr;
  for (int n = 0; n < kPatience && sample == nullptr; ++n) {
    // Frames that came before an error are still there.
    sample = gst_app_sink_try_pull_sample(GST_APP_SINK(sink_), failed_ ? 0 : kSlice);
    if (sample != nullptr || failed_) break;
    read_bus();
  }
  if (sample == nullptr) return std::nullopt;
  std::optional<Bytes> samples;
  GstVideoInfo info;
  GstVideoFrame frame;
  if (gst_video_info_from_caps(&info, gst_sample_get_caps(sample)) &&
      gst_video_frame_map(&frame, &info, gst_sample_get_buffer(sample), GST_MAP_READ)) {
    samples = packed_samples(frame);
    gst_video_frame_unmap(&frame);
  }
  gst_sample_unref(sample);
  return samples;
}

std::string ElementPipeline::active_plan() const {
  gchar* plan = nullptr;
  g_object_get(filter_, "active-plan", &plan, nullptr);
  std::string text = plan == nullptr ? "" : plan;
  g_free(plan);
  return text;
}

ElementPipeline::Messages ElementPipeline::messages() {
  read_bus();
  return std::exchange(unread_, {});
}

void ElementPipeline::read_bus() {
  GstBus* bus = gst_element_get_bus(pipeline_);
  const auto kinds = static_cast<GstMessageType>(GST_MESSAGE_WARNING | GST_MESSAGE_ERROR);
  while (GstMessage* message = gst_bus_pop_filtered(bus, kinds)) {
    // Sources and sinks tell on the same bus that their neighbour failed.
    if (GST_MESSAGE_SRC(message) == GST_OBJECT(filter_)) {
      GError* error = nullptr;
      if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
        gst_message_parse_error(message, &error, nullptr);
        ++unread_.errors;
        failed_ = true;
      } else {
        gst_message_parse_warning(message, &error, nullptr);
        ++unread_.warnings;
      }
      unread_.last = error->message;
      g_error_free(error);
    }
    gst_message_unref(message);
  }
  gst_object_unref(bus);
}

Bytes random_frame(const GstVideoInfo& info, std::mt19937& random) {
  Bytes frame(GST_VIDEO_INFO_SIZE(&info));
  for (std::uint8_t& byte : frame)
    byte = static_cast<std::uint8_t>(random());
  return frame;
}

std::optional<Bytes> filter(ElementPipeline& pipeline, const Bytes& frame) {
  pipeline.push(frame);
  return pipeline.pull();
}

int finish(long passed, long failed) {
  std::printf("%ld passed, %ld failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace cudaconvolve::gpu
