// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/caps.h"

#include <cstring>
#include <initializer_list>
#include <string>

#include "plugin/formats.h"

namespace cudaconvolve {
namespace {

void append_string(GValue* list, const char* text) {
  GValue value = G_VALUE_INIT;
  g_value_init(&value, G_TYPE_STRING);
  g_value_set_string(&value, text);
  gst_value_list_append_and_take_value(list, &value);
}

GstStructure* raw_video(std::initializer_list<const char*> interlace_modes) {
  GValue formats = G_VALUE_INIT;
  g_value_init(&formats, GST_TYPE_LIST);
  for (const FormatRow& row : kFormats)
    append_string(&formats, gst_video_format_to_string(row.format));
  GValue modes = G_VALUE_INIT;
  g_value_init(&modes, GST_TYPE_LIST);
  for (const char* mode : interlace_modes)
    append_string(&modes, mode);

  GstStructure* structure = gst_structure_new(
      "video/x-raw", "width", GST_TYPE_INT_RANGE, 1, kMaxSide, "height", GST_TYPE_INT_RANGE, 1,
      kMaxSide, "framerate", GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, nullptr);
  gst_structure_take_value(structure, "format", &formats);
  gst_structure_take_value(structure, "interlace-mode", &modes);
  return structure;
}

/// GStreamer 1.22 takes the numbers of `colorimetry=9:9:9:9` as they come, also those that are no
/// value of the enumeration; its functions treat them as this does.
void settle_range(GstVideoInfo& info) {
  int range = 0;
  std::memcpy(&range, &info.colorimetry.range, sizeof range);
  if (range != GST_VIDEO_COLOR_RANGE_0_255 && range != GST_VIDEO_COLOR_RANGE_16_235)
    info.colorimetry.range = GST_VIDEO_COLOR_RANGE_UNKNOWN;
}

}  // namespace

GstCaps* make_template_caps() {
  GstCaps* caps = gst_caps_new_empty();
  gst_caps_append_structure(caps, raw_video({"progressive", "interleaved", "mixed"}));
  gst_caps_append_structure_full(
      caps, raw_video({"alternate"}),
      gst_caps_features_new(GST_CAPS_FEATURE_FORMAT_INTERLACED, nullptr));
  return caps;
}

convolve::Result<GstVideoInfo> parse_caps(const GstCaps* caps) {
  const GstStructure* structure = gst_caps_get_structure(caps, 0);
  gint width = 0;
  gint height = 0;
  gst_structure_get_int(structure, "width", &width);
  gst_structure_get_int(structure, "height", &height);
  const gchar* format = gst_structure_get_string(structure, "format");
  const std::string what = std::string(format != nullptr ? format : "video") + " of " +
                           std::to_string(width) + "x" + std::to_string(height);
  if (width < 1 || height < 1 || width > kMaxSide || height > kMaxSide)
    return convolve::unsupported(what + " is not supported: each side must be 1 to " +
                                 std::to_string(kMaxSide) + " pixels");
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, caps) || GST_VIDEO_INFO_SIZE(&info) > kMaxFrameBytes)
    return convolve::unsupported(what + " is not supported: a frame must stay below 4 GiB");
  if (!has_row(GST_VIDEO_INFO_FORMAT(&info)))
    return convolve::unsupported(what + " is not supported: the format is none of the template's");
  if (GST_VIDEO_INFO_INTERLACE_MODE(&info) == GST_VIDEO_INTERLACE_MODE_FIELDS)
    return convolve::unsupported("interlace-mode=fields is not supported");
  // The template would add the mode to the output's caps, and halve their frames.
  if (gst_caps_features_contains(gst_caps_get_features(caps, 0),
                                 GST_CAPS_FEATURE_FORMAT_INTERLACED) &&
      GST_VIDEO_INFO_INTERLACE_MODE(&info) != GST_VIDEO_INTERLACE_MODE_ALTERNATE)
    return convolve::unsupported(
        "format:Interlaced without interlace-mode=alternate is not supported");
  if (GST_VIDEO_INFO_MULTIVIEW_MODE(&info) == GST_VIDEO_MULTIVIEW_MODE_SEPARATED)
    return convolve::unsupported(
        "multiview-mode=separated is not supported: a buffer must hold one picture");
  settle_range(info);
  return info;
}

bool frame_bytes(const GstCaps* caps, gsize* bytes) {
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, caps)) return false;
  *bytes = GST_VIDEO_INFO_SIZE(&info);
  return true;
}

}  // namespace cudaconvolve
