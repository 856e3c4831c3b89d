// SPDX-License-Identifier: LGPL-2.1-or-later
// A few bytes from all over a picture, to see whether two are the same.
#pragma once

#include <gst/video/video.h>

#include <cstdint>
#include <vector>

namespace cudaconvolve::pipelines {

/// Places depend only on the size of the first plane. Empty for a buffer that cannot be mapped.
using PictureSample = std::vector<std::uint8_t>;
PictureSample sample_of(GstBuffer* buffer, const GstVideoInfo& info);

}  // namespace cudaconvolve::pipelines
