// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/check/format_oracle.h"

#include <algorithm>
#include <random>
#include <utility>

namespace check {
namespace {

convolve::Role role_of(const GstVideoInfo& info, std::size_t component) {
  if (component == GST_VIDEO_COMP_A) return convolve::Role::kAlpha;
  return GST_VIDEO_INFO_IS_YUV(&info) && component > 0 ? convolve::Role::kChroma
                                                       : convolve::Role::kLuma;
}

bool is_filtered(convolve::Role role, FilteredChannels channels) {
  if (role == convolve::Role::kAlpha) return channels.alpha;
  return role == convolve::Role::kChroma ? channels.chroma : channels.luma;
}

/// Calls visit(byte of the sample, index of the sample), row by row.
template <class Visit>
void each_sample(const GstVideoInfo& info, const PackedComponent& place, Visit&& visit) {
  std::size_t index = 0;
  for (int y = 0; y < place.height(info); ++y) {
    const std::size_t row =
        GST_VIDEO_INFO_PLANE_OFFSET(&info, place.plane) +
        static_cast<std::size_t>(y) * GST_VIDEO_INFO_PLANE_STRIDE(&info, place.plane) +
        static_cast<std::size_t>(place.offset);
    for (int x = 0; x < place.width(info); ++x, ++index)
      visit(row + static_cast<std::size_t>(x) * static_cast<std::size_t>(place.step), index);
  }
}

}  // namespace

FormatOracle::FormatOracle(const GstVideoInfo& info, oracle::Bytes frame, FilteredChannels channels)
    : info_(info), frame_(std::move(frame)), components_(packed_components(info.finfo)) {
  gint black[GST_VIDEO_MAX_COMPONENTS];
  gint range[GST_VIDEO_MAX_COMPONENTS];
  gst_video_color_range_offsets(info.colorimetry.range, info.finfo, black, range);
  for (std::size_t c = 0; c < components_.size(); ++c) {
    Filtered filtered;
    filtered.place = components_[c];
    filtered.rule.role = role_of(info, c);
    if (!is_filtered(filtered.rule.role, channels)) continue;
    filtered.rule.depth = filtered.place.depth;
    filtered.rule.black = black[c];
    filtered.rule.range = range[c];
    filtered.picture.width = filtered.place.width(info);
    filtered.picture.height = filtered.place.height(info);
    each_sample(info_, filtered.place, [&](std::size_t at, std::size_t) {
      filtered.picture.codes.push_back(filtered.place.get(&frame_[at]));
    });
    filtered_.push_back(std::move(filtered));
  }
}

oracle::Bytes FormatOracle::expected(const convolve::Mask& mask,
                                     const convolve::RunArguments& arguments) const {
  oracle::Bytes output = frame_;
  for (const Filtered& filtered : filtered_) {
    const convolve::ReferenceResult result =
        convolve::reference_filter(filtered.picture, filtered.rule, mask, arguments);
    each_sample(info_, filtered.place, [&](std::size_t at, std::size_t index) {
      filtered.place.put(&output[at], result.samples[index].code);
    });
  }
  return output;
}

std::int64_t FormatOracle::differing_bytes(const oracle::Bytes& a, const oracle::Bytes& b) const {
  if (a.size() != b.size()) return static_cast<std::int64_t>(std::max(a.size(), b.size()));
  std::int64_t count = 0;
  for (int p = 0; p < static_cast<int>(GST_VIDEO_INFO_N_PLANES(&info_)); ++p) {
    int row_bytes = 0, rows = 0;
    for (const PackedComponent& component : components_) {
      if (component.plane != p) continue;
      row_bytes = std::max(row_bytes, component.width(info_) * component.step);
      rows = component.height(info_);
    }
    for (int y = 0; y < rows; ++y) {
      const std::size_t row = GST_VIDEO_INFO_PLANE_OFFSET(&info_, p) +
                              static_cast<std::size_t>(y) * GST_VIDEO_INFO_PLANE_STRIDE(&info_, p);
      for (std::size_t i = row; i < row + static_cast<std::size_t>(row_bytes); ++i)
        count += a[i] != b[i] ? 1 : 0;
    }
  }
  return count;
}

oracle::Bytes flat_frame(const GstVideoInfo& info, unsigned seed) {
  gint black[GST_VIDEO_MAX_COMPONENTS];
  gint range[GST_VIDEO_MAX_COMPONENTS];
  gst_video_color_range_offsets(info.colorimetry.range, info.finfo, black, range);
  oracle::Bytes frame = random_bytes(info, seed);
  const std::vector<PackedComponent> components = packed_components(info.finfo);
  for (std::size_t c = 0; c < components.size(); ++c)
    if (c != GST_VIDEO_COMP_A)
      each_sample(info, components[c],
                  [&](std::size_t at, std::size_t) { components[c].put(&frame[at], black[c]); });
  return frame;
}

oracle::Bytes random_bytes(const GstVideoInfo& info, unsigned seed) {
  std::mt19937 random(seed);
  oracle::Bytes frame(GST_VIDEO_INFO_SIZE(&info));
  for (std::uint8_t& byte : frame)
    byte = static_cast<std::uint8_t>(random());
  return frame;
}

}  // namespace check
