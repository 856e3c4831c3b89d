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
/// progressive, interleaved or mixed; one field a buffer with the feature format:Interlaced; and,
/// if this build `knows_cuda_memory`, frames in CUDA memory of the formats that may lie there. The
/// interlace mode `fields`, where one buffer holds the fields of several pictures, is left out.
GstCaps* make_template_caps(bool knows_cuda_memory);

/// True if frames of fixed `caps` lie in CUDA memory.
bool are_in_cuda_memory(const GstCaps* caps);

/// What may be on one pad with `caps` on the other (transfer full): the same, and behind it the
/// same in the other memory if there is `cuda_memory`. Without it, caps in CUDA memory are left
/// out.
GstCaps* caps_of_other_side(const GstCaps* caps, bool cuda_memory);

/// Those of `choice` (transfer full in and out) in the memory of fixed `caps`; all of them if none
/// is.
GstCaps* prefer_memory_of(const GstCaps* caps, GstCaps* choice);

/// The bytes of a frame of these caps without padding; false if they are not of raw video.
bool frame_bytes(const GstCaps* caps, gsize* bytes);

/// Reads fixed `caps` and checks what pad templates cannot express. kUnsupported with a message fit
/// for the user.
convolve::Result<GstVideoInfo> parse_caps(const GstCaps* caps);

}  // namespace cudaconvolve
