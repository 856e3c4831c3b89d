// SPDX-License-Identifier: LGPL-2.1-or-later
// Fields were taken at two times: each is filtered as a picture of its own, borders included.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/element.h"
#include "tests/support/layout.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;

const oracle::Mask kMask{3, 5, {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6}, 66};

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

/// Buffers of any layout: a field takes every other row of it, from the bottom up too.
TEST_P(Interlaced, LayoutsOfBuffersAreServed) {
  Harness harness(Settings{{"mask", kMask.text()}});
  for (const int height : {1, 2, 5, 14}) {
    const GstVideoInfo info =
        video_info(GetParam(), 9, height, GST_VIDEO_INTERLACE_MODE_INTERLEAVED);
    const oracle::Bytes frame = oracle::random_frame(info, 1);
    oracle::Options options;
    options.fields = true;
    const oracle::Bytes wanted = oracle::expected(info, frame, kMask, options);
    harness.set_caps(info);
    for (const check::Layout& layout : check::honest_layouts()) {
      ASSERT_EQ(harness.push_buffer(check::lay_out(info, frame, layout)), GST_FLOW_OK);
      EXPECT_EQ(oracle::differing_samples(info, harness.pull(), wanted), 0)
          << layout << " " << height;
    }
  }
}

TEST_P(Interlaced, AlternateIsOneFieldABuffer) {
  Harness harness(Settings{{"mask", kMask.text()}});
  for (const int height : kHeights) {
    const GstVideoInfo info =
        video_info(GetParam(), 12, height, GST_VIDEO_INTERLACE_MODE_ALTERNATE);
    const oracle::Bytes field = oracle::random_frame(info, 1);
    harness.set_caps(info);
    for (const GstVideoBufferFlags flag :
         {GST_VIDEO_BUFFER_FLAG_TOP_FIELD, GST_VIDEO_BUFFER_FLAG_BOTTOM_FIELD}) {
      GstBuffer* buffer = check::make_buffer(field);
      GST_BUFFER_FLAG_SET(buffer, flag);
      GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
      ASSERT_EQ(harness.push_buffer(buffer), GST_FLOW_OK) << height;
      GstBuffer* output = harness.pull_buffer();
      ASSERT_NE(output, nullptr);
      EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(output, flag));
      EXPECT_EQ(oracle::differing_samples(info, check::picture_of(output, info),
                                          oracle::expected(info, field, kMask, {})),
                0)
          << height;
      gst_buffer_unref(output);
    }
  }
}

/// Producers give the GstVideoMeta of a field the height of the field or of the frame.
TEST(Alternate, MetaMaySayTheHeightOfTheFieldOrOfTheFrame) {
  const GstVideoInfo info =
      video_info(GST_VIDEO_FORMAT_I420, 12, 11, GST_VIDEO_INTERLACE_MODE_ALTERNATE);
  const oracle::Bytes field = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  for (const guint height : {6u, 11u}) {
    GstBuffer* buffer = check::lay_out(info, field, {});
    gst_buffer_get_video_meta(buffer)->height = height;
    ASSERT_EQ(harness.push_buffer(buffer), GST_FLOW_OK);
    EXPECT_EQ(
        oracle::differing_samples(info, harness.pull(), oracle::expected(info, field, kMask, {})),
        0);
  }
}

TEST(Modes, MayChangeFromFrameToFrame) {
  Harness harness(Settings{{"mask", kMask.text()}});
  const GstVideoInterlaceMode modes[] = {
      GST_VIDEO_INTERLACE_MODE_PROGRESSIVE, GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
      GST_VIDEO_INTERLACE_MODE_ALTERNATE, GST_VIDEO_INTERLACE_MODE_MIXED};
  for (int i = 0; i < 32; ++i) {
    const GstVideoInterlaceMode mode = modes[(i ^ i / 4) % 4];
    const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_NV12, 12, 11, mode);
    const oracle::Bytes frame = oracle::random_frame(info, static_cast<unsigned>(i));
    harness.set_caps(info);
    oracle::Options options;
    options.fields = mode == GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
    EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame, i),
                                        oracle::expected(info, frame, kMask, options)),
              0)
        << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Interlaced, testing::ValuesIn(check::layout_families()),
                         [](const testing::TestParamInfo<GstVideoFormat>& row) {
                           return std::string(gst_video_format_to_string(row.param));
                         });

}  // namespace
