// SPDX-License-Identifier: LGPL-2.1-or-later
// Fields were taken at two times: each is filtered as a picture of its own, borders included.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;

const oracle::Mask kMask{3, 5, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6}, 66};

const GstVideoFormat kFormats[] = {
    GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_FORMAT_I420,
    GST_VIDEO_FORMAT_YV12,  GST_VIDEO_FORMAT_NV12,      GST_VIDEO_FORMAT_NV21,
    GST_VIDEO_FORMAT_Y42B,  GST_VIDEO_FORMAT_RGB,       GST_VIDEO_FORMAT_RGBA};

/// Heights with fields of equal, unequal and no rows, in luma and in chroma.
const int kHeights[] = {1, 2, 3, 4, 5, 7, 16, 33};

class Interlaced : public testing::TestWithParam<GstVideoFormat> {};

TEST_P(Interlaced, InterleavedIsFilteredPerField) {
  Harness harness(Settings{{"mask", kMask.text()}});
  for (const char* border : {"replicate", "zero", "mirror", "wrap"}) {
    harness.set("border", border);
    for (const int height : kHeights) {
      const GstVideoInfo info =
          video_info(GetParam(), 9, height, GST_VIDEO_INTERLACE_MODE_INTERLEAVED);
      const oracle::Bytes frame = oracle::random_frame(info, 1);
      harness.set_caps(info);
      oracle::Options options;
      options.border = border;
      options.fields = true;
      EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame),
                                          oracle::expected(info, frame, kMask, options)),
                0)
          << border << " " << height;
    }
  }
}

TEST_P(Interlaced, MixedGoesByTheFlagOfTheBuffer) {
  const GstVideoInfo info = video_info(GetParam(), 12, 11, GST_VIDEO_INTERLACE_MODE_MIXED);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  for (const bool interlaced : {true, false, true}) {
    GstBuffer* buffer = check::make_buffer(frame);
    if (interlaced) GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    ASSERT_EQ(harness.push_buffer(buffer), GST_FLOW_OK);
    oracle::Options options;
    options.fields = interlaced;
    EXPECT_EQ(oracle::differing_samples(info, harness.pull(),
                                        oracle::expected(info, frame, kMask, options)),
              0)
        << interlaced;
  }
}

TEST_P(Interlaced, AlternateIsOneFieldABuffer) {
  const GstVideoInfo info = video_info(GetParam(), 12, 11, GST_VIDEO_INTERLACE_MODE_ALTERNATE);
  const oracle::Bytes field = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  for (const GstVideoBufferFlags flag :
       {GST_VIDEO_BUFFER_FLAG_TOP_FIELD, GST_VIDEO_BUFFER_FLAG_BOTTOM_FIELD}) {
    GstBuffer* buffer = check::make_buffer(field);
    GST_BUFFER_FLAG_SET(buffer, flag);
    GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    ASSERT_EQ(harness.push_buffer(buffer), GST_FLOW_OK);
    GstBuffer* output = harness.pull_buffer();
    ASSERT_NE(output, nullptr);
    EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(output, flag));
    EXPECT_EQ(oracle::differing_samples(info, check::picture_of(output, info),
                                        oracle::expected(info, field, kMask, {})),
              0);
    gst_buffer_unref(output);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Interlaced, testing::ValuesIn(kFormats),
                         [](const testing::TestParamInfo<GstVideoFormat>& row) {
                           return std::string(gst_video_format_to_string(row.param));
                         });

}  // namespace
