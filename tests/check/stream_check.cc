// SPDX-License-Identifier: LGPL-2.1-or-later
// The element as a citizen of a pipeline: states, renegotiation, flushing, EOS, passthrough, metas,
// flags, quality of service, allocation.
#include <gst/video/gstvideoaffinetransformationmeta.h>
#include <gst/video/video-anc.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;

const oracle::Mask kMask{3, 3, {0, -1, 0, -1, 5, -1, 0, -1, 0}, 1};

TEST(States, CycleWithoutAndWithFrames) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  GstElement* element = check::make_element({{"mask", kMask.text()}});
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(gst_element_set_state(element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
    EXPECT_EQ(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_SUCCESS);
    EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
    EXPECT_EQ(gst_element_set_state(element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
  }
  gst_object_unref(element);
  for (int i = 0; i < 50; ++i) {
    Harness harness(Settings{{"mask", kMask.text()}});
    harness.set_caps(info);
    EXPECT_EQ(harness.filter(frame).size(), frame.size());
  }
}

TEST(Renegotiation, EachFrameIsThePictureOfItsCaps) {
  Harness harness(Settings{{"mask", kMask.text()}});
  const GstVideoFormat formats[] = {GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_RGB,
                                    GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_FORMAT_NV12};
  for (int i = 0; i < 200; ++i) {
    const GstVideoInfo info = video_info(formats[i % 4], 1 + i * 7 % 61, 1 + i * 5 % 43);
    const oracle::Bytes frame = oracle::random_frame(info, static_cast<unsigned>(i));
    harness.set_caps(info);
    ASSERT_EQ(oracle::differing_samples(info, harness.filter(frame, i),
                                        oracle::expected(info, frame, kMask, {})),
              0)
        << i;
  }
  EXPECT_TRUE(harness.errors().empty());
}

TEST(Flush, StartsAfresh) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  const oracle::Bytes expected = harness.filter(frame);
  for (int i = 0; i < 100; ++i) {
    gst_harness_push_event(harness.get(), gst_event_new_flush_start());
    gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
    EXPECT_EQ(harness.filter(frame, i), expected);
  }
}

TEST(Eos, ComesAfterAllFrames) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  for (const int frames : {0, 1, 5}) {
    Harness harness(Settings{{"mask", kMask.text()}});
    harness.set_caps(info);
    for (int i = 0; i < frames; ++i)
      ASSERT_EQ(harness.push(oracle::random_frame(info, 1), i), GST_FLOW_OK);
    gst_harness_push_event(harness.get(), gst_event_new_eos());
    EXPECT_EQ(gst_harness_buffers_received(harness.get()), static_cast<guint>(frames));
    bool eos = false;
    while (GstEvent* event = gst_harness_try_pull_event(harness.get())) {
      eos = eos || GST_EVENT_TYPE(event) == GST_EVENT_EOS;
      gst_event_unref(event);
    }
    EXPECT_TRUE(eos);
  }
}

TEST(Segment, OfBytesOrWithoutTimestampsIsServed) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 8, 8);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  GstBuffer* buffer = check::make_buffer(frame);
  GST_BUFFER_PTS(buffer) = GST_CLOCK_TIME_NONE;
  EXPECT_EQ(harness.push_buffer(buffer), GST_FLOW_OK);
  const oracle::Bytes expected = harness.pull();
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_BYTES);
  gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(harness.filter(frame), expected);
}

TEST(Passthrough, HandsTheSameBufferOnAndComesAndGoes) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_RGBA, 16, 16);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  const oracle::Bytes filtered = oracle::expected(info, frame, kMask, {});
  Harness harness;
  harness.set_caps(info);
  for (int i = 0; i < 10; ++i) {
    harness.set("mask", i % 2 == 0 ? "identity" : kMask.text());
    GstBuffer* input = check::make_buffer(frame, i);
    ASSERT_EQ(harness.push_buffer(gst_buffer_ref(input)), GST_FLOW_OK);
    GstBuffer* output = harness.pull_buffer();
    ASSERT_NE(output, nullptr);
    EXPECT_EQ(output == input, i % 2 == 0);
    EXPECT_EQ(oracle::differing_samples(info, check::picture_of(output, info),
                                        i % 2 == 0 ? frame : filtered),
              0);
    gst_buffer_unref(output);
    gst_buffer_unref(input);
  }
}

TEST(Passthrough, IsForIdentitiesOnly) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 16, 16);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  struct Case {
    Settings settings;
    bool passthrough;
  };
  for (const Case& row :
       {Case{{{"mask", "identity"}}, true}, Case{{{"mask", "3x3: 0 0 0 0 7 0 0 0 0"}}, true},
        Case{{{"mask", "3x3: 0 0 0 0 1 0 0 0 0"}}, true},
        Case{{{"mask", "3x3: 0 0 0 1 0 0 0 0 0"}}, false},
        Case{{{"mask", "identity"}, {"scale", "0.5"}}, false},
        Case{{{"mask", "identity"}, {"bias", "0.1"}}, false},
        Case{{{"mask", "identity"}, {"bias", "0.1"}, {"channels", "chroma"}}, true},
        Case{{{"mask", "box:3"}, {"channels", "alpha"}}, true}}) {
    Harness harness(row.settings);
    harness.set_caps(info);
    harness.filter(frame);
    EXPECT_EQ(harness.stat("passthrough-frames"), row.passthrough ? 1u : 0u)
        << row.settings.back().first << "=" << row.settings.back().second;
  }
}

