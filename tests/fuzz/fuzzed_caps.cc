// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fuzz/fuzzed_caps.h"

#include <gst/video/video.h>

#include <algorithm>
#include <string>

#include "tests/support/element.h"

namespace convolve::fuzz {
namespace {

/// How a field stands in the caps.
enum class Shape {
  kFixed,
  kOpen,  ///< A range or list.
  kMissing,
  kOtherType,
};

Shape read_shape(ByteReader& reader) {
  constexpr Shape kRare[] = {Shape::kOpen, Shape::kMissing, Shape::kOtherType};
  return reader.below(32) == 31 ? reader.pick(kRare) : Shape::kFixed;
}

int read_int(ByteReader& reader, int usual) {
  return static_cast<int>(std::clamp<std::int64_t>(reader.number(usual), G_MININT, G_MAXINT));
}

void add_side(ByteReader& reader, GstStructure* structure, const char* name, int most) {
  const int usual = 1 + reader.below(most);
  const int side = reader.below(8) == 7 ? read_int(reader, usual) : usual;
  switch (read_shape(reader)) {
    case Shape::kFixed:
      gst_structure_set(structure, name, G_TYPE_INT, side, nullptr);
      break;
    case Shape::kOpen:
      gst_structure_set(structure, name, GST_TYPE_INT_RANGE, std::min(side, G_MAXINT - 9),
                        std::min(side, G_MAXINT - 9) + 9, nullptr);
      break;
    case Shape::kMissing:
      break;
    case Shape::kOtherType:
      gst_structure_set(structure, name, G_TYPE_DOUBLE, static_cast<double>(side), nullptr);
  }
}

void add_fraction(ByteReader& reader, GstStructure* structure, const char* name) {
  // A denominator of 0 is no fraction: GStreamer's own functions do not take it.
  const int numerator = std::max(0, read_int(reader, 25));
  const int denominator = std::max(1, read_int(reader, 1));
  switch (read_shape(reader)) {
    case Shape::kFixed:
      gst_structure_set(structure, name, GST_TYPE_FRACTION, numerator, denominator, nullptr);
      break;
    case Shape::kOpen:
      gst_structure_set(structure, name, GST_TYPE_FRACTION_RANGE, 0, 1, G_MAXINT, 1, nullptr);
      break;
    case Shape::kMissing:
      break;
    case Shape::kOtherType:
      gst_structure_set(structure, name, G_TYPE_INT, numerator, nullptr);
  }
}

void add_text(ByteReader& reader, GstStructure* structure, const char* name,
              const std::string& text) {
  switch (read_shape(reader)) {
    case Shape::kFixed:
      gst_structure_set(structure, name, G_TYPE_STRING, text.c_str(), nullptr);
      break;
    case Shape::kOpen: {
      GValue list = G_VALUE_INIT;
      gst_value_list_init(&list, 2);
      for (const char* choice : {text.c_str(), "I420"}) {
        GValue value = G_VALUE_INIT;
        g_value_init(&value, G_TYPE_STRING);
        g_value_set_string(&value, choice);
        gst_value_list_append_and_take_value(&list, &value);
      }
      gst_structure_take_value(structure, name, &list);
      break;
    }
    case Shape::kMissing:
      break;
    case Shape::kOtherType:
      gst_structure_set(structure, name, G_TYPE_INT, reader.below(9), nullptr);
  }
}

std::string read_format(ByteReader& reader) {
  const std::vector<GstVideoFormat>& formats = check::template_formats();
  if (reader.below(16) != 15)
    return gst_video_format_to_string(
        formats[static_cast<std::size_t>(reader.below(static_cast<int>(formats.size())))]);
  // Of those of GStreamer that the template lacks, and of those that nobody has.
  const int other = reader.below(128);
  const char* name =
      other == 0 ? nullptr : gst_video_format_to_string(static_cast<GstVideoFormat>(other));
  return name != nullptr ? name : "nonsense";
}

std::string read_colorimetry(ByteReader& reader) {
  constexpr const char* kNames[] = {"bt601", "bt709",    "bt2020", "bt2100-pq",
                                    "sRGB",  "nonsense", ""};
  if (reader.below(2) == 0) return reader.pick(kNames);
  std::string numbers = std::to_string(reader.below(12));
  for (int i = 0; i < 3; ++i)
    numbers += ":" + std::to_string(reader.below(24));
  return numbers;
}

GstCapsFeatures* read_features(ByteReader& reader) {
  switch (reader.below(16)) {
    case 11:
    case 12:
      return gst_caps_features_new(GST_CAPS_FEATURE_FORMAT_INTERLACED, nullptr);
    case 13:
      return gst_caps_features_new("memory:CUDAMemory", nullptr);
    case 14:
      return gst_caps_features_new(GST_CAPS_FEATURE_MEMORY_SYSTEM_MEMORY,
                                   GST_CAPS_FEATURE_FORMAT_INTERLACED, nullptr);
    case 15:
      return gst_caps_features_new_any();
    default:
      return nullptr;
  }
}

GstStructure* read_structure(ByteReader& reader) {
  constexpr const char* kInterlaceModes[] = {"progressive", "interleaved", "mixed",
                                             "alternate",   "fields",      "nonsense"};
  // No nonsense here: GStreamer's own parser warns of it.
  constexpr const char* kMultiview[] = {"mono", "separated", "side-by-side", "frame-by-frame"};
  constexpr const char* kSites[] = {"mpeg2", "jpeg", "dv", "nonsense", "0", ""};
  constexpr const char* kOrders[] = {"top-field-first", "bottom-field-first", "nonsense"};
  GstStructure* structure =
      gst_structure_new_empty(reader.below(32) == 31 ? "video/x-bayer" : "video/x-raw");
  add_text(reader, structure, "format", read_format(reader));
  add_side(reader, structure, "width", 48);
  add_side(reader, structure, "height", 32);
  add_fraction(reader, structure, "framerate");
  for (int more = reader.below(5); more > 0; --more) {
    switch (reader.below(8)) {
      case 0:
        add_text(reader, structure, "interlace-mode", reader.pick(kInterlaceModes));
        break;
      case 1:
        add_text(reader, structure, "colorimetry", read_colorimetry(reader));
        break;
      case 2:
        add_text(reader, structure, "chroma-site", reader.pick(kSites));
        break;
      case 3:
        add_text(reader, structure, "multiview-mode", reader.pick(kMultiview));
        gst_structure_set(structure, "views", G_TYPE_INT, read_int(reader, 2), nullptr);
        break;
      case 4:
        add_fraction(reader, structure, "pixel-aspect-ratio");
        break;
      case 5:
        add_text(reader, structure, "field-order", reader.pick(kOrders));
        break;
      case 6:
        add_fraction(reader, structure, "max-framerate");
        break;
      default:
        add_side(reader, structure, "unknown", 200);
    }
  }
  return structure;
}

}  // namespace

GstCaps* read_caps(ByteReader& reader) {
  GstCaps* caps = gst_caps_new_empty();
  for (int count = reader.below(32) == 31 ? 2 : 1; count > 0; --count) {
    GstCapsFeatures* features = read_features(reader);
    GstStructure* structure = read_structure(reader);
    gst_caps_append_structure_full(caps, structure, features);
  }
  return caps;
}

}  // namespace convolve::fuzz
