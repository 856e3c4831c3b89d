// SPDX-License-Identifier: LGPL-2.1-or-later
// The element as a citizen of a pipeline: states, renegotiation, flushing, events, EOS,
// passthrough, quality of service, allocation.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/element.h"
#include "tests/support/layout.h"
#include "tests/support/pool.h"

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

/// Frames of as many bytes as before, other in everything else. (storm_check changes formats and
/// sizes at random.)
TEST(Renegotiation, TakesFramesOfTheSameSize) {
  Harness harness(Settings{{"mask", kMask.text()}, {"border", "zero"}});
  oracle::Options options;
  options.border = "zero";
  int number = 0;
  const auto expect_right = [&](const GstVideoInfo& info) {
    SCOPED_TRACE(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)));
    const oracle::Bytes frame = oracle::random_frame(info, static_cast<unsigned>(number));
    options.fields = GST_VIDEO_INFO_INTERLACE_MODE(&info) == GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
    harness.set_caps(info);
    EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame, number++),
                                        oracle::expected(info, frame, kMask, options)),
              0);
  };
  for (const GstVideoFormat format :
       {GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_YV12, GST_VIDEO_FORMAT_NV12, GST_VIDEO_FORMAT_NV21,
        GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_ABGR, GST_VIDEO_FORMAT_xRGB, GST_VIDEO_FORMAT_AYUV,
        GST_VIDEO_FORMAT_GRAY16_LE, GST_VIDEO_FORMAT_GRAY16_BE})
    expect_right(video_info(format, 24, 16));
  expect_right(video_info(GST_VIDEO_FORMAT_GRAY8, 24, 16));
  expect_right(video_info(GST_VIDEO_FORMAT_GRAY8, 16, 24));
  for (const GstVideoFormat format : {GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_RGB})
    for (const GstVideoColorRange range :
         {GST_VIDEO_COLOR_RANGE_0_255, GST_VIDEO_COLOR_RANGE_16_235, GST_VIDEO_COLOR_RANGE_0_255}) {
      GstVideoInfo info = video_info(format, 24, 16);
      info.colorimetry.range = range;
      expect_right(info);
    }
  for (const GstVideoInterlaceMode mode :
       {GST_VIDEO_INTERLACE_MODE_PROGRESSIVE, GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
        GST_VIDEO_INTERLACE_MODE_PROGRESSIVE})
    expect_right(video_info(GST_VIDEO_FORMAT_I420, 24, 16, mode));
  EXPECT_TRUE(harness.errors().empty());
  EXPECT_TRUE(harness.warnings().empty());
}

TEST(Renegotiation, OnRequestOfDownstreamAsksForItsPoolAgain) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 24, 16);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  const oracle::Bytes wanted = oracle::expected(info, frame, kMask, {});
  check::Layout padded;
  padded.extra_stride = {64, 64, 64, 0};
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame), wanted), 0);
  GstBufferPool* pool = check::make_pool([&] { return check::lay_out(info, frame, padded); });
  check::offer_downstream(harness.element(), pool, 4096);
  gst_object_unref(pool);
  gst_harness_push_upstream_event(harness.get(), gst_event_new_reconfigure());
  ASSERT_EQ(harness.push(frame), GST_FLOW_OK);
  GstBuffer* output = harness.pull_buffer();
  ASSERT_NE(output, nullptr);
  ASSERT_NE(gst_buffer_get_video_meta(output), nullptr) << "not the new pool";
  EXPECT_EQ(oracle::differing_samples(info, check::picture_of(output, info), wanted), 0);
  gst_buffer_unref(output);
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

TEST(Eos, InMidStreamMayBeFollowedByANewStream) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  const oracle::Bytes wanted = harness.filter(frame);
  gst_harness_push_event(harness.get(), gst_event_new_eos());
  EXPECT_EQ(harness.push(frame), GST_FLOW_EOS);
  EXPECT_EQ(harness.pull_buffer(), nullptr);
  gst_harness_push_event(harness.get(), gst_event_new_stream_start("another"));
  harness.set_caps(info);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
  EXPECT_EQ(harness.filter(frame), wanted);
}

