// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/picture_sample.h"

#include <cstddef>
#include <random>

namespace cudaconvolve::pipelines {
namespace {

constexpr int kBytes = 512;

}  // namespace

PictureSample sample_of(GstBuffer* buffer, const GstVideoInfo& info) {
  GstVideoFrame frame;
  if (!gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ)) return {};
  const auto* plane = static_cast<const std::uint8_t*>(GST_VIDEO_FRAME_PLANE_DATA(&frame, 0));
  const auto rows = static_cast<std::uint32_t>(GST_VIDEO_FRAME_COMP_HEIGHT(&frame, 0));
  const auto row_bytes = static_cast<std::uint32_t>(GST_VIDEO_FRAME_COMP_WIDTH(&frame, 0) *
                                                    GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, 0));
  const std::ptrdiff_t stride = GST_VIDEO_FRAME_PLANE_STRIDE(&frame, 0);
  std::mt19937 places(1);
  PictureSample sample;
  for (int k = 0; k < kBytes; ++k) {
    const auto y = static_cast<std::ptrdiff_t>(places() % rows);
    const auto x = static_cast<std::ptrdiff_t>(places() % row_bytes);
    sample.push_back(plane[y * stride + x]);
  }
  gst_video_frame_unmap(&frame);
  return sample;
}

}  // namespace cudaconvolve::pipelines
