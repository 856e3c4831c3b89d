// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/line.h"

#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/pipelines/mask_texts.h"

namespace cudaconvolve::pipelines {
namespace {

/// Of pipelines that are not live; only timestamps follow from it.
constexpr int kUsualFps = 60;

std::string message_text(GstMessage* message) {
  GError* error = nullptr;
  gchar* details = nullptr;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
    gst_message_parse_error(message, &error, &details);
  else
    gst_message_parse_warning(message, &error, &details);
  std::string text = std::string(GST_MESSAGE_TYPE_NAME(message)) + " of " +
                     GST_OBJECT_NAME(GST_MESSAGE_SRC(message)) + ": " + error->message;
  if (details != nullptr) text += std::string(" (") + details + ")";
  g_error_free(error);
  g_free(details);
  return text;
}

/// A field of a structure as JSON: numbers as they are, all else as GStreamer writes it.
std::string json_value(const GValue* value) {
  gchar* text = gst_value_serialize(value);
  const std::string result = text != nullptr ? text : "";
  g_free(text);
  const GType type = G_VALUE_TYPE(value);
  const bool bare = type == G_TYPE_UINT64 || type == G_TYPE_INT64 || type == G_TYPE_UINT ||
                    type == G_TYPE_INT || type == G_TYPE_DOUBLE || type == G_TYPE_BOOLEAN;
  return bare && !result.empty() ? result : convolve::benchmarks::quoted(result);
}

bool has_property(GstElement* element, const char* name, GType type) {
  const GParamSpec* spec = g_object_class_find_property(G_OBJECT_GET_CLASS(element), name);
  return spec != nullptr && spec->value_type == type && (spec->flags & G_PARAM_READABLE) != 0;
}

void read_stats(GstElement* element, Row* row) {
  GstStructure* stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  if (stats == nullptr) return;
  for (int k = 0; k < gst_structure_n_fields(stats); ++k) {
    const char* name = gst_structure_nth_field_name(stats, static_cast<guint>(k));
    row->stats.emplace_back(name, json_value(gst_structure_get_value(stats, name)));
  }
  gst_structure_free(stats);
}

void read_plan(GstElement* element, Row* row) {
  gchar* plan = nullptr;
  g_object_get(element, "active-plan", &plan, nullptr);
  if (plan != nullptr) row->plan = plan;
  g_free(plan);
}

/// `text` with `word` in the place of every `place`.
std::string filled(std::string text, const std::string& place, const std::string& word) {
  for (std::size_t at = text.find(place); at != std::string::npos;
       at = text.find(place, at + word.size()))
    text.replace(at, place.size(), word);
  return text;
}

/// The elements between caps and sink of pipeline `number`, as a launch line.
std::string elements_text(const Case& asked, int number) {
  const std::string elements =
      filled(asked.elements, "%MASK%", "\"" + mask_text(asked.mask) + "\"");
  return filled(elements, "%DEVICE%", std::to_string(number % asked.devices));
}

/// A live pipeline shows frames when their time has come, and says which came too late for that.
/// Its queue holds what waits for the sink's processing deadline.
std::string sink_text(int live_fps) {
  return live_fps != 0 ? "queue ! fakesink sync=true qos=true max-lateness=0"
                       : "fakesink sync=false";
}

}  // namespace

GstVideoInfo video_info(const Case& asked, int live_fps) {
  GstVideoInfo info;
  gst_video_info_set_format(&info, gst_video_format_from_string(asked.format.c_str()),
                            static_cast<guint>(asked.width), static_cast<guint>(asked.height));
  info.fps_n = live_fps != 0 ? live_fps : kUsualFps;
  info.fps_d = 1;
  return info;
}

Line::Line(const Case& asked, int number, int live_fps, Course& course, Track& track)
    : course_(course), track_(track) {
  const GstVideoInfo info = video_info(asked, live_fps);
  GstCaps* caps = gst_video_info_to_caps(&info);
  if (asked.pool == Pool::kCuda)
    gst_caps_set_features(caps, 0, gst_caps_features_new("memory:CUDAMemory", nullptr));
  gchar* caps_text = gst_caps_to_string(caps);
  const std::string text = std::string(kSourceName) + " name=benchmark-source ! " + caps_text +
                           " ! " + elements_text(asked, number) + " ! " + sink_text(live_fps) +
                           " name=benchmark-sink";
  g_free(caps_text);
  gst_caps_unref(caps);
  GError* error = nullptr;
  pipeline_ = gst_parse_launch_full(text.c_str(), nullptr, GST_PARSE_FLAG_FATAL_ERRORS, &error);
  if (error != nullptr) {
    course_.fail(error->message);
    g_error_free(error);
  }
  if (pipeline_ == nullptr) return;
  source_ = gst_bin_get_by_name(GST_BIN(pipeline_), "benchmark-source");
  SourceSettings settings;
  settings.pool = asked.pool;
  settings.live_fps = live_fps;
  settings.course = &course;
  settings.track = &track;
  set_up_source(source_, settings);

  GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline_), "benchmark-sink");
  GstPad* pad = gst_element_get_static_pad(sink, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, this, nullptr);
  gst_object_unref(pad);
  gst_object_unref(sink);
  GstBus* bus = gst_element_get_bus(pipeline_);
  gst_bus_set_sync_handler(bus, on_message, this, nullptr);
  gst_object_unref(bus);
}

