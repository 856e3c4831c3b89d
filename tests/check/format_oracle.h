// SPDX-License-Identifier: LGPL-2.1-or-later
// Whole frames of any format as they must come out of the element: samples where GStreamer's pack
// function puts them (packing.h), codes as the exact reference has them (kernels/reference), all
// other bytes as they went in.
#pragma once

#include <gst/video/video.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/plan/backend.h"
#include "kernels/reference/reference.h"
#include "tests/support/oracle.h"
#include "tests/support/packing.h"

namespace check {

/// What is filtered.
struct FilteredChannels {
  bool luma = true;  ///< And grey, red, green, blue.
  bool chroma = true;
  bool alpha = false;
};

/// One input frame and everything that is asked of it.
class FormatOracle {
 public:
  /// `frame` is laid out as `info` says; its bits outside the samples' depth may hold anything.
  FormatOracle(const GstVideoInfo& info, oracle::Bytes frame, FilteredChannels channels = {});

  const oracle::Bytes& frame() const { return frame_; }

  /// The frame that filtering must give. Bits outside the depth of filtered samples are 0.
  oracle::Bytes expected(const convolve::Mask& mask, const convolve::RunArguments& arguments) const;

  /// Bytes in which two frames differ within the picture: every row to the end of its last pixel,
  /// or of the pair that it belongs to.
  std::int64_t differing_bytes(const oracle::Bytes& a, const oracle::Bytes& b) const;

 private:
  struct Filtered {
    PackedComponent place;
    convolve::Component rule;
    convolve::Picture picture;
  };

  GstVideoInfo info_;
  oracle::Bytes frame_;
  std::vector<PackedComponent> components_;
  std::vector<Filtered> filtered_;
};

/// `info` with every colour component at its black level, chroma at mid-grey, all other bits
/// random: what an edge mask must not change.
oracle::Bytes flat_frame(const GstVideoInfo& info, unsigned seed);

/// Random bytes, also in the bits outside the samples' depth. The same seed gives the same frame.
oracle::Bytes random_bytes(const GstVideoInfo& info, unsigned seed);

}  // namespace check
