// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the samples of a format lie, found by experiment: GStreamer's own pack function is given
// lines that differ in one bit of one component, and the bytes that change are the answer. So it
// relies neither on GstVideoFormatInfo's offsets, shifts and byte order, which some formats have
// wrong, nor on the product's table.
#pragma once

#include <gst/video/video.h>

#include <cstdint>
#include <vector>

namespace check {

/// The samples of one component. Depth, offset and step are those of the bits that change.
struct PackedComponent {
  int plane = 0;
  int offset = 0;  ///< Bytes from the start of a row to the first sample.
  int step = 0;    ///< Bytes from a sample to its right neighbour.
  int bytes = 1;   ///< Of one sample.
  bool big_endian = false;
  int depth = 8;
  int shift = 0;        ///< Unused bits below the code.
  int pixels_wide = 1;  ///< Pixels of a row that share a sample.
  int pixels_high = 1;  ///< As the description says: a line does not show it.

  int width(const GstVideoInfo& info) const { return shared(info.width, pixels_wide); }
  int height(const GstVideoInfo& info) const { return shared(info.height, pixels_high); }
  int max_code() const { return (1 << depth) - 1; }

  /// The code of the sample whose first byte is at `sample`.
  int get(const std::uint8_t* sample) const;
  /// Bits outside the depth become zero.
  void put(std::uint8_t* sample, int code) const;

 private:
  static int shared(int pixels, int together) { return (pixels + together - 1) / together; }
};

/// The components in the order of GstVideoFormatInfo. None for formats that are tiled or paletted,
/// or whose bits lie at no constant step.
std::vector<PackedComponent> packed_components(const GstVideoFormatInfo* format);

}  // namespace check