/// Events keep their place between frames, those of applications too.
TEST(Events, PassInOrder) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  for (const char* mask : {"sharpen", "identity"}) {
    Harness harness(Settings{{"mask", mask}});
    harness.set_caps(info);
    ASSERT_EQ(harness.push(frame), GST_FLOW_OK);
    while (GstEvent* event = gst_harness_try_pull_event(harness.get()))
      gst_event_unref(event);
    GstTagList* tags = gst_tag_list_new(GST_TAG_TITLE, "title", nullptr);
    GstEvent* events[] = {
        gst_event_new_gap(GST_SECOND / 25, GST_SECOND / 25),
        gst_event_new_tag(tags),
        gst_event_new_custom(GST_EVENT_CUSTOM_DOWNSTREAM, gst_structure_new_empty("application/x")),
        gst_event_new_segment_done(GST_FORMAT_TIME, 99),
    };
    for (GstEvent* event : events) {
      gst_event_ref(event);
      EXPECT_TRUE(gst_harness_push_event(harness.get(), event));
      GstEvent* passed = gst_harness_try_pull_event(harness.get());
      EXPECT_EQ(passed, event) << GST_EVENT_TYPE_NAME(event);
      if (passed != nullptr) gst_event_unref(passed);
      EXPECT_EQ(harness.push(frame, 1), GST_FLOW_OK);
      gst_event_unref(event);
    }
    EXPECT_EQ(gst_harness_buffers_received(harness.get()), 5u);
  }
}

TEST(Latency, IsThatOfUpstream) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  Harness harness(Settings{{"mask", kMask.text()}});
  gst_harness_set_upstream_latency(harness.get(), 40 * GST_MSECOND);
  harness.set_caps(info);
  harness.filter(oracle::random_frame(info, 1));
  EXPECT_EQ(gst_harness_query_latency(harness.get()), 40 * GST_MSECOND);
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

TEST(Allocation, IsDownstreamsInPassthrough) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  GstBufferPool* pool = check::make_pool([&] { return check::make_buffer(frame); });
  Harness harness;
  check::offer_downstream(harness.element(), pool, static_cast<guint>(info.size));
  harness.set_caps(info);
  harness.filter(frame);
  GstCaps* caps = gst_video_info_to_caps(&info);
  for (const char* mask : {"identity", "sharpen", "identity"}) {
    harness.set("mask", mask);
    harness.filter(frame);
    GstQuery* query = gst_query_new_allocation(caps, TRUE);
    GstPad* pad = gst_element_get_static_pad(harness.element(), "sink");
    EXPECT_TRUE(gst_pad_query(pad, query));
    GstBufferPool* offered = nullptr;
    ASSERT_EQ(gst_query_get_n_allocation_pools(query), 1u);
    gst_query_parse_nth_allocation_pool(query, 0, &offered, nullptr, nullptr, nullptr);
    EXPECT_EQ(offered == pool, std::string(mask) == "identity");
    gst_object_unref(offered);
    gst_object_unref(pad);
    gst_query_unref(query);
  }
  gst_caps_unref(caps);
  gst_object_unref(pool);
}

/// The query may come before there are caps, without any, or with those of something else.
TEST(Allocation, OffersNothingForCapsItCannotFilter) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  Harness harness(Settings{{"mask", kMask.text()}});
  GstPad* pad = gst_element_get_static_pad(harness.element(), "sink");
  GstCaps* caps = gst_video_info_to_caps(&info);
  GstCaps* foreign = gst_caps_new_empty_simple("audio/x-raw");
  for (const bool negotiated : {false, true}) {
    if (negotiated) {
      harness.set_caps(info);
      harness.filter(oracle::random_frame(info, 1));
    }
    for (GstCaps* asked : {static_cast<GstCaps*>(nullptr), foreign, caps}) {
      GstQuery* query = gst_query_new_allocation(asked, TRUE);
      gst_pad_query(pad, query);
      EXPECT_EQ(gst_query_get_n_allocation_pools(query), negotiated && asked == caps ? 1u : 0u);
      gst_query_unref(query);
    }
  }
  gst_caps_unref(foreign);
  gst_caps_unref(caps);
  gst_object_unref(pad);
}

/// Whatever downstream thinks of the size, its buffers must hold a picture.
TEST(Allocation, ASizeOfDownstreamThatIsTooSmallIsRaised) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  GstBufferPool* pool = gst_buffer_pool_new();
  Harness harness(Settings{{"mask", kMask.text()}});
  check::offer_downstream(harness.element(), pool, 16);
  gst_object_unref(pool);
  harness.set_caps(info);
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame),
                                      oracle::expected(info, frame, kMask, {})),
            0);
}

/// A pool of one buffer is enough: the element keeps none.
TEST(Allocation, PoolOfOneBufferServes) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  const oracle::Bytes wanted = oracle::expected(info, frame, kMask, {});
  GstBufferPool* pool = check::make_pool([&] { return check::make_buffer(frame); });
  Harness harness(Settings{{"mask", kMask.text()}});
  check::offer_downstream(harness.element(), pool, static_cast<guint>(info.size), 1);
  harness.set_caps(info);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame, i), wanted), 0);
  GstStructure* config = gst_buffer_pool_get_config(pool);
  guint most = 0;
  gst_buffer_pool_config_get_params(config, nullptr, nullptr, nullptr, &most);
  EXPECT_EQ(most, 1u) << "downstream has no more";
  gst_structure_free(config);
  gst_object_unref(pool);
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
