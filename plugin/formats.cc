// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/formats.h"

#include <algorithm>

namespace cudaconvolve {
namespace {

using convolve::Component;
using convolve::FrameFormat;
using convolve::PlaneFormat;
using convolve::Role;

Role role_of(const GstVideoFormatInfo* format, guint component) {
  if (GST_VIDEO_FORMAT_INFO_HAS_ALPHA(format) && component == GST_VIDEO_COMP_A) return Role::kAlpha;
  if (GST_VIDEO_FORMAT_INFO_IS_RGB(format)) return Role::kColour;
  return component == GST_VIDEO_COMP_Y ? Role::kLuma : Role::kChroma;
}

bool selected(Role role, unsigned channels) {
  switch (role) {
    case Role::kLuma:
    case Role::kColour:
      return (channels & kLuma) != 0;
    case Role::kChroma:
      return (channels & kChroma) != 0;
    case Role::kAlpha:
      return (channels & kAlpha) != 0;
    case Role::kPadding:
      return false;
  }
  return false;
}

/// GStreamer does not describe the x of RGBx. The output must hold something there, so it is
/// copied.
void add_padding(PlaneFormat& plane) {
  const int described = plane.component_count;
  if (described == 0) return;
  int group = 0;
  for (int c = 0; c < described; ++c)
    group = std::max(group, plane.components[c].step);
  for (int offset = 0; offset < group; offset += plane.sample_bytes) {
    const bool covered = std::any_of(
        plane.components, plane.components + described, [&](const Component& component) {
          return offset >= component.offset && (offset - component.offset) % component.step == 0;
        });
    if (covered) continue;
    Component padding;
    padding.role = Role::kPadding;
    padding.filtered = false;
    padding.offset = offset;
    padding.step = group;
    padding.width = plane.components[0].width;
    padding.height = plane.components[0].height;
    padding.depth = 8 * plane.sample_bytes;
    padding.range = padding.max_code();
    plane.components[plane.component_count++] = padding;
  }
}

void measure(PlaneFormat& plane) {
  for (int c = 0; c < plane.component_count; ++c) {
    const Component& component = plane.components[c];
    plane.rows = std::max(plane.rows, component.height);
    plane.row_bytes =
        std::max(plane.row_bytes,
                 component.offset + (component.width - 1) * component.step + plane.sample_bytes);
  }
}

}  // namespace

bool has_row(GstVideoFormat format) {
  return std::any_of(std::begin(kFormats), std::end(kFormats),
                     [format](const FormatRow& row) { return row.format == format; });
}

FrameFormat frame_format(const GstVideoInfo& info, unsigned channels) {
  const GstVideoFormatInfo* format = info.finfo;
  gint black[GST_VIDEO_MAX_COMPONENTS];
  gint range[GST_VIDEO_MAX_COMPONENTS];
  gst_video_color_range_offsets(info.colorimetry.range, format, black, range);

  FrameFormat frame;
  frame.plane_count = static_cast<int>(GST_VIDEO_FORMAT_INFO_N_PLANES(format));
  for (guint c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS(format); ++c) {
    PlaneFormat& plane = frame.planes[GST_VIDEO_FORMAT_INFO_PLANE(format, c)];
    Component& component = plane.components[plane.component_count++];
    component.role = role_of(format, c);
    component.filtered = selected(component.role, channels);
    component.offset = GST_VIDEO_INFO_COMP_POFFSET(&info, c);
    component.step = GST_VIDEO_INFO_COMP_PSTRIDE(&info, c);
    component.width = GST_VIDEO_INFO_COMP_WIDTH(&info, c);
    component.height = GST_VIDEO_INFO_COMP_HEIGHT(&info, c);
    component.depth = static_cast<int>(GST_VIDEO_FORMAT_INFO_DEPTH(format, c));
    component.shift = static_cast<int>(GST_VIDEO_FORMAT_INFO_SHIFT(format, c));
    component.black = black[c];
    component.range = range[c];
    plane.sample_bytes = component.depth + component.shift > 8 ? 2 : 1;
    plane.big_endian = plane.sample_bytes == 2 && !GST_VIDEO_FORMAT_INFO_IS_LE(format);
  }
  for (int p = 0; p < frame.plane_count; ++p) {
    add_padding(frame.planes[p]);
    measure(frame.planes[p]);
  }
  return frame;
}

}  // namespace cudaconvolve