TEST(Buffers, KeepTimestampsFlagsAndMetas) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);

  GstBuffer* input = check::make_buffer(frame, 3);
  GST_BUFFER_OFFSET(input) = 77;
  GST_BUFFER_OFFSET_END(input) = 78;
  GST_BUFFER_FLAG_SET(
      input, GST_BUFFER_FLAG_DROPPABLE | GST_BUFFER_FLAG_CORRUPTED | GST_VIDEO_BUFFER_FLAG_TFF);
  gst_buffer_add_video_region_of_interest_meta(input, "face", 1, 2, 3, 4);
  const guint8 caption[] = {0x80, 0x80, 0x80};
  gst_buffer_add_video_caption_meta(input, GST_VIDEO_CAPTION_TYPE_CEA608_RAW, caption,
                                    sizeof caption);
  gst_buffer_add_video_time_code_meta_full(input, 25, 1, nullptr, GST_VIDEO_TIME_CODE_FLAGS_NONE, 1,
                                           2, 3, 4, 0);
  gst_buffer_add_video_afd_meta(input, 0, GST_VIDEO_AFD_SPEC_ATSC_A53,
                                GST_VIDEO_AFD_4_3_FULL_16_9_FULL);
  gst_buffer_add_video_affine_transformation_meta(input);
  GstCaps* reference = gst_caps_new_empty_simple("timestamp/x-unix");
  gst_buffer_add_reference_timestamp_meta(input, reference, GST_SECOND, GST_SECOND);
  gst_caps_unref(reference);
  ASSERT_EQ(harness.push_buffer(input), GST_FLOW_OK);

  GstBuffer* output = harness.pull_buffer();
  ASSERT_NE(output, nullptr);
  EXPECT_EQ(GST_BUFFER_PTS(output), 3 * GST_SECOND / 25);
  EXPECT_EQ(GST_BUFFER_DURATION(output), GST_SECOND / 25);
  EXPECT_EQ(GST_BUFFER_OFFSET(output), 77u);
  for (const guint64 flag : {guint64{GST_BUFFER_FLAG_DROPPABLE}, guint64{GST_BUFFER_FLAG_CORRUPTED},
                             guint64{GST_VIDEO_BUFFER_FLAG_TFF}})
    EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(output, flag)) << flag;
  const GType kept[] = {GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE,
                        GST_VIDEO_CAPTION_META_API_TYPE,
                        GST_VIDEO_TIME_CODE_META_API_TYPE,
                        GST_VIDEO_AFD_META_API_TYPE,
                        GST_VIDEO_AFFINE_TRANSFORMATION_META_API_TYPE,
                        GST_REFERENCE_TIMESTAMP_META_API_TYPE};
  for (const GType api : kept)
    EXPECT_EQ(gst_buffer_get_n_meta(output, api), 1u) << g_type_name(api);
  gst_buffer_unref(output);
}

TEST(Qos, LateFramesAreDroppedNotComputed) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  harness.filter(frame, 0);
  gst_harness_push_upstream_event(
      harness.get(),
      gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2.0, GST_SECOND, 10 * GST_SECOND / 25));
  EXPECT_EQ(harness.push(frame, 1), GST_FLOW_OK);
  EXPECT_EQ(harness.pull_buffer(), nullptr);
  EXPECT_EQ(harness.stat("frames"), 1u);
  EXPECT_EQ(harness.push(frame, 100), GST_FLOW_OK);
  GstBuffer* output = harness.pull_buffer();
  ASSERT_NE(output, nullptr);
  EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(output, GST_BUFFER_FLAG_DISCONT));
  gst_buffer_unref(output);
}

TEST(Allocation, OffersVideoMetaAndNoCropMeta) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 33, 24);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  harness.filter(oracle::random_frame(info, 1));
  GstCaps* caps = gst_video_info_to_caps(&info);
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  GstPad* pad = gst_element_get_static_pad(harness.element(), "sink");
  EXPECT_TRUE(gst_pad_query(pad, query));
  EXPECT_TRUE(gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr));
  EXPECT_FALSE(gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, nullptr));
  ASSERT_EQ(gst_query_get_n_allocation_pools(query), 1u);
  guint size = 0;
  gst_query_parse_nth_allocation_pool(query, 0, nullptr, &size, nullptr, nullptr);
  EXPECT_GE(size, info.size);
  gst_object_unref(pad);
  gst_query_unref(query);
  gst_caps_unref(caps);
}

TEST(Caps, WithoutInterlaceModeAreProgressive) {
  Harness harness(Settings{{"mask", kMask.text()}});
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 8, 8);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  gst_harness_set_src_caps(
      harness.get(),
      gst_caps_from_string("video/x-raw,format=GRAY8,width=8,height=8,framerate=25/1"));
  ASSERT_EQ(harness.push(frame), GST_FLOW_OK);
  GstBuffer* output = harness.pull_buffer();
  EXPECT_EQ(oracle::differing_samples(info, check::picture_of(output, info),
                                      oracle::expected(info, frame, kMask, {})),
            0);
  gst_buffer_unref(output);
}

}  // namespace
