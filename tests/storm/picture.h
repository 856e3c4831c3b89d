// SPDX-License-Identifier: LGPL-2.1-or-later
// From the words of a case to GStreamer's description of its pictures, and to the engine's view of
// frames that are laid out as that description says.
#pragma once

#include <gst/video/video.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/view.h"
#include "tests/storm/case.h"

namespace storm {

using Bytes = std::vector<std::uint8_t>;

/// The caps that format, size, mode and colorimetry of `words` ask for, as text.
std::string caps_text(const Words& words);

/// What GStreamer makes of `caps`; nothing if they are none of a picture.
std::optional<GstVideoInfo> picture_info(const std::string& caps);

/// A frame laid out as `info` says. Its codes are those that `fill` asks for (random, extremes,
/// rows or impulse), all other bits are random. The same arguments give the same frame.
Bytes make_frame(const GstVideoInfo& info, const std::string& fill, unsigned seed);

/// `bytes`, laid out as `info` says, of which `format` describes the planes.
convolve::FrameView view_of(const GstVideoInfo& info, const convolve::FrameFormat& format,
                            Bytes& bytes);

/// The rows of one parity (0 = top) as a frame of their own.
convolve::FrameView field_of(const convolve::FrameView& frame, int parity);

/// True if any plane has rows.
bool has_rows(const convolve::FrameView& view);

}  // namespace storm
