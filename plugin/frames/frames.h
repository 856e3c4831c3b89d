// SPDX-License-Identifier: LGPL-2.1-or-later
// From a GstBuffer to the engine's view of it. This is the one place that checks that the planes
// lie within the memory: neither GStreamer's frame mapping nor the engine does.
#pragma once

#include <gst/video/video.h>

#include "kernels/convolver.h"

namespace cudaconvolve {

/// A buffer mapped into system memory for as long as this lives, with checked planes.
class MappedFrame {
 public:
  MappedFrame() = default;
  ~MappedFrame();
  MappedFrame(const MappedFrame&) = delete;
  MappedFrame& operator=(const MappedFrame&) = delete;

  /// Maps `buffer`, which must outlive this, once. Offsets and strides come from its GstVideoMeta
  /// if it has one, else from `info`; sizes always from `format`, which is what the caps say.
  /// Negative strides are served. kInvalidArgument if the meta describes another format or a
  /// smaller picture, if any row of a plane lies outside the memory, or if planes that are to be
  /// written share bytes; kDeviceError if mapping fails.
  convolve::Status map(GstBuffer* buffer, const GstVideoInfo& info,
                       const convolve::FrameFormat& format, GstMapFlags flags);

  const convolve::FrameView& view() const { return view_; }

 private:
  GstBuffer* buffer_ = nullptr;
  GstMapInfo maps_[GST_VIDEO_MAX_PLANES];
  int map_count_ = 0;
  convolve::FrameView view_;
};

/// The rows of one parity in each plane of `frame`: 0 = the rows 0, 2, 4...; 1 = the rows 1,
/// 3, 5... Planes of one row have no rows of parity 1.
convolve::FrameView field_view(const convolve::FrameView& frame, int parity);

}  // namespace cudaconvolve
