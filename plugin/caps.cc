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

GstVideoFormat format_of(const FormatRow& row) {
  return row.format;
}
GstVideoFormat format_of(GstVideoFormat format) {
  return format;
}

template <class Table>
GstStructure* raw_video(const Table& table, std::initializer_list<const char*> interlace_modes) {
  GValue formats = G_VALUE_INIT;
  g_value_init(&formats, GST_TYPE_LIST);
  for (const auto& row : table)
    append_string(&formats, gst_video_format_to_string(format_of(row)));
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

/// As GStreamer's CUDA library names it, which builds without that library do not have.
constexpr char kCudaMemory[] = "memory:CUDAMemory";

bool is_cuda_memory(const GstCapsFeatures* features) {
  return !gst_caps_features_is_any(features) && gst_caps_features_get_size(features) == 1 &&
         gst_caps_features_contains(features, kCudaMemory);
}

bool is_system_memory(const GstCapsFeatures* features) {
  return gst_caps_features_is_equal(features, GST_CAPS_FEATURES_MEMORY_SYSTEM_MEMORY);
}

/// Takes structure and features over, unless `caps` say the same already.
void append_new(GstCaps* caps, GstStructure* structure, GstCapsFeatures* features) {
  if (gst_caps_is_subset_structure_full(caps, structure, features)) {
    gst_structure_free(structure);
    gst_caps_features_free(features);
  } else {
    gst_caps_append_structure_full(caps, structure, features);
  }
}

}  // namespace

GstCaps* make_template_caps(bool knows_cuda_memory) {
  GstCaps* caps = gst_caps_new_empty();
  gst_caps_append_structure(caps, raw_video(kFormats, {"progressive", "interleaved", "mixed"}));
  gst_caps_append_structure_full(
      caps, raw_video(kFormats, {"alternate"}),
      gst_caps_features_new(GST_CAPS_FEATURE_FORMAT_INTERLACED, nullptr));
  if (knows_cuda_memory)
    gst_caps_append_structure_full(caps,
                                   raw_video(kCudaFormats, {"progressive", "interleaved", "mixed"}),
                                   gst_caps_features_new(kCudaMemory, nullptr));
  return caps;
}

bool are_in_cuda_memory(const GstCaps* caps) {
  return gst_caps_get_size(caps) > 0 && is_cuda_memory(gst_caps_get_features(caps, 0));
}

GstCaps* caps_of_other_side(const GstCaps* caps, bool cuda_memory) {
  if (gst_caps_is_any(caps)) return gst_caps_new_any();
  GstCaps* result = gst_caps_new_empty();
  const guint count = gst_caps_get_size(caps);
  for (guint n = 0; n < count; ++n) {
    const GstCapsFeatures* features = gst_caps_get_features(caps, n);
    if (cuda_memory || !is_cuda_memory(features))
      append_new(result, gst_structure_copy(gst_caps_get_structure(caps, n)),
                 gst_caps_features_copy(features));
  }
  for (guint n = 0; cuda_memory && n < count; ++n) {
    const GstCapsFeatures* features = gst_caps_get_features(caps, n);
    if (!is_cuda_memory(features) && !is_system_memory(features)) continue;
    append_new(result, gst_structure_copy(gst_caps_get_structure(caps, n)),
               is_cuda_memory(features)
                   ? gst_caps_features_new(GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY, nullptr)
                   : gst_caps_features_new(kCudaMemory, nullptr));
  }
  return result;
}

GstCaps* prefer_memory_of(const GstCaps* caps, GstCaps* choice) {
  GstCaps* preferred = gst_caps_new_empty();
  const bool cuda = are_in_cuda_memory(caps);
  for (guint n = 0; n < gst_caps_get_size(choice); ++n)
    if (is_cuda_memory(gst_caps_get_features(choice, n)) == cuda)
      gst_caps_append_structure_full(preferred,
                                     gst_structure_copy(gst_caps_get_structure(choice, n)),
                                     gst_caps_features_copy(gst_caps_get_features(choice, n)));
  if (gst_caps_is_empty(preferred)) {
    gst_caps_unref(preferred);
    return choice;
  }
  gst_caps_unref(choice);
  return preferred;
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
