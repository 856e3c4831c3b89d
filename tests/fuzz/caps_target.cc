// SPDX-License-Identifier: LGPL-2.1-or-later
// Negotiation of the element: caps of every kind, one after the other, queries in between. Whatever
// the template and GStreamer take gives the right picture, everything else none.
#include <gst/gst.h>

#include <cstring>
#include <optional>

#include "tests/fuzz/fuzzed_caps.h"
#include "tests/fuzz/picture_judge.h"
#include "tests/fuzz/target.h"

namespace convolve::fuzz {
namespace {

constexpr int kMostSteps = 5;
constexpr gsize kMostBytes = gsize{1} << 17;

GstCaps* template_caps(GstElement* element) {
  GstPad* pad = gst_element_get_static_pad(element, "sink");
  GstCaps* caps = gst_pad_get_pad_template_caps(pad);
  gst_object_unref(pad);
  return caps;
}

/// Frames here are in system memory: CUDA memory is on no pad without CUDA.
bool fits_template(GstElement* element, GstCaps* caps) {
  GstCaps* known = template_caps(element);
  const bool fits =
      gst_caps_can_intersect(known, caps) != FALSE &&
      !gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:CUDAMemory");
  gst_caps_unref(known);
  return fits;
}

/// The frames that the element must take under `caps`, if it must.
std::optional<GstVideoInfo> info_of(GstElement* element, GstCaps* caps) {
  GstVideoInfo info;
  if (!fits_template(element, caps) || !gst_video_info_from_caps(&info, caps) ||
      GST_VIDEO_INFO_MULTIVIEW_MODE(&info) == GST_VIDEO_MULTIVIEW_MODE_SEPARATED)
    return {};
  const GstCapsFeatures* features = gst_caps_get_features(caps, 0);
  if (gst_caps_features_contains(features, GST_CAPS_FEATURE_FORMAT_INTERLACED) &&
      GST_VIDEO_INFO_INTERLACE_MODE(&info) != GST_VIDEO_INTERLACE_MODE_ALTERNATE)
    return {};
  // Numbers that are no value of the enumeration: GStreamer takes them for an unknown range.
  int range = 0;
  std::memcpy(&range, &info.colorimetry.range, sizeof range);
  if (range > GST_VIDEO_COLOR_RANGE_16_235) info.colorimetry.range = GST_VIDEO_COLOR_RANGE_UNKNOWN;
  return info;
}

/// What is wrong with the answers to queries about `caps`, or "".
std::string ask(check::Harness& harness, GstCaps* caps) {
  GstCaps* known = template_caps(harness.element());
  std::string fault;
  for (const char* name : {"sink", "src"}) {
    GstPad* pad = gst_element_get_static_pad(harness.element(), name);
    GstCaps* answer = gst_pad_query_caps(pad, caps);
    if (!gst_caps_is_subset(answer, known)) fault = "a caps query's answer leaves the template";
    if (!gst_caps_is_subset(answer, caps)) fault = "a caps query's answer leaves its filter";
    gst_caps_unref(answer);
    if (gst_caps_is_fixed(caps) && gst_pad_query_accept_caps(pad, caps) &&
        !gst_caps_can_intersect(known, caps))
      fault = "caps outside the template are accepted";
    gst_object_unref(pad);
  }
  gst_caps_unref(known);
  return fault;
}

/// Sets fixed `caps` and pushes a frame of them; what is wrong with the answer, or "".
std::string stream(check::Harness& harness, GstCaps* caps, Filter filter, ByteReader& reader) {
  const std::optional<GstVideoInfo> info = info_of(harness.element(), caps);
  const bool interlaced = reader.below(2) == 1;
  const unsigned seed = reader.byte();
  gst_harness_set_src_caps(harness.get(), gst_caps_ref(caps));
  if (info && GST_VIDEO_INFO_SIZE(&*info) > kMostBytes) {
    // Too large to be filtered here: whether it is taken or refused, a message says it once.
    return harness.errors().size() > 1 ? "more than one error for caps" : "";
  }
  if (!info) {
    const oracle::Bytes frame(64);
    GstVideoInfo none;
    gst_video_info_init(&none);
    return push_and_judge(harness, check::make_buffer(frame), none, frame, filter, Answer::kRefusal,
                          false);
  }
  const oracle::Bytes frame = oracle::random_frame(*info, seed);
  GstBuffer* buffer = check::make_buffer(frame);
  if (interlaced) GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  const GstVideoInterlaceMode mode = GST_VIDEO_INFO_INTERLACE_MODE(&*info);
  filter.options.fields = mode == GST_VIDEO_INTERLACE_MODE_INTERLEAVED ||
                          (mode == GST_VIDEO_INTERLACE_MODE_MIXED && interlaced);
  return push_and_judge(harness, buffer, *info, frame, filter, Answer::kPicture, true);
}

}  // namespace

void prepare() {
  gst_init(nullptr, nullptr);
}

std::string try_input(const std::string& bytes) {
  ByteReader reader(bytes);
  const Filter filter = read_filter(reader);
  check::Harness harness(filter.settings());
  for (int step = 0; step < kMostSteps && (step == 0 || !reader.empty()); ++step) {
    const bool asks = reader.below(4) == 3;
    GstCaps* caps = read_caps(reader);
    std::string fault = asks || !gst_caps_is_fixed(caps) ? ask(harness, caps)
                                                         : stream(harness, caps, filter, reader);
    // Refused in set_caps, with an error: an application ends the stream. The base class would not
    // even take the caps again that it had before.
    const bool over = !asks && gst_caps_is_fixed(caps) && fits_template(harness.element(), caps) &&
                      !info_of(harness.element(), caps);
    if (!fault.empty()) {
      gchar* text = gst_caps_to_string(caps);
      fault = "step " + std::to_string(step) + ", " + text + ": " + fault;
      g_free(text);
    }
    gst_caps_unref(caps);
    if (!fault.empty() || over) return fault;
  }
  return "";
}

}  // namespace convolve::fuzz
