// SPDX-License-Identifier: LGPL-2.1-or-later
// Each row of the format table against GStreamer's own pack and unpack functions: every component,
// position and bit. GstVideoFormatInfo alone would not do: it has thirteen formats wrong.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/core/base/sample.h"
#include "plugin/formats.h"
#include "tests/support/packing.h"

namespace {

using convolve::Component;
using convolve::FrameFormat;
using convolve::PlaneFormat;
using convolve::Role;
using cudaconvolve::FormatRow;

constexpr unsigned kAllChannels =
    cudaconvolve::kLuma | cudaconvolve::kChroma | cudaconvolve::kAlpha;

GstVideoInfo make_info(GstVideoFormat format, int width, int height) {
  GstVideoInfo info;
  g_assert_true(gst_video_info_set_format(&info, format, static_cast<guint>(width),
                                          static_cast<guint>(height)));
  return info;
}

/// A component as the table has it, with the plane it lies in.
struct Described {
  int plane = 0;
  PlaneFormat layout;
  Component component;
};

/// The components that are not padding, in GStreamer's order: planes and offsets may be in another.
std::vector<Described> described(const GstVideoInfo& info) {
  const FrameFormat frame = cudaconvolve::frame_format(info, kAllChannels);
  std::vector<Described> all;
  int next[convolve::kMaxPlanes] = {};
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(&info); ++c) {
    const int p = GST_VIDEO_INFO_COMP_PLANE(&info, c);
    all.push_back({p, frame.planes[p], frame.planes[p].components[next[p]++]});
  }
  return all;
}

class FormatLayout : public testing::TestWithParam<GstVideoFormat> {};

std::vector<GstVideoFormat> table() {
  std::vector<GstVideoFormat> formats;
  for (const FormatRow& row : cudaconvolve::kFormats)
    formats.push_back(row.format);
  return formats;
}

/// GStreamer 1.22 unpacks the last pixel of VYUY of an odd width with U and V in each other's
/// place, unlike all pixels before it and its own pack function.
bool is_known_swap(const GstVideoInfo& info, int x, std::size_t component) {
  return GST_VIDEO_INFO_FORMAT(&info) == GST_VIDEO_FORMAT_VYUY && info.width % 2 != 0 &&
         x == info.width - 1 && component != GST_VIDEO_COMP_Y;
}

TEST_P(FormatLayout, IsWhereThePackFunctionWrites) {
  const GstVideoInfo info = make_info(GetParam(), 23, 19);
  const std::vector<check::PackedComponent> packed = check::packed_components(info.finfo);
  const std::vector<Described> ours = described(info);
  ASSERT_EQ(packed.size(), ours.size());
  for (std::size_t c = 0; c < ours.size(); ++c) {
    SCOPED_TRACE("component " + std::to_string(c));
    const auto& [plane, layout, component] = ours[c];
    EXPECT_EQ(plane, packed[c].plane);
    EXPECT_EQ(layout.sample_bytes, packed[c].bytes);
    EXPECT_EQ(layout.big_endian, packed[c].big_endian);
    EXPECT_EQ(component.offset, packed[c].offset);
    EXPECT_EQ(component.step, packed[c].step);
    EXPECT_EQ(component.depth, packed[c].depth);
    EXPECT_EQ(component.shift, packed[c].shift);
    EXPECT_EQ(component.width, packed[c].width(info));
    EXPECT_EQ(component.height, packed[c].height(info));
  }
}