Line::~Line() {
  if (pipeline_ == nullptr) return;
  gst_element_set_state(pipeline_, GST_STATE_NULL);
  gst_object_unref(source_);
  gst_object_unref(pipeline_);
}

void Line::play() {
  if (pipeline_ != nullptr &&
      gst_element_set_state(pipeline_, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE)
    course_.fail("a pipeline does not start");  // Unless an error on the bus has said so.
}

void Line::read_element(Row* row) const {
  GstIterator* elements = gst_bin_iterate_recurse(GST_BIN(pipeline_));
  GValue item = G_VALUE_INIT;
  while (gst_iterator_next(elements, &item) == GST_ITERATOR_OK) {
    auto* element = GST_ELEMENT(g_value_get_object(&item));
    // Sinks of the base library have statistics of their own, of what they dropped.
    const bool sink = GST_OBJECT_FLAG_IS_SET(element, GST_ELEMENT_FLAG_SINK);
    if (!sink && row->stats.empty() && has_property(element, "stats", GST_TYPE_STRUCTURE))
      read_stats(element, row);
    if (row->plan.empty() && has_property(element, "active-plan", G_TYPE_STRING))
      read_plan(element, row);
    g_value_reset(&item);
  }
  g_value_unset(&item);
  gst_iterator_free(elements);
  GstQuery* query = gst_query_new_latency();
  if (gst_element_query(pipeline_, query)) {
    GstClockTime least = 0;
    gst_query_parse_latency(query, nullptr, &least, nullptr);
    row->reported_us = 1e-3 * static_cast<double>(least);
  }
  gst_query_unref(query);
}

GstBusSyncReply Line::on_message(GstBus* /*bus*/, GstMessage* message, gpointer line) {
  Course& course = static_cast<Line*>(line)->course_;
  if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS)
    course.ended();
  else if ((GST_MESSAGE_TYPE(message) & (GST_MESSAGE_ERROR | GST_MESSAGE_WARNING)) != 0)
    course.fail(message_text(message));
  else if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_QOS)
    course.fail("a frame came too late to be shown");
  gst_message_unref(message);
  return GST_BUS_DROP;
}

GstPadProbeReturn Line::on_buffer(GstPad* pad, GstPadProbeInfo* info, gpointer user_data) {
  auto* line = static_cast<Line*>(user_data);
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  const guint64 number = GST_BUFFER_OFFSET(buffer);
  if (line->course_.sampled(number)) {
    GstCaps* caps = gst_pad_get_current_caps(pad);
    GstVideoInfo video;
    if (caps != nullptr && gst_video_info_from_caps(&video, caps))
      line->sample_ = sample_of(buffer, video);
    gst_clear_caps(&caps);
  }
  line->track_.arrives(number);
  return GST_PAD_PROBE_OK;
}

}  // namespace cudaconvolve::pipelines
