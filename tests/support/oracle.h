// SPDX-License-Identifier: LGPL-2.1-or-later
// What the element must answer, computed from GStreamer's description of a format and nothing of
// the product: own border rule, own arithmetic in 64-bit integers, one loop a sample.
#pragma once

#include <gst/video/video.h>

#include <cstdint>
#include <string>
#include <vector>

namespace oracle {

/// A mask with whole weights over one divisor; the anchor is (width / 2, height / 2).
struct Mask {
  int width;
  int height;
  std::vector<int> weights;
  int divisor = 1;

  /// What to set property `mask` to.
  std::string text() const;
};

struct Options {
  std::string border = "replicate";
  double bias = 0;
  int scale_numerator = 1;
  int scale_denominator = 1;
  bool luma = true;  ///< And grey, red, green, blue.
  bool chroma = true;
  bool alpha = false;
  bool fields = false;  ///< Rows of one parity are a picture of their own.
};

using Bytes = std::vector<std::uint8_t>;

/// The frame laid out as `info` says that filtering `input`, laid out likewise, must give. Bytes
/// that hold no filtered sample are those of `input`.
Bytes expected(const GstVideoInfo& info, const Bytes& input, const Mask& mask,
               const Options& options);

/// A frame of random bytes: codes, unused bits and padding alike. The same seed gives the same
/// frame.
Bytes random_frame(const GstVideoInfo& info, unsigned seed);

/// Samples of the picture (also alpha and the x of RGBx) that differ; at least one if the two
/// are not of one size.
std::int64_t differing_samples(const GstVideoInfo& info, const Bytes& a, const Bytes& b);

}  // namespace oracle
