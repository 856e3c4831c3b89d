// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/support/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "tests/support/packing.h"

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

/// What check::packed_components() finds, kept: experiments take their time.
const check::PackedComponent& packed_component(const GstVideoFormatInfo* format, guint component) {
  thread_local std::map<GstVideoFormat, std::vector<check::PackedComponent>> known;
  auto [found, is_new] = known.try_emplace(GST_VIDEO_FORMAT_INFO_FORMAT(format));
  if (is_new) found->second = check::packed_components(format);
  return found->second.at(component);
}

/// The samples of one component in a frame.
class Samples {
 public:
  Samples(const GstVideoInfo& info, guint component)
      : info_(info), component_(component), packed_(packed_component(info.finfo, component)) {}

  int width() const { return GST_VIDEO_INFO_COMP_WIDTH(&info_, component_); }
  int height() const { return GST_VIDEO_INFO_COMP_HEIGHT(&info_, component_); }
  int top() const { return packed_.max_code(); }
  int bytes() const { return packed_.bytes; }
  int step() const { return packed_.step; }

  int get(const Bytes& frame, int y, int x) const { return packed_.get(frame.data() + at(y, x)); }
  void put(Bytes& frame, int y, int x, int code) const {
    packed_.put(frame.data() + at(y, x), code);
  }

  /// Where the row and the sample begin in the frame.
  std::size_t row(int y) const {
    return GST_VIDEO_INFO_PLANE_OFFSET(&info_, packed_.plane) +
           static_cast<std::size_t>(y) * GST_VIDEO_INFO_PLANE_STRIDE(&info_, packed_.plane);
  }
  std::size_t at(int y, int x) const {
    return row(y) + static_cast<std::size_t>(packed_.offset + x * packed_.step);
  }

 private:
  const GstVideoInfo& info_;
  guint component_;
  const check::PackedComponent& packed_;
};

/// AV12 and Y412 have one without the flag that says so.
bool is_alpha(guint component) {
  return component == 3;
}
bool is_chroma(const GstVideoInfo& info, guint component) {
  return GST_VIDEO_INFO_IS_YUV(&info) && (component == 1 || component == 2);
}

bool is_filtered(const GstVideoInfo& info, guint component, const Options& options) {
  if (is_alpha(component)) return options.alpha;
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
    const std::int64_t o = is_alpha(c) ? 0 : black[c];
    const bool biased = !is_alpha(c) && !is_chroma(info, c);
    const std::int64_t bias =
        biased ? static_cast<std::int64_t>(std::nearbyint(options.bias * range[c])) : 0;
    const std::int64_t divisor = std::int64_t{mask.divisor} * options.scale_denominator;
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
                      static_cast<int>(std::clamp<std::int64_t>(value, 0, samples.top())));
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
  if (a.size() != b.size()) return 1;
  std::int64_t count = 0;
  const auto compare = [&](std::size_t at, int bytes) {
    count += std::memcmp(a.data() + at, b.data() + at, static_cast<std::size_t>(bytes)) != 0;
  };
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(&info); ++c) {
    const Samples samples(info, c);
    for (int y = 0; y < samples.height(); ++y)
      for (int x = 0; x < samples.width(); ++x)
        compare(samples.at(y, x), samples.bytes());
    // No component describes the x of RGBx: whole pixels are compared as well.
    for (int y = 0; y < samples.height() && GST_VIDEO_INFO_IS_RGB(&info); ++y)
      compare(samples.row(y), samples.width() * samples.step());
  }
  return count;
}

}  // namespace oracle