/// A frame of random bytes, so that the bits outside the depth are random, too.
TEST_P(FormatLayout, ReadsWhatTheUnpackFunctionReads) {
  std::mt19937 random(11);
  for (const auto& [width, height] : {std::pair(24, 8), {23, 7}, {5, 5}, {2, 3}, {1, 1}}) {
    const GstVideoInfo info = make_info(GetParam(), width, height);
    SCOPED_TRACE(std::to_string(width) + "x" + std::to_string(height));
    std::vector<guint8> frame(GST_VIDEO_INFO_SIZE(&info));
    for (guint8& byte : frame)
      byte = static_cast<guint8>(random());
    gpointer data[GST_VIDEO_MAX_PLANES] = {};
    for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(&info); ++p)
      data[p] = frame.data() + GST_VIDEO_INFO_PLANE_OFFSET(&info, p);

    const std::vector<Described> ours = described(info);
    const GstVideoFormatInfo* to = gst_video_format_get_info(info.finfo->unpack_format);
    const int bits = GST_VIDEO_FORMAT_INFO_BITS(to);
    std::vector<guint16> line(static_cast<std::size_t>(width) * 4 + 16);
    for (int y = 0; y < height; ++y) {
      info.finfo->unpack_func(info.finfo, GST_VIDEO_PACK_FLAG_NONE, line.data(), data, info.stride,
                              0, y, width);
      const auto* narrow = reinterpret_cast<const guint8*>(line.data());
      for (int x = 0; x < width; ++x)
        for (std::size_t c = 0; c < ours.size(); ++c) {
          if (is_known_swap(info, x, c)) continue;
          const auto& [plane, layout, component] = ours[c];
          const guint index = static_cast<guint>(c);
          const int row = y >> GST_VIDEO_FORMAT_INFO_H_SUB(info.finfo, index);
          const int column = x >> GST_VIDEO_FORMAT_INFO_W_SUB(info.finfo, index);
          const guint8* at = frame.data() + GST_VIDEO_INFO_PLANE_OFFSET(&info, plane) +
                             row * GST_VIDEO_INFO_PLANE_STRIDE(&info, plane) + component.offset +
                             column * component.step;
          guint16 word = 0;
          memcpy(&word, at, static_cast<std::size_t>(layout.sample_bytes));
          const convolve::SampleLayout bits_of = convolve::sample_layout(layout, component);
          const int code = layout.sample_bytes == 2
                               ? convolve::decode_sample(word, bits_of)
                               : convolve::decode_sample(static_cast<guint8>(word), bits_of);
          // A Y U V or A R G B, deeper samples widened at their low end.
          const std::size_t place = static_cast<std::size_t>(x) * 4 + (c == 3 ? 0 : c + 1);
          const int unpacked = bits == 8 ? narrow[place] : line[place];
          ASSERT_EQ(code, unpacked >> (bits - component.depth))
              << "component " << c << " at (" << x << "," << y << ")";
        }
    }
  }
}

/// Rows are covered to the end of the last pixel or pair, and no byte belongs to two components.
TEST_P(FormatLayout, CoversEachByteOfItsRowsOnce) {
  for (const int width : {1, 2, 7, 8}) {
    const GstVideoInfo info = make_info(GetParam(), width, 4);
    const FrameFormat frame = cudaconvolve::frame_format(info, kAllChannels);
    for (int p = 0; p < frame.plane_count; ++p) {
      const PlaneFormat& plane = frame.planes[p];
      std::multiset<int> bytes;
      int group = 0;
      for (int c = 0; c < plane.component_count; ++c) {
        const Component& component = plane.components[c];
        group = std::max(group, component.step);
        for (int x = 0; x < component.width; ++x)
          for (int b = 0; b < plane.sample_bytes; ++b)
            bytes.insert(component.offset + x * component.step + b);
        EXPECT_EQ(component.filtered, component.role != Role::kPadding);
      }
      EXPECT_EQ(plane.row_bytes % group, 0);
      ASSERT_EQ(bytes.size(), static_cast<std::size_t>(plane.row_bytes)) << "width " << width;
      EXPECT_EQ(std::set<int>(bytes.begin(), bytes.end()).size(), bytes.size());
      EXPECT_EQ(*bytes.rbegin(), plane.row_bytes - 1);
      EXPECT_LE(plane.row_bytes, GST_VIDEO_INFO_PLANE_STRIDE(&info, p));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FormatLayout, testing::ValuesIn(table()),
                         [](const testing::TestParamInfo<GstVideoFormat>& row) {
                           return std::string(gst_video_format_to_string(row.param));
                         });

TEST(FormatRoles, AlphaCountsAlsoWhereItsFlagIsMissing) {
  for (const GstVideoFormat format :
       {GST_VIDEO_FORMAT_AYUV, GST_VIDEO_FORMAT_A420_10BE, GST_VIDEO_FORMAT_AV12,
        GST_VIDEO_FORMAT_Y412_LE, GST_VIDEO_FORMAT_GBRA, GST_VIDEO_FORMAT_BGRA64_BE}) {
    const std::vector<Described> components = described(make_info(format, 8, 8));
    ASSERT_EQ(components.size(), 4u) << gst_video_format_to_string(format);
    EXPECT_EQ(components[3].component.role, Role::kAlpha) << gst_video_format_to_string(format);
    EXPECT_EQ(components[3].component.black, 0);
  }
}

}  // namespace
