// SPDX-License-Identifier: LGPL-2.1-or-later
// From a GstBuffer to the engine's view of it. This is the one place that checks that the planes
// lie within the memory: neither GStreamer's frame mapping nor the engine does.
#pragma once

#include <gst/video/video.h>

#include "kernels/convolver.h"

namespace cudaconvolve {

/// A buffer mapped for as long as this lives, with checked planes: into system memory, or where it
/// lies in CUDA memory.
class MappedFrame {
 public:
  MappedFrame() = default;
  ~MappedFrame();
  MappedFrame(const MappedFrame&) = delete;
  MappedFrame& operator=(const MappedFrame&) = delete;

  /// Maps `buffer`, which must outlive this, once. Offsets and strides come from its GstVideoMeta
  /// if it has one, else from `info`; sizes always from `format`, which is what the caps say.
  /// Negative strides are served. CUDA memory is mapped where it lies if `on_device`, and else
  /// copied to system memory. kInvalidArgument if the meta describes another format or a smaller
  /// picture, if any row of a plane lies outside the memory, or if planes that are to be written
  /// share bytes; kDeviceError if mapping fails.
  convolve::Status map(GstBuffer* buffer, const GstVideoInfo& info,
                       const convolve::FrameFormat& format, GstMapFlags flags,
                       bool on_device = false);

  const convolve::FrameView& view() const { return view_; }

 private:
  GstBuffer* buffer_ = nullptr;
  GstMapInfo maps_[GST_VIDEO_MAX_PLANES];
  int map_count_ = 0;
  convolve::FrameView view_;
};

/// What the addresses and pitches of all planes of `frame` are multiples of, in bytes, as
/// Options::alignment wants to know: at most kPlaneAlignment, which all but CUDA memory counts as.
int alignment_of(const convolve::FrameView& frame);

/// The rows of one parity in each plane of `frame`: 0 = the rows 0, 2, 4...; 1 = the rows 1,
/// 3, 5... Planes of one row have no rows of parity 1.
convolve::FrameView field_view(const convolve::FrameView& frame, int parity);

}  // namespace cudaconvolve
