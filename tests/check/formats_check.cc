// SPDX-License-Identifier: LGPL-2.1-or-later
// Every format of the table, sizes from 1x1 up, masks and borders: no sample may differ.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;

const char* const kBorders[] = {"replicate", "zero", "reflect", "mirror", "wrap"};

const GstVideoFormat kFormats[] = {
    GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_FORMAT_I420,
    GST_VIDEO_FORMAT_YV12,  GST_VIDEO_FORMAT_Y42B,      GST_VIDEO_FORMAT_Y444,
    GST_VIDEO_FORMAT_NV12,  GST_VIDEO_FORMAT_NV21,      GST_VIDEO_FORMAT_RGB,
    GST_VIDEO_FORMAT_BGR,   GST_VIDEO_FORMAT_RGBx,      GST_VIDEO_FORMAT_BGRx,
    GST_VIDEO_FORMAT_xRGB,  GST_VIDEO_FORMAT_xBGR,      GST_VIDEO_FORMAT_RGBA,
    GST_VIDEO_FORMAT_BGRA,  GST_VIDEO_FORMAT_ARGB,      GST_VIDEO_FORMAT_ABGR,
};

struct Size {
  int width;
  int height;
};
const Size kSizes[] = {{1, 1},  {1, 2},  {2, 1},   {3, 3},  {7, 5},
                       {17, 1}, {1, 17}, {33, 31}, {64, 48}};

/// Gains near 1, so that a fault shows instead of saturating.
const std::vector<oracle::Mask>& masks() {
  static const std::vector<oracle::Mask> all = {
      {3, 3, {0, -1, 0, -1, 5, -1, 0, -1, 0}, 1},
      {3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45},
      {5, 1, {1, -2, 4, 3, 1}, 7},
      {1, 5, {1, 2, 3, 2, 1}, 9},
      {2, 4, {1, 2, 3, 4, -1, 0, 2, 5}, 16},
      {5,
       5,
       {1, 4, 7, 4, 1, 4, 16, 26, 16, 4, 7, 26, 41, 26, 7, 4, 16, 26, 16, 4, 1, 4, 7, 4, 1},
       273},
  };
  return all;
}

class Formats : public testing::TestWithParam<GstVideoFormat> {};

TEST_P(Formats, NoSampleDiffersFromTheOracle) {
  Harness harness;
  unsigned seed = 1;
  for (const Size size : kSizes) {
    const GstVideoInfo info = video_info(GetParam(), size.width, size.height);
    harness.set_caps(info);
    const oracle::Bytes input = oracle::random_frame(info, seed++);
    for (const oracle::Mask& mask : masks()) {
      harness.set("mask", mask.text());
      for (const char* border : kBorders) {
        harness.set("border", border);
        oracle::Options options;
        options.border = border;
        const oracle::Bytes output = harness.filter(input);
        ASSERT_EQ(output.size(), input.size());
        ASSERT_EQ(
            oracle::differing_samples(info, output, oracle::expected(info, input, mask, options)),
            0)
            << size.width << "x" << size.height << " " << mask.text() << " " << border;
      }
    }
  }
  EXPECT_TRUE(harness.errors().empty());
}

TEST_P(Formats, ChannelsSelectWhatIsFiltered) {
  struct Choice {
    const char* nick;
    bool luma, chroma, alpha;
  };
  const GstVideoInfo info = video_info(GetParam(), 19, 11);
  const oracle::Bytes input = oracle::random_frame(info, 7);
  for (const Choice choice :
       {Choice{"luma", true, false, false}, Choice{"chroma", false, true, false},
        Choice{"alpha", false, false, true}, Choice{"luma+chroma+alpha", true, true, true}}) {
    Harness harness(Settings{{"mask", masks()[1].text()}, {"channels", choice.nick}});
    harness.set_caps(info);
    oracle::Options options;
    options.luma = choice.luma;
    options.chroma = choice.chroma;
    options.alpha = choice.alpha;
    EXPECT_EQ(oracle::differing_samples(info, harness.filter(input),
                                        oracle::expected(info, input, masks()[1], options)),
              0)
        << choice.nick;
  }
}

TEST_P(Formats, BiasAndScaleKeepChromaGreyAndBlackBlack) {
  const GstVideoInfo info = video_info(GetParam(), 16, 9);
  const oracle::Bytes input = oracle::random_frame(info, 3);
  const oracle::Mask laplacian{3, 3, {0, -1, 0, -1, 4, -1, 0, -1, 0}, 1};
  Harness harness(Settings{{"mask", laplacian.text()}, {"bias", "0.25"}, {"scale", "0.75"}});
  harness.set_caps(info);
  oracle::Options options;
  options.bias = 0.25;
  options.scale_numerator = 3;
  options.scale_denominator = 4;
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(input),
                                      oracle::expected(info, input, laplacian, options)),
            0);
}

/// Full-range luma has another black level and range than the default.
TEST_P(Formats, ColourRangeOfTheCapsCounts) {
  GstVideoInfo info = video_info(GetParam(), 16, 9);
  info.colorimetry.range = info.colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255
                               ? GST_VIDEO_COLOR_RANGE_16_235
                               : GST_VIDEO_COLOR_RANGE_0_255;
  const oracle::Bytes input = oracle::random_frame(info, 5);
  const oracle::Mask edges{3, 1, {-1, 0, 1}, 1};
  Harness harness(Settings{{"mask", edges.text()}, {"border", "zero"}, {"bias", "0.5"}});
  harness.set_caps(info);
  oracle::Options options;
  options.border = "zero";
  options.bias = 0.5;
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(input),
                                      oracle::expected(info, input, edges, options)),
            0);
}

INSTANTIATE_TEST_SUITE_P(All, Formats, testing::ValuesIn(kFormats),
                         [](const testing::TestParamInfo<GstVideoFormat>& row) {
                           return std::string(gst_video_format_to_string(row.param));
                         });

/// The list above is typed by hand; the template must say the same.
TEST(Template, OffersExactlyTheTestedFormats) {
  GstElement* element = check::make_element();
  GstPad* pad = gst_element_get_static_pad(element, "sink");
  GstCaps* caps = gst_pad_get_pad_template_caps(pad);
  const GValue* list = gst_structure_get_value(gst_caps_get_structure(caps, 0), "format");
  EXPECT_EQ(gst_value_list_get_size(list), G_N_ELEMENTS(kFormats));
  for (const GstVideoFormat format : kFormats) {
    bool found = false;
    for (guint i = 0; i < gst_value_list_get_size(list); ++i)
      found = found || std::string(gst_video_format_to_string(format)) ==
                           g_value_get_string(gst_value_list_get_value(list, i));
    EXPECT_TRUE(found) << gst_video_format_to_string(format);
  }
  gst_caps_unref(caps);
  gst_object_unref(pad);
  gst_object_unref(element);
}

}  // namespace
