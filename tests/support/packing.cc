// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/support/packing.h"

#include <algorithm>
#include <array>

namespace check {
namespace {

constexpr int kPixels = 24;     // Whole groups of 1, 2, 3, 4 and 6 pixels.
constexpr int kRowBytes = 512;  // More than any format takes for them.

using Row = std::array<std::uint8_t, kRowBytes>;
using Rows = std::array<Row, GST_VIDEO_MAX_PLANES>;

/// Bits of a component in the format that lines are packed from.
int line_bits(const GstVideoFormatInfo* format) {
  return GST_VIDEO_FORMAT_INFO_BITS(gst_video_format_get_info(format->unpack_format));
}

/// What a line becomes in which `component` is `value` and all others are 0.
Rows pack(const GstVideoFormatInfo* format, guint component, int value) {
  // AYUV, ARGB and their 64-bit forms: A comes first.
  const std::size_t place = component == GST_VIDEO_COMP_A ? 0 : component + 1;
  std::array<std::uint8_t, 4 * kPixels> narrow = {};
  std::array<std::uint16_t, 4 * kPixels> wide = {};
  for (std::size_t i = place; i < narrow.size(); i += 4) {
    narrow[i] = static_cast<std::uint8_t>(value);
    wide[i] = static_cast<std::uint16_t>(value);
  }
  Rows rows = {};
  gpointer data[GST_VIDEO_MAX_PLANES];
  gint stride[GST_VIDEO_MAX_PLANES];
  for (std::size_t p = 0; p < rows.size(); ++p) {
    data[p] = rows[p].data();
    stride[p] = kRowBytes;
  }
  gpointer line = line_bits(format) == 8 ? static_cast<gpointer>(narrow.data())
                                         : static_cast<gpointer>(wide.data());
  format->pack_func(format, GST_VIDEO_PACK_FLAG_NONE, line, 0, data, stride,
                    GST_VIDEO_CHROMA_SITE_UNKNOWN, 0, kPixels);
  return rows;
}

/// One bit of a code in memory.
struct Bit {
  int plane = 0;
  int byte = 0;  ///< That of the first sample.
  int bit = 0;
  int step = 0;
  int samples = 0;    ///< 0: the bit is not stored.
  bool alone = true;  ///< One bit in each sample, at equal steps.
};

Bit find_bit(const GstVideoFormatInfo* format, guint component, int input_bit) {
  const Rows zero = pack(format, component, 0);
  const Rows set = pack(format, component, 1 << input_bit);
  Bit found;
  int last = 0;
  for (int p = 0; p < GST_VIDEO_MAX_PLANES; ++p)
    for (int b = 0; b < kRowBytes; ++b) {
      const std::size_t plane = static_cast<std::size_t>(p), byte = static_cast<std::size_t>(b);
      const unsigned changed = zero[plane][byte] ^ set[plane][byte];
      if (changed == 0) continue;
      const int bit = __builtin_ctz(changed);
      if (found.samples == 0) {
        found.plane = p;
        found.byte = b;
        found.bit = bit;
      } else if (found.samples == 1) {
        found.step = b - last;
      }
      found.alone = found.alone && changed == 1u << found.bit && p == found.plane &&
                    (found.samples == 0 || b - last == found.step);
      last = b;
      ++found.samples;
    }
  return found;
}

}  // namespace

int PackedComponent::get(const std::uint8_t* sample) const {
  int word = sample[0];
  if (bytes == 2) word = big_endian ? sample[0] << 8 | sample[1] : sample[1] << 8 | sample[0];
  return word >> shift & max_code();
}

void PackedComponent::put(std::uint8_t* sample, int code) const {
  const int word = code << shift;
  const auto low = static_cast<std::uint8_t>(word), high = static_cast<std::uint8_t>(word >> 8);
  sample[0] = bytes == 2 && big_endian ? high : low;
  if (bytes == 2) sample[1] = big_endian ? low : high;
}

std::vector<PackedComponent> packed_components(const GstVideoFormatInfo* format) {
  // Tiles and palettes would be written outside the rows.
  if (format->pack_func == nullptr || GST_VIDEO_FORMAT_INFO_IS_COMPLEX(format) ||
      GST_VIDEO_FORMAT_INFO_HAS_PALETTE(format))
    return {};
  std::vector<PackedComponent> components;
  for (guint c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS(format); ++c) {
    std::vector<Bit> stored;  // Lowest first.
    for (int b = 0; b < line_bits(format); ++b)
      if (const Bit bit = find_bit(format, c, b); bit.samples != 0) stored.push_back(bit);
    if (stored.empty()) return {};
    const Bit& low = stored.front();
    const Bit& high = stored.back();
    PackedComponent component;
    component.depth = static_cast<int>(stored.size());
    component.bytes = low.byte == high.byte ? 1 : 2;
    component.big_endian = high.byte < low.byte;
    component.plane = low.plane;
    component.offset = std::min(low.byte, high.byte);
    component.step = low.step;
    component.shift = low.bit;
    component.pixels_wide = kPixels / low.samples;
    component.pixels_high = 1 << GST_VIDEO_FORMAT_INFO_H_SUB(format, c);
    for (int k = 0; k < component.depth; ++k) {
      const Bit& bit = stored[static_cast<std::size_t>(k)];
      const int place = bit.bit + (bit.byte == low.byte ? 0 : 8);
      const bool here = bit.byte == low.byte || bit.byte == high.byte;
      if (!bit.alone || !here || place != component.shift + k || bit.step != low.step ||
          bit.samples != low.samples || bit.plane != low.plane)
        return {};
    }
    components.push_back(component);
  }
  return components;
}

}  // namespace check
