// SPDX-License-Identifier: LGPL-2.1-or-later
// Which formats the element takes, and the rules of colour on each of them. That all their samples
// are right under any mask, border and size is format_table's job.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "tests/check/format_cases.h"
#include "tests/check/format_oracle.h"
#include "tests/support/element.h"

namespace {

using check::FilteredChannels;
using check::FormatOracle;
using check::Harness;
using check::Settings;
using check::video_info;

const char* const kAsymmetric = "3x3: 1 2 3 4 5 6 7 8 9 / 45";

class Formats : public testing::TestWithParam<GstVideoFormat> {};

TEST_P(Formats, ChannelsSelectWhatIsFiltered) {
  struct Choice {
    const char* nick;
    FilteredChannels channels;
  };
  const GstVideoInfo info = video_info(GetParam(), 19, 11);
  const convolve::Mask mask = check::mask_of(kAsymmetric);
  for (const Choice& choice :
       {Choice{"luma", {true, false, false}}, Choice{"chroma", {false, true, false}},
        Choice{"alpha", {false, false, true}}, Choice{"luma+chroma+alpha", {true, true, true}}}) {
    const FormatOracle oracle(info, check::random_bytes(info, 7), choice.channels);
    Harness harness(Settings{{"mask", kAsymmetric}, {"channels", choice.nick}});
    harness.set_caps(info);
    EXPECT_EQ(oracle.differing_bytes(harness.filter(oracle.frame()), oracle.expected(mask, {})), 0)
        << choice.nick;
  }
}

/// Full-range luma has another black level and range than that of limited range.
TEST_P(Formats, BiasScaleAndBlackFollowTheColourRangeOfTheCaps) {
  constexpr const char* kEdges = "3x2: -1 0 1 -2 1 1";
  const convolve::Mask mask = check::mask_of(kEdges);
  for (const GstVideoColorRange range :
       {GST_VIDEO_COLOR_RANGE_0_255, GST_VIDEO_COLOR_RANGE_16_235}) {
    GstVideoInfo info = video_info(GetParam(), 16, 9);
    info.colorimetry.range = range;
    const FormatOracle oracle(info, check::random_bytes(info, 5));
    Harness harness(
        Settings{{"mask", kEdges}, {"border", "zero"}, {"bias", "0.25"}, {"scale", "0.75"}});
    harness.set_caps(info);
    EXPECT_EQ(oracle.differing_bytes(harness.filter(oracle.frame()),
                                     oracle.expected(mask, {0.75, 0.25, convolve::Border::kZero})),
              0)
        << "range " << range;
  }
}

/// No green pictures: under masks whose sum is 0, black stays black and grey chroma grey.
TEST_P(Formats, EdgeMasksLeaveFlatColourAsItIs) {
  for (const GstVideoColorRange range : {GST_VIDEO_COLOR_RANGE_0_255, GST_VIDEO_COLOR_RANGE_16_235})
    for (const char* mask : {"laplacian", "sobel-x", "log:1.4"}) {
      GstVideoInfo info = video_info(GetParam(), 9, 7);
      info.colorimetry.range = range;
      const FormatOracle oracle(info, check::flat_frame(info, 3));
      Harness harness(Settings{{"mask", mask}, {"border", "zero"}});
      harness.set_caps(info);
      EXPECT_EQ(oracle.differing_bytes(harness.filter(oracle.frame()), oracle.frame()), 0)
          << mask << " range " << range;
    }
}

INSTANTIATE_TEST_SUITE_P(All, Formats, testing::ValuesIn(check::template_formats()),
                         [](const testing::TestParamInfo<GstVideoFormat>& row) {
                           return std::string(gst_video_format_to_string(row.param));
                         });

/// What the element leaves to converters, and why.
const std::map<GstVideoFormat, const char*> kLeftOut = {
    {GST_VIDEO_FORMAT_v210, "three samples in 32 bits"},
    {GST_VIDEO_FORMAT_UYVP, "four samples in 40 bits"},
    {GST_VIDEO_FORMAT_GRAY10_LE32, "three samples in 32 bits"},
    {GST_VIDEO_FORMAT_NV12_10LE32, "three samples in 32 bits"},
    {GST_VIDEO_FORMAT_NV16_10LE32, "three samples in 32 bits"},
    {GST_VIDEO_FORMAT_NV12_10LE40, "four samples in 40 bits"},
    {GST_VIDEO_FORMAT_r210, "three samples in 32 bits"},
    {GST_VIDEO_FORMAT_Y410, "10, 10, 10 and 2 bits in 32"},
    {GST_VIDEO_FORMAT_BGR10A2_LE, "10, 10, 10 and 2 bits in 32"},
    {GST_VIDEO_FORMAT_RGB10A2_LE, "10, 10, 10 and 2 bits in 32"},
    {GST_VIDEO_FORMAT_RGB16, "5, 6 and 5 bits in 16"},
    {GST_VIDEO_FORMAT_BGR16, "5, 6 and 5 bits in 16"},
    {GST_VIDEO_FORMAT_RGB15, "5, 5 and 5 bits in 16"},
    {GST_VIDEO_FORMAT_BGR15, "5, 5 and 5 bits in 16"},
    {GST_VIDEO_FORMAT_RGB8P, "palette"},
    {GST_VIDEO_FORMAT_IYU1, "luma two bytes apart and one by turns"},
    {GST_VIDEO_FORMAT_NV12_64Z32, "tiles"},
    {GST_VIDEO_FORMAT_NV12_4L4, "tiles"},
    {GST_VIDEO_FORMAT_NV12_32L32, "tiles"},
    {GST_VIDEO_FORMAT_NV12_16L32S, "tiles"},
    {GST_VIDEO_FORMAT_NV12_8L128, "tiles"},
    {GST_VIDEO_FORMAT_NV12_10BE_8L128, "tiles"},
};

/// GStreamer's own enumeration, so that no format is forgotten. Newer versions append theirs.
TEST(Template, HasEveryFormatOfGStreamer122OrAReasonWhyNot) {
  const std::vector<GstVideoFormat>& formats = check::template_formats();
  int all = 0;
  for (int f = GST_VIDEO_FORMAT_ENCODED + 1; f <= GST_VIDEO_FORMAT_NV12_10BE_8L128; ++f, ++all) {
    const GstVideoFormat format = static_cast<GstVideoFormat>(f);
    const long rows = std::count(formats.begin(), formats.end(), format);
    const auto left_out = kLeftOut.find(format);
    EXPECT_EQ(rows, left_out == kLeftOut.end() ? 1 : 0)
        << gst_video_format_to_string(format)
        << (left_out == kLeftOut.end() ? "" : std::string(": ") + left_out->second);
  }
  EXPECT_EQ(all, 111);
  EXPECT_EQ(formats.size(), 89u);
}

/// Both structures of system memory, progressive and alternate, name the same formats. CUDA memory
/// comes behind them, so that upstream takes system memory if it has no wish.
TEST(Template, SaysTheSameForFields) {
  GstElement* element = check::make_element();
  GstPad* pad = gst_element_get_static_pad(element, "sink");
  GstCaps* caps = gst_pad_get_pad_template_caps(pad);
  ASSERT_GE(gst_caps_get_size(caps), 2u);
  for (guint n = 0; n < gst_caps_get_size(caps); ++n)
    EXPECT_EQ(gst_caps_features_contains(gst_caps_get_features(caps, n), "memory:CUDAMemory") != 0,
              n == 2);
  EXPECT_EQ(gst_value_compare(gst_structure_get_value(gst_caps_get_structure(caps, 0), "format"),
                              gst_structure_get_value(gst_caps_get_structure(caps, 1), "format")),
            GST_VALUE_EQUAL);
  gst_caps_unref(caps);
  gst_object_unref(pad);
  gst_object_unref(element);
}

/// The element converts nothing, so what comes in goes out, and a converter before it has no reason
/// to change the format of its input.
TEST(Negotiation, StaysOnTheFormatThatComes) {
  for (const char* format : {"NV12", "I420", "YUY2", "BGRx", "GBR_10LE", "Y444_12BE", "Y210"}) {
    const std::string line =
        "videotestsrc num-buffers=1 ! video/x-raw,width=16,height=8,format=" + std::string(format) +
        " ! videoconvert ! cudaconvolve name=filter mask=box:3 ! "
        "videoconvert ! fakesink name=sink";
    GstElement* pipeline = gst_parse_launch(line.c_str(), nullptr);
    ASSERT_NE(pipeline, nullptr);
    gst_element_set_state(pipeline, GST_STATE_PAUSED);
    ASSERT_EQ(gst_element_get_state(pipeline, nullptr, nullptr, 10 * GST_SECOND),
              GST_STATE_CHANGE_SUCCESS);
    for (const char* name : {"filter", "sink"}) {
      GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), name);
      GstPad* pad = gst_element_get_static_pad(element, "sink");
      GstCaps* caps = gst_pad_get_current_caps(pad);
      EXPECT_STREQ(gst_structure_get_string(gst_caps_get_structure(caps, 0), "format"), format)
          << name;
      gst_caps_unref(caps);
      gst_object_unref(pad);
      gst_object_unref(element);
    }
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
  }
}

}  // namespace
