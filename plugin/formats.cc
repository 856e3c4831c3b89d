// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/formats.h"

#include <algorithm>

namespace cudaconvolve {
namespace {

using convolve::Component;
using convolve::FrameFormat;
using convolve::PlaneFormat;
using convolve::Role;

const FormatRow* find_row(GstVideoFormat format) {
  const FormatRow* row = std::find_if(std::begin(kFormats), std::end(kFormats),
                                      [&](const FormatRow& r) { return r.format == format; });
  return row != std::end(kFormats) ? row : nullptr;
}

/// AV12 and Y412 have an alpha component without the flag that says so.
Role role_of(const GstVideoFormatInfo* format, guint component) {
  if (component == GST_VIDEO_COMP_A) return Role::kAlpha;
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

/// Appends a component that is copied: `width` samples from byte `offset` on.
void add_padding(PlaneFormat& plane, int offset, int step, int width) {
  Component padding;
  padding.role = Role::kPadding;
  padding.filtered = false;
  padding.offset = offset;
  padding.step = step;
  padding.width = width;
  padding.height = plane.components[0].height;
  padding.depth = 8 * plane.sample_bytes;
  padding.range = padding.max_code();
  plane.components[plane.component_count++] = padding;
}

/// GStreamer does not describe the x of RGBx, nor the sample that completes the last pair of YUY2.
/// The output must hold something there.
void cover_rows(PlaneFormat& plane) {
  const int described = plane.component_count;
  int group = 0;
  for (int c = 0; c < described; ++c)
    group = std::max(group, plane.components[c].step);
  for (int offset = 0; offset < group; offset += plane.sample_bytes) {
    const bool covered = std::any_of(
        plane.components, plane.components + described, [&](const Component& component) {
          return offset >= component.offset && (offset - component.offset) % component.step == 0;
        });
    if (!covered) add_padding(plane, offset, group, plane.components[0].width);
  }
  for (int c = 0; c < described; ++c) {
    const Component& component = plane.components[c];
    const int cells = group / component.step;
    if (component.width % cells != 0)
      add_padding(plane, component.offset + component.width * component.step, group, 1);
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
  return find_row(format) != nullptr;
}

FrameFormat frame_format(const GstVideoInfo& info, unsigned channels) {
  const GstVideoFormatInfo* format = info.finfo;
  const FormatRow& row = *find_row(GST_VIDEO_FORMAT_INFO_FORMAT(format));
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
    component.offset =
        row.offsets.has_value() ? row.offsets->of[c] : GST_VIDEO_INFO_COMP_POFFSET(&info, c);
    component.step = GST_VIDEO_INFO_COMP_PSTRIDE(&info, c);
    component.width = GST_VIDEO_INFO_COMP_WIDTH(&info, c);
    component.height = GST_VIDEO_INFO_COMP_HEIGHT(&info, c);
    component.depth = static_cast<int>(GST_VIDEO_FORMAT_INFO_DEPTH(format, c));
    component.shift = row.shift.value_or(static_cast<int>(GST_VIDEO_FORMAT_INFO_SHIFT(format, c)));
    component.black = black[c];
    component.range = range[c];
    plane.sample_bytes = component.depth > 8 ? 2 : 1;
    plane.big_endian =
        plane.sample_bytes == 2 && !row.little_endian && !GST_VIDEO_FORMAT_INFO_IS_LE(format);
  }
  for (int p = 0; p < frame.plane_count; ++p) {
    cover_rows(frame.planes[p]);
    measure(frame.planes[p]);
  }
  return frame;
}

}  // namespace cudaconvolve
