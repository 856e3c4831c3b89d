// SPDX-License-Identifier: LGPL-2.1-or-later
// The format table: one row a format. It drives the pad templates, the engine's view of a frame and
// the tests. What a row does not say comes from GStreamer's own description of the format.
#pragma once

#include <gst/video/video.h>

#include <optional>

#include "kernels/convolver.h"

namespace cudaconvolve {

/// Bytes from the start of a pixel, or of a pair of pixels that share chroma, to the components Y U
/// V A of the format.
struct Offsets {
  int of[GST_VIDEO_MAX_COMPONENTS];
};

/// A format that the element takes. A member beyond `format` is a correction: GstVideoFormatInfo
/// says something else than where GStreamer's own pack and unpack functions put the samples.
struct FormatRow {
  GstVideoFormat format;
  std::optional<Offsets> offsets = {};
  std::optional<int> shift = {};
  bool little_endian = false;  ///< The description misses the flag.
};

/// All formats of GStreamer 1.22 whose samples are whole: 8 to 16 bits in one or two bytes of their
/// own, one constant step apart. The most usual first in each family, as peers that leave the
/// choice to the pad template take its first.
inline constexpr FormatRow kFormats[] = {
    // Planar and semi-planar YUV, 8 bit.
    {GST_VIDEO_FORMAT_I420},
    {GST_VIDEO_FORMAT_NV12},
    {GST_VIDEO_FORMAT_YV12},
    {GST_VIDEO_FORMAT_NV21},
    {GST_VIDEO_FORMAT_Y42B},
    {GST_VIDEO_FORMAT_NV16},
    {GST_VIDEO_FORMAT_NV61},
    {GST_VIDEO_FORMAT_Y444},
    {GST_VIDEO_FORMAT_NV24},
    {GST_VIDEO_FORMAT_Y41B},
    {GST_VIDEO_FORMAT_YUV9},
    {GST_VIDEO_FORMAT_YVU9},
    {GST_VIDEO_FORMAT_A420},
    {GST_VIDEO_FORMAT_AV12},
    // Packed YUV, 8 bit.
    {GST_VIDEO_FORMAT_YUY2},
    {GST_VIDEO_FORMAT_UYVY},
    {GST_VIDEO_FORMAT_YVYU},
    {GST_VIDEO_FORMAT_VYUY, Offsets{{1, 2, 0}}},  // U and V change places.
    {GST_VIDEO_FORMAT_AYUV},
    {GST_VIDEO_FORMAT_VUYA},
    {GST_VIDEO_FORMAT_v308},
    {GST_VIDEO_FORMAT_IYU2},
    // RGB, 8 bit.
    {GST_VIDEO_FORMAT_RGBA},
    {GST_VIDEO_FORMAT_BGRA},
    {GST_VIDEO_FORMAT_ARGB},
    {GST_VIDEO_FORMAT_ABGR},
    {GST_VIDEO_FORMAT_RGBx},
    {GST_VIDEO_FORMAT_BGRx},
    {GST_VIDEO_FORMAT_xRGB},
    {GST_VIDEO_FORMAT_xBGR},
    {GST_VIDEO_FORMAT_RGB},
    {GST_VIDEO_FORMAT_BGR},
    {GST_VIDEO_FORMAT_RGBP},
    {GST_VIDEO_FORMAT_BGRP},
    {GST_VIDEO_FORMAT_GBR},
    {GST_VIDEO_FORMAT_GBRA},
    // Grey.
    {GST_VIDEO_FORMAT_GRAY8},
    {GST_VIDEO_FORMAT_GRAY16_LE},
    {GST_VIDEO_FORMAT_GRAY16_BE},
    // Semi-planar YUV, 10 to 16 bit. The description puts V one byte after U, inside U.
    {GST_VIDEO_FORMAT_P010_10LE, Offsets{{0, 0, 2}}},
    {GST_VIDEO_FORMAT_P010_10BE, Offsets{{0, 0, 2}}},
    {GST_VIDEO_FORMAT_P012_LE, Offsets{{0, 0, 2}}},
    {GST_VIDEO_FORMAT_P012_BE, Offsets{{0, 0, 2}}},
    {GST_VIDEO_FORMAT_P016_LE, Offsets{{0, 0, 2}}},
    {GST_VIDEO_FORMAT_P016_BE, Offsets{{0, 0, 2}}},
    // Planar YUV, 10 to 16 bit.
    {GST_VIDEO_FORMAT_I420_10LE},
    {GST_VIDEO_FORMAT_I420_10BE},
    {GST_VIDEO_FORMAT_I420_12LE},
    {GST_VIDEO_FORMAT_I420_12BE},
    {GST_VIDEO_FORMAT_I422_10LE},
    {GST_VIDEO_FORMAT_I422_10BE},
    {GST_VIDEO_FORMAT_I422_12LE},
    {GST_VIDEO_FORMAT_I422_12BE},
    {GST_VIDEO_FORMAT_Y444_10LE},
    {GST_VIDEO_FORMAT_Y444_10BE},
    {GST_VIDEO_FORMAT_Y444_12LE},
    {GST_VIDEO_FORMAT_Y444_12BE},
    {GST_VIDEO_FORMAT_Y444_16LE},
    {GST_VIDEO_FORMAT_Y444_16BE},
    {GST_VIDEO_FORMAT_A420_10LE},
    {GST_VIDEO_FORMAT_A420_10BE},
    {GST_VIDEO_FORMAT_A422_10LE},
    {GST_VIDEO_FORMAT_A422_10BE},
    {GST_VIDEO_FORMAT_A444_10LE},
    {GST_VIDEO_FORMAT_A444_10BE},
    // Packed YUV, 10 to 16 bit. The description gives no offsets for Y210 to Y412, and leaves the
    // two little-endian ones that have no twin without the flag.
    {GST_VIDEO_FORMAT_Y210, Offsets{{0, 2, 6}}, 6, true},
    {GST_VIDEO_FORMAT_Y212_LE, Offsets{{0, 2, 6}}},
    {GST_VIDEO_FORMAT_Y212_BE, Offsets{{0, 2, 6}}},
    {GST_VIDEO_FORMAT_v216, std::nullopt, std::nullopt, true},
    {GST_VIDEO_FORMAT_Y412_LE, Offsets{{2, 0, 4, 6}}},
    {GST_VIDEO_FORMAT_Y412_BE, Offsets{{2, 0, 4, 6}}},
    {GST_VIDEO_FORMAT_AYUV64},
    // RGB, 10 to 16 bit.
    {GST_VIDEO_FORMAT_ARGB64},
    {GST_VIDEO_FORMAT_ARGB64_LE},
    {GST_VIDEO_FORMAT_ARGB64_BE},
    {GST_VIDEO_FORMAT_RGBA64_LE},
    {GST_VIDEO_FORMAT_RGBA64_BE},
    {GST_VIDEO_FORMAT_BGRA64_LE},
    {GST_VIDEO_FORMAT_BGRA64_BE},
    {GST_VIDEO_FORMAT_ABGR64_LE},
    {GST_VIDEO_FORMAT_ABGR64_BE},
    {GST_VIDEO_FORMAT_GBR_10LE},
    {GST_VIDEO_FORMAT_GBR_10BE},
    {GST_VIDEO_FORMAT_GBR_12LE},
    {GST_VIDEO_FORMAT_GBR_12BE},
    {GST_VIDEO_FORMAT_GBRA_10LE},
    {GST_VIDEO_FORMAT_GBRA_10BE},
    {GST_VIDEO_FORMAT_GBRA_12LE},
    {GST_VIDEO_FORMAT_GBRA_12BE},
};

/// The formats of the table that GStreamer's CUDA library lays out in its memory, in every version
/// from 1.22 on: asked for another, that of 1.22 ends the process.
inline constexpr GstVideoFormat kCudaFormats[] = {
    GST_VIDEO_FORMAT_NV12,      GST_VIDEO_FORMAT_NV21,      GST_VIDEO_FORMAT_I420,
    GST_VIDEO_FORMAT_YV12,      GST_VIDEO_FORMAT_Y42B,      GST_VIDEO_FORMAT_Y444,
    GST_VIDEO_FORMAT_YUY2,      GST_VIDEO_FORMAT_UYVY,      GST_VIDEO_FORMAT_RGBA,
    GST_VIDEO_FORMAT_BGRA,      GST_VIDEO_FORMAT_ARGB,      GST_VIDEO_FORMAT_ABGR,
    GST_VIDEO_FORMAT_RGBx,      GST_VIDEO_FORMAT_BGRx,      GST_VIDEO_FORMAT_RGB,
    GST_VIDEO_FORMAT_BGR,       GST_VIDEO_FORMAT_RGBP,      GST_VIDEO_FORMAT_BGRP,
    GST_VIDEO_FORMAT_GBR,       GST_VIDEO_FORMAT_GBRA,      GST_VIDEO_FORMAT_P010_10LE,
    GST_VIDEO_FORMAT_P016_LE,   GST_VIDEO_FORMAT_I420_10LE, GST_VIDEO_FORMAT_I422_10LE,
    GST_VIDEO_FORMAT_I422_12LE, GST_VIDEO_FORMAT_Y444_16LE,
};

/// What property `channels` selects. RGB and grey count as luma.
enum Channels : unsigned { kLuma = 1, kChroma = 2, kAlpha = 4 };

/// True if `format` has a row.
bool has_row(GstVideoFormat format);

/// The engine's description of one buffer of `info`, a format of the table: a frame, or a field if
/// the fields come alternately. Components outside `channels` (bits of Channels) are copied. Bytes
/// of a row that no component covers are components of role kPadding: the x of RGBx, and the second
/// luma sample of the last pair in YUY2 of an odd width.
convolve::FrameFormat frame_format(const GstVideoInfo& info, unsigned channels);

}  // namespace cudaconvolve
