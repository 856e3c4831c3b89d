// SPDX-License-Identifier: LGPL-2.1-or-later
// The format table: one row a format. It drives the pad templates, the engine's view of a frame and
// the tests. Everything else about a format comes from GStreamer's own description of it.
#pragma once

#include <gst/video/video.h>

#include "kernels/convolver.h"

namespace cudaconvolve {

/// A format that the element takes. A member beyond `format` is a correction: something that
/// GstVideoFormatInfo does not say, or says differently from what the samples are.
struct FormatRow {
  GstVideoFormat format;
};

inline constexpr FormatRow kFormats[] = {
    {GST_VIDEO_FORMAT_I420}, {GST_VIDEO_FORMAT_NV12},  {GST_VIDEO_FORMAT_RGBA},
    {GST_VIDEO_FORMAT_BGRA}, {GST_VIDEO_FORMAT_YV12},  {GST_VIDEO_FORMAT_NV21},
    {GST_VIDEO_FORMAT_Y42B}, {GST_VIDEO_FORMAT_Y444},  {GST_VIDEO_FORMAT_ARGB},
    {GST_VIDEO_FORMAT_ABGR}, {GST_VIDEO_FORMAT_RGBx},  {GST_VIDEO_FORMAT_BGRx},
    {GST_VIDEO_FORMAT_xRGB}, {GST_VIDEO_FORMAT_xBGR},  {GST_VIDEO_FORMAT_RGB},
    {GST_VIDEO_FORMAT_BGR},  {GST_VIDEO_FORMAT_GRAY8}, {GST_VIDEO_FORMAT_GRAY16_LE},
};

/// What property `channels` selects. RGB and grey count as luma.
enum Channels : unsigned { kLuma = 1, kChroma = 2, kAlpha = 4 };

/// True if `format` has a row.
bool has_row(GstVideoFormat format);

/// The engine's description of one buffer of `info`, a format of the table: a frame, or a field if
/// the fields come alternately. Components outside `channels` (bits of Channels) are copied. Bytes
/// of a pixel that no component covers are components of role kPadding.
convolve::FrameFormat frame_format(const GstVideoInfo& info, unsigned channels);

}  // namespace cudaconvolve
