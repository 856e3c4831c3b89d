// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/support/element.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace check {
namespace {

std::string environment(const char* name, const char* fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : fallback;
}

constexpr GstClockTime kFrameTime = GST_SECOND / 25;

}  // namespace

GstElement* make_element(const Settings& settings) {
  GstElement* element = gst_element_factory_make("cudaconvolve", nullptr);
  g_assert_nonnull(element);
  gst_object_ref_sink(element);
  gst_util_set_object_arg(G_OBJECT(element), "backend",
                          environment("CUDACONVOLVE_TEST_BACKEND", "auto").c_str());
  for (const auto& [name, value] : settings)
    gst_util_set_object_arg(G_OBJECT(element), name.c_str(), value.c_str());
  return element;
}

std::vector<Message> take_messages(GstBus* bus, GstMessageType types) {
  std::vector<Message> messages;
  while (GstMessage* message = gst_bus_pop(bus)) {
    const GstMessageType type = GST_MESSAGE_TYPE(message);
    if ((type & types) != 0) {
      GError* error = nullptr;
      if (type == GST_MESSAGE_ERROR)
        gst_message_parse_error(message, &error, nullptr);
      else
        gst_message_parse_warning(message, &error, nullptr);
      messages.push_back({type, error->domain, error->code, error->message});
      g_error_free(error);
    }
    gst_message_unref(message);
  }
  return messages;
}

bool gpu_required() {
  return environment("CUDACONVOLVE_REQUIRE_GPU", "0") == "1";
}

int scaled(int count) {
  const int percent = std::atoi(environment("CUDACONVOLVE_TEST_PERCENT", "100").c_str());
  return static_cast<int>(std::max<std::int64_t>(1, std::int64_t{count} * percent / 100));
}

GstVideoInfo video_info(GstVideoFormat format, int width, int height,
                        GstVideoInterlaceMode interlace_mode) {
  GstVideoInfo info;
  g_assert_true(gst_video_info_set_interlaced_format(
      &info, format, interlace_mode, static_cast<guint>(width), static_cast<guint>(height)));
  info.fps_n = 25;
  info.fps_d = 1;
  return info;
}

const std::vector<GstVideoFormat>& template_formats() {
  static const std::vector<GstVideoFormat> formats = [] {
    std::vector<GstVideoFormat> found;
    GstElement* element = make_element();
    GstPad* pad = gst_element_get_static_pad(element, "sink");
    GstCaps* caps = gst_pad_get_pad_template_caps(pad);
    const GValue* list = gst_structure_get_value(gst_caps_get_structure(caps, 0), "format");
    for (guint i = 0; i < gst_value_list_get_size(list); ++i)
      found.push_back(
          gst_video_format_from_string(g_value_get_string(gst_value_list_get_value(list, i))));
    gst_caps_unref(caps);
    gst_object_unref(pad);
    gst_object_unref(element);
    return found;
  }();
  return formats;
}

Harness::Harness(const Settings& settings)
    : element_(make_element(settings)), bus_(gst_bus_new()), harness_(nullptr) {
  gst_video_info_init(&info_);
  const auto is_depth = [](const auto& setting) { return setting.first == "async-depth"; };
  if (std::none_of(settings.begin(), settings.end(), is_depth)) set("async-depth", "0");
  gst_element_set_bus(element_, bus_);
  harness_ = gst_harness_new_with_element(element_, "sink", "src");
}

Harness::~Harness() {
  gst_harness_teardown(harness_);
  gst_element_set_bus(element_, nullptr);
  gst_object_unref(bus_);
  gst_object_unref(element_);
}

void Harness::set(const std::string& property, const std::string& value) {
  gst_util_set_object_arg(G_OBJECT(element_), property.c_str(), value.c_str());
}

std::string Harness::get_string(const char* property) {
  gchar* value = nullptr;
  g_object_get(element_, property, &value, nullptr);
  std::string text = value != nullptr ? value : "";
  g_free(value);
  return text;
}

guint64 Harness::stat(const char* field) {
  GstStructure* stats = nullptr;
  g_object_get(element_, "stats", &stats, nullptr);
  guint64 value = 0;
  EXPECT_TRUE(gst_structure_get_uint64(stats, field, &value)) << field;
  gst_structure_free(stats);
  return value;
}

void Harness::set_caps(const GstVideoInfo& info) {
  info_ = info;
  gst_harness_set_src_caps(harness_, gst_video_info_to_caps(&info_));
}

GstFlowReturn Harness::push_buffer(GstBuffer* buffer) {
  return gst_harness_push(harness_, buffer);
}

GstFlowReturn Harness::push(const oracle::Bytes& frame, int number) {
  return push_buffer(make_buffer(frame, number));
}

GstBuffer* Harness::pull_buffer() {
  return gst_harness_try_pull(harness_);
}

oracle::Bytes Harness::pull() {
  GstBuffer* buffer = pull_buffer();
  if (buffer == nullptr) return {};
  oracle::Bytes picture = picture_of(buffer, info_);
  gst_buffer_unref(buffer);
  return picture;
}

oracle::Bytes Harness::filter(const oracle::Bytes& frame, int number) {
  EXPECT_EQ(push(frame, number), GST_FLOW_OK);
  return pull();
}

GstBuffer* make_buffer(const oracle::Bytes& frame, int number) {
  GstBuffer* buffer = gst_buffer_new_memdup(frame.data(), frame.size());
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number) * kFrameTime;
  GST_BUFFER_DURATION(buffer) = kFrameTime;
  return buffer;
}

oracle::Bytes picture_of(GstBuffer* buffer, const GstVideoInfo& info) {
  oracle::Bytes picture(GST_VIDEO_INFO_SIZE(&info));
  const GstVideoMeta* meta = gst_buffer_get_video_meta(buffer);
  GstMapInfo map;
  g_assert_true(gst_buffer_map(buffer, &map, GST_MAP_READ));
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(&info); ++p) {
    const std::ptrdiff_t pitch = GST_VIDEO_INFO_PLANE_STRIDE(&info, p);
    const std::ptrdiff_t from_pitch = meta != nullptr ? meta->stride[p] : pitch;
    const std::size_t from =
        meta != nullptr ? meta->offset[p] : GST_VIDEO_INFO_PLANE_OFFSET(&info, p);
    const std::size_t to = GST_VIDEO_INFO_PLANE_OFFSET(&info, p);
    gint components[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(info.finfo, p, components);
    const int rows = GST_VIDEO_INFO_COMP_HEIGHT(&info, components[0]);
    for (int y = 0; y < rows; ++y)
      std::memcpy(picture.data() + to + y * pitch, map.data + from + y * from_pitch,
                  static_cast<std::size_t>(std::min(pitch, std::abs(from_pitch))));
  }
  gst_buffer_unmap(buffer, &map);
  return picture;
}

}  // namespace check
