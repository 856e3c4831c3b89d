// SPDX-License-Identifier: LGPL-2.1-or-later
// What the element accepts, as pure functions of caps: no element, no state, no CUDA.
#pragma once

#include <gst/video/video.h>

#include "kernels/convolver.h"

namespace cudaconvolve {

/// Largest side of a picture, in pixels. The pad templates carry it.
inline constexpr int kMaxSide = 32768;

/// Largest frame in bytes: GStreamer 1.22 itself lays out no larger ones.
inline constexpr guint64 kMaxFrameBytes = G_MAXUINT32;

/// The caps of both pad templates (transfer full): every row of the format table in system memory,
/// progressive, interleaved or mixed; and one field a buffer with the feature format:Interlaced.
/// The interlace mode `fields`, where one buffer holds the fields of several pictures, is left out.
GstCaps* make_template_caps();

/// The bytes of a frame of these caps without padding; false if they are not of raw video.
bool frame_bytes(const GstCaps* caps, gsize* bytes);

/// Reads fixed `caps` and checks what pad templates cannot express. kUnsupported with a message fit
/// for the user.
convolve::Result<GstVideoInfo> parse_caps(const GstCaps* caps);

}  // namespace cudaconvolve
