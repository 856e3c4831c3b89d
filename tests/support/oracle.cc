// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/support/oracle.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace oracle {
namespace {

/// Walks back into the picture one reflection or period at a time; -1 = no signal.
int inside(const std::string& border, int i, int n) {
  while (i < 0 || i >= n) {
    if (border == "zero") return -1;
    if (border == "replicate") i = i < 0 ? 0 : n - 1;
    if (border == "reflect") i = i < 0 ? -1 - i : 2 * n - 1 - i;
    if (border == "mirror") i = n == 1 ? 0 : (i < 0 ? -i : 2 * n - 2 - i);
    if (border == "wrap") i += i < 0 ? n : -n;
  }
  return i;
}

std::int64_t divide_half_to_even(std::int64_t numerator, std::int64_t divisor) {
  std::int64_t quotient = numerator / divisor;
  std::int64_t rest = numerator % divisor;
  if (rest < 0) {
    rest += divisor;
    --quotient;
  }
  if (2 * rest > divisor || (2 * rest == divisor && quotient % 2 != 0)) ++quotient;
  return quotient;
}

/// The samples of one component in a frame.
class Samples {
 public:
  Samples(const GstVideoInfo& info, guint component)
      : info_(info),
        component_(component),
        wide_(GST_VIDEO_INFO_COMP_DEPTH(&info, component) > 8) {}

  int width() const { return GST_VIDEO_INFO_COMP_WIDTH(&info_, component_); }
  int height() const { return GST_VIDEO_INFO_COMP_HEIGHT(&info_, component_); }

  int get(const Bytes& frame, int y, int x) const {
    const std::size_t at = place(y, x);
    return wide_ ? frame[at] | frame[at + 1] << 8 : frame[at];
  }
  void put(Bytes& frame, int y, int x, int code) const {
    const std::size_t at = place(y, x);
    frame[at] = static_cast<std::uint8_t>(code);
    if (wide_) frame[at + 1] = static_cast<std::uint8_t>(code >> 8);
  }

 private:
  std::size_t place(int y, int x) const {
    return GST_VIDEO_INFO_COMP_OFFSET(&info_, component_) +
           static_cast<std::size_t>(y) * GST_VIDEO_INFO_COMP_STRIDE(&info_, component_) +
           static_cast<std::size_t>(x) * GST_VIDEO_INFO_COMP_PSTRIDE(&info_, component_);
  }

  const GstVideoInfo& info_;
  guint component_;
  bool wide_;
};

bool is_alpha(const GstVideoInfo& info, guint component) {
  return GST_VIDEO_INFO_HAS_ALPHA(&info) && component == 3;
}
bool is_chroma(const GstVideoInfo& info, guint component) {
  return GST_VIDEO_INFO_IS_YUV(&info) && (component == 1 || component == 2);
}

bool is_filtered(const GstVideoInfo& info, guint component, const Options& options) {
  if (is_alpha(info, component)) return options.alpha;
  return is_chroma(info, component) ? options.chroma : options.luma;
}

}  // namespace

std::string Mask::text() const {
  std::string text = std::to_string(width) + "x" + std::to_string(height) + ":";
  for (int weight : weights)
    text += " " + std::to_string(weight);
  return text + " / " + std::to_string(divisor);
}

Bytes expected(const GstVideoInfo& info, const Bytes& input, const Mask& mask,
               const Options& options) {
  Bytes output = input;
  gint black[GST_VIDEO_MAX_COMPONENTS];
  gint range[GST_VIDEO_MAX_COMPONENTS];
  gst_video_color_range_offsets(info.colorimetry.range, info.finfo, black, range);
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(&info); ++c) {
    if (!is_filtered(info, c, options)) continue;
    const Samples samples(info, c);
    const std::int64_t o = black[c];
    const bool biased = !is_alpha(info, c) && !is_chroma(info, c);
    const std::int64_t bias =
        biased ? static_cast<std::int64_t>(std::nearbyint(options.bias * range[c])) : 0;
    const std::int64_t divisor = std::int64_t{mask.divisor} * options.scale_denominator;
    const std::int64_t top = (1 << GST_VIDEO_INFO_COMP_DEPTH(&info, c)) - 1;
    const int step = options.fields ? 2 : 1;
    for (int parity = 0; parity < step; ++parity) {
      const int rows = (samples.height() + step - 1 - parity) / step;
      for (int y = 0; y < rows; ++y)
        for (int x = 0; x < samples.width(); ++x) {
          std::int64_t sum = 0;
          for (int i = 0; i < mask.height; ++i)
            for (int j = 0; j < mask.width; ++j) {
              const int sy = inside(options.border, y - mask.height / 2 + i, rows);
              const int sx = inside(options.border, x - mask.width / 2 + j, samples.width());
              if (sy < 0 || sx < 0) continue;
              const std::int64_t code = samples.get(input, sy * step + parity, sx);
              sum += mask.weights[static_cast<std::size_t>(i * mask.width + j)] * (code - o);
            }
          const std::int64_t value =
              divide_half_to_even(divisor * (o + bias) + sum * options.scale_numerator, divisor);
          samples.put(output, y * step + parity, x,
                      static_cast<int>(std::clamp<std::int64_t>(value, 0, top)));
        }
    }
  }
  return output;
}

Bytes random_frame(const GstVideoInfo& info, unsigned seed) {
  std::mt19937 random(seed);
  Bytes frame(GST_VIDEO_INFO_SIZE(&info));
  for (std::uint8_t& byte : frame)
    byte = static_cast<std::uint8_t>(random());
  return frame;
}

std::int64_t differing_samples(const GstVideoInfo& info, const Bytes& a, const Bytes& b) {
  std::int64_t count = 0;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(&info); ++p) {
    // The component with the widest rows tells how many bytes of a row are picture; so the x of
    // RGBx counts as well.
    std::size_t row_bytes = 0;
    int rows = 0;
    for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(&info); ++c) {
      if (GST_VIDEO_INFO_COMP_PLANE(&info, c) != p) continue;
      row_bytes = static_cast<std::size_t>(GST_VIDEO_INFO_COMP_WIDTH(&info, c)) *
                  GST_VIDEO_INFO_COMP_PSTRIDE(&info, c);
      rows = GST_VIDEO_INFO_COMP_HEIGHT(&info, c);
    }
    for (int y = 0; y < rows; ++y) {
      const std::size_t at = GST_VIDEO_INFO_PLANE_OFFSET(&info, p) +
                             static_cast<std::size_t>(y) * GST_VIDEO_INFO_PLANE_STRIDE(&info, p);
      for (std::size_t i = at; i < at + row_bytes; ++i)
        count += a[i] != b[i] ? 1 : 0;
    }
  }
  return count;
}

}  // namespace oracle
