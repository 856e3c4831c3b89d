// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/picture.h"

#include <cstring>
#include <random>

#include "kernels/reference/reference.h"
#include "plugin/formats.h"

namespace storm {
namespace {

using convolve::Component;
using convolve::FrameFormat;
using convolve::FrameView;
using convolve::Picture;

enum class Fill { kExtremes, kRows, kImpulse };

Fill fill_of(const std::string& word) {
  if (word == "extremes") return Fill::kExtremes;
  return word == "rows" ? Fill::kRows : Fill::kImpulse;
}

/// The code that `fill` has at (x, y).
int filled_code(Fill fill, const Component& component, int x, int y, std::mt19937_64* random) {
  const int max_code = component.max_code();
  if (fill == Fill::kExtremes) return (*random)() % 2 == 0 ? 0 : max_code;
  if (fill == Fill::kRows) return (y * 37 + 11) % (max_code + 1);
  const bool bright = x == component.width / 2 && y == component.height / 3;
  return bright ? max_code : component.black;
}

}  // namespace

std::string caps_text(const Words& words) {
  const std::string size = words.get("size", "1x1");
  const std::string mode = words.get("mode", "progressive");
  const std::size_t times = size.find('x');
  std::string text = "video/x-raw";
  if (mode == "alternate") text += "(format:Interlaced)";
  text += ",format=" + words.get("format") + ",width=(int)" + size.substr(0, times) +
          ",height=(int)" + size.substr(times + 1) + ",framerate=25/1,interlace-mode=" + mode;
  if (words.has("colorimetry")) text += ",colorimetry=(string)\"" + words.get("colorimetry") + "\"";
  return text;
}

std::optional<GstVideoInfo> picture_info(const std::string& caps) {
  GstCaps* parsed = gst_caps_from_string(caps.c_str());
  if (parsed == nullptr) return std::nullopt;
  GstVideoInfo info;
  const bool good = gst_video_info_from_caps(&info, parsed) != FALSE &&
                    cudaconvolve::has_row(GST_VIDEO_INFO_FORMAT(&info));
  gst_caps_unref(parsed);
  return good ? std::optional(info) : std::nullopt;
}

Bytes make_frame(const GstVideoInfo& info, const std::string& fill, unsigned seed) {
  std::mt19937_64 random(seed);
  Bytes frame(GST_VIDEO_INFO_SIZE(&info));
  for (std::size_t k = 0; k < frame.size(); k += sizeof(std::uint64_t)) {
    const std::uint64_t bits = random();
    std::memcpy(&frame[k], &bits, std::min(sizeof bits, frame.size() - k));
  }
  if (fill == "random") return frame;
  const Fill pattern = fill_of(fill);
  const FrameFormat format = cudaconvolve::frame_format(info, ~0u);
  const FrameView view = view_of(info, format, frame);
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c) {
      const Component& component = format.planes[p].components[c];
      Picture picture{component.width, component.height, {}};
      for (int y = 0; y < component.height; ++y)
        for (int x = 0; x < component.width; ++x)
          picture.codes.push_back(filled_code(pattern, component, x, y, &random));
      convolve::encode_component(picture, view, p, c);
    }
  return frame;
}

FrameView view_of(const GstVideoInfo& info, const FrameFormat& format, Bytes& bytes) {
  FrameView view;
  view.format = format;
  for (int p = 0; p < format.plane_count; ++p) {
    view.data[p] = bytes.data() + GST_VIDEO_INFO_PLANE_OFFSET(&info, p);
    view.pitch[p] = GST_VIDEO_INFO_PLANE_STRIDE(&info, p);
  }
  return view;
}

FrameView field_of(const FrameView& frame, int parity) {
  FrameView field = frame;
  for (int p = 0; p < frame.format.plane_count; ++p) {
    convolve::PlaneFormat& plane = field.format.planes[p];
    if (plane.rows > parity) field.data[p] += parity * frame.pitch[p];
    field.pitch[p] *= 2;
    plane.rows = (plane.rows + 1 - parity) / 2;
    for (Component& component : plane.components)
      component.height = (component.height + 1 - parity) / 2;
  }
  return field;
}

bool has_rows(const FrameView& view) {
  for (int p = 0; p < view.format.plane_count; ++p)
    if (view.format.planes[p].rows > 0) return true;
  return false;
}

}  // namespace storm
