// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in flight, on a device whose frames take their time (fake_cuda.cc): the right frames, the
// right number of them, in order, whatever comes between them and however many are on their way.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;
using Clock = std::chrono::steady_clock;

const oracle::Mask kMask{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};
const oracle::Mask kOther{5, 1, {1, 2, 3, 2, 1}, 9};
constexpr int kDepths[] = {0, 1, 2, 3, 8};

int milliseconds_since(Clock::time_point begin) {
  return static_cast<int>(
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count());
}

class InFlight : public testing::Test {
 protected:
  InFlight() : info_(video_info(GST_VIDEO_FORMAT_NV12, 37, 21)) { frames_take(5); }
  ~InFlight() override {
    for (const char* name : {"FAKE_CUDA_MS", "FAKE_CUDA_FAILS", "FAKE_CUDA_CODE"})
      unsetenv(name);
  }

  static void frames_take(int ms) { setenv("FAKE_CUDA_MS", std::to_string(ms).c_str(), 1); }
  static void fail(const std::string& step, const char* code) {
    setenv("FAKE_CUDA_FAILS", step.c_str(), 1);
    setenv("FAKE_CUDA_CODE", code, 1);
  }
  static Settings settings(int depth) {
    const std::string text = std::to_string(depth);
    return {
        {"backend", "auto"}, {"kernel", "basic"}, {"mask", kMask.text()}, {"async-depth", text}};
  }

  void push(Harness& harness, int number, GstFlowReturn wanted = GST_FLOW_OK) {
    const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(number));
    EXPECT_EQ(harness.push(frame, number), wanted) << "frame " << number;
  }
  /// The next frame out is `number`, and right.
  void expect(Harness& harness, int number, const oracle::Mask& mask = kMask,
              const oracle::Options& options = {}) {
    GstBuffer* buffer = gst_harness_pull(harness.get());
    ASSERT_NE(buffer, nullptr) << "frame " << number << " is lost";
    EXPECT_EQ(GST_BUFFER_PTS(buffer), static_cast<GstClockTime>(number) * GST_SECOND / 25);
    const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(number));
    EXPECT_EQ(oracle::differing_samples(info_, check::picture_of(buffer, info_),
                                        oracle::expected(info_, frame, mask, options)),
              0)
        << "frame " << number;
    gst_buffer_unref(buffer);
  }
  static guint waiting(Harness& harness) { return gst_harness_buffers_in_queue(harness.get()); }

  GstVideoInfo info_;
};

TEST_F(InFlight, EveryFrameComesOutByItselfWhateverTheDepth) {
  for (const int depth : kDepths) {
    SCOPED_TRACE(depth);
    Harness harness(settings(depth));
    harness.set_caps(info_);
    for (int n = 1; n <= 4; ++n) {
      push(harness, n);
      expect(harness, n);
    }
    EXPECT_EQ(harness.stat("frames"), 4u);
    EXPECT_TRUE(harness.problems().empty());
  }
}

TEST_F(InFlight, EndOfStreamComesBehindAllFrames) {
  for (const int depth : kDepths)
    for (int count = 0; count <= depth + 2; ++count) {
      SCOPED_TRACE(std::to_string(count) + " frames at depth " + std::to_string(depth));
      Harness harness(settings(depth));
      harness.set_caps(info_);
      for (int n = 1; n <= count; ++n)
        push(harness, n);
      ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_eos()));
      EXPECT_EQ(waiting(harness), static_cast<guint>(count));
      for (int n = 1; n <= count; ++n)
        expect(harness, n);
    }
}

TEST_F(InFlight, AsManyAsAskedAreOnTheirWayBehindTheOneThatComes) {
  frames_take(1000);
  Harness harness(settings(2));
  harness.set_caps(info_);
  const Clock::time_point begin = Clock::now();
  push(harness, 1);
  push(harness, 2);
  EXPECT_LT(milliseconds_since(begin), 900) << "a frame was waited for";
  push(harness, 3);
  EXPECT_GE(milliseconds_since(begin), 1000) << "there were three in flight behind the third";
  for (int n = 1; n <= 3; ++n)
    expect(harness, n);
}

TEST_F(InFlight, WhatIsSerializedKeepsItsPlaceAmongFrames) {
  Harness harness(settings(4));
  harness.set_caps(info_);
  const auto send = [&](GstEvent* event) {
    ASSERT_TRUE(gst_harness_push_event(harness.get(), event));
    EXPECT_EQ(waiting(harness), 3u) << "an event overtook frames";
    for (int n = 1; n <= 3; ++n)
      expect(harness, n);
  };
  const auto fill = [&] {
    for (int n = 1; n <= 3; ++n)
      push(harness, n);
  };
  fill();
  send(gst_event_new_gap(0, GST_SECOND));
  fill();
  send(gst_event_new_tag(gst_tag_list_new(GST_TAG_TITLE, "a title", nullptr)));
  fill();
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  send(gst_event_new_segment(&segment));
  fill();
  GstCaps* caps = gst_video_info_to_caps(&info_);
  GstQuery* query = gst_query_new_allocation(caps, FALSE);
  gst_caps_unref(caps);
  EXPECT_TRUE(gst_pad_peer_query(harness.get()->srcpad, query));
  gst_query_unref(query);
  EXPECT_EQ(waiting(harness), 3u) << "a query overtook frames";
}

TEST_F(InFlight, NewCapsFindNoFrameOfTheOldOnes) {
  Harness harness(settings(3));
  const GstVideoInfo other = video_info(GST_VIDEO_FORMAT_RGBA, 20, 30);
  const GstVideoInfo first = info_;
  for (int round = 0; round < 4; ++round) {
    info_ = round % 2 == 0 ? first : other;
    harness.set_caps(info_);
    for (int n = 1; n <= 3; ++n)
      push(harness, n);
    ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_gap(0, GST_SECOND)));
    for (int n = 1; n <= 3; ++n)
      expect(harness, n);
  }
}

TEST_F(InFlight, AFlushDropsThemAndNoneComesLater) {
  frames_take(60);
  Harness harness(settings(4));
  harness.set_caps(info_);
  for (int n = 1; n <= 4; ++n)
    push(harness, n);
  const Clock::time_point begin = Clock::now();
  ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_flush_start()));
  ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE)));
  EXPECT_LT(milliseconds_since(begin), 200);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_segment(&segment)));
  while (GstBuffer* buffer = gst_harness_try_pull(harness.get()))
    gst_buffer_unref(buffer);
  frames_take(1);
  for (int n = 10; n <= 13; ++n) {
    push(harness, n);
    expect(harness, n);
  }
  EXPECT_TRUE(harness.problems().empty());
}

TEST_F(InFlight, AStopLeavesThemBehind) {
  frames_take(400);
  for (const int depth : {1, 4, 8}) {
    Harness harness(settings(depth));
    harness.set_caps(info_);
    for (int n = 1; n <= depth; ++n)
      push(harness, n);
    const Clock::time_point begin = Clock::now();
    gst_element_set_state(harness.element(), GST_STATE_NULL);
    EXPECT_LT(milliseconds_since(begin), 200) << depth;
  }
}

TEST_F(InFlight, PropertiesCountFromTheFrameThatTheyWereSetBefore) {
  Harness harness(settings(3));
  harness.set_caps(info_);
  push(harness, 1);
  push(harness, 2);
  harness.set("mask", kOther.text());
  push(harness, 3);
  harness.set("async-depth", "0");
  push(harness, 4);
  harness.set("async-depth", "8");
  harness.set("mask", kMask.text());
  push(harness, 5);
  expect(harness, 1);
  expect(harness, 2);
  expect(harness, 3, kOther);
  expect(harness, 4, kOther);
  expect(harness, 5);
}

/// From frame to frame, and into passthrough and back.
TEST_F(InFlight, PassthroughDoesNotOvertake) {
  Harness harness(settings(3));
  harness.set_caps(info_);
  const oracle::Mask identity{1, 1, {1}, 1};
  for (int round = 0; round < 3; ++round) {
    const int n = 10 * round;
    harness.set("mask", kMask.text());
    push(harness, n + 1);
    push(harness, n + 2);
    harness.set("mask", "identity");
    push(harness, n + 3);
    push(harness, n + 4);
    expect(harness, n + 1);
    expect(harness, n + 2);
    expect(harness, n + 3, identity);
    expect(harness, n + 4, identity);
  }
}

/// A number makes a passthrough of the plan in force, which stays.
TEST_F(InFlight, PassthroughByANumberDoesNotOvertake) {
  Harness harness(settings(3));
  harness.set("mask", "identity");
  harness.set("bias", "0.25");
  harness.set_caps(info_);
  const oracle::Mask identity{1, 1, {1}, 1};
  oracle::Options brighter;
  brighter.bias = 0.25;
  for (int n = 1; n < 30; n += 4) {
    harness.set("bias", "0.25");
    push(harness, n);
    push(harness, n + 1);
    harness.set("bias", "0");
    push(harness, n + 2);
    push(harness, n + 3);
    expect(harness, n, identity, brighter);
    expect(harness, n + 1, identity, brighter);
    expect(harness, n + 2, identity);
    expect(harness, n + 3, identity);
  }
}

GstClockTime reported_latency(Harness& harness, bool* live = nullptr) {
  GstQuery* query = gst_query_new_latency();
  GstClockTime least = GST_CLOCK_TIME_NONE;
  gboolean is_live = FALSE;
  if (gst_pad_peer_query(harness.get()->sinkpad, query))
    gst_query_parse_latency(query, &is_live, &least, nullptr);
  gst_query_unref(query);
  if (live != nullptr) *live = is_live != FALSE;
  return least;
}

TEST_F(InFlight, AsManyDurationsAreReportedAsLatency) {
  info_.fps_n = 25;
  info_.fps_d = 1;
  for (const int depth : kDepths) {
    SCOPED_TRACE(depth);
    Harness harness(settings(depth));
    gst_harness_set_upstream_latency(harness.get(), 7 * GST_MSECOND);
    harness.set_caps(info_);
    push(harness, 1);
    expect(harness, 1);
    EXPECT_EQ(reported_latency(harness),
              7 * GST_MSECOND + static_cast<GstClockTime>(depth) * 40 * GST_MSECOND);
    harness.set("async-depth", "1");
    push(harness, 2);
    expect(harness, 2);
    EXPECT_EQ(reported_latency(harness), 47 * GST_MSECOND);
  }
}

// Nothing is measured until somebody has asked; then the last 256 frames count.
TEST_F(InFlight, StatsSayWhereTheTimeOfAFrameGoes) {
  for (const int depth : {0, 2}) {
    SCOPED_TRACE(depth);
    Harness harness(settings(depth));
    harness.set_caps(info_);
    int number = 0;
    const auto play = [&](int frames) {
      for (int n = 0; n < frames; ++n) {
        push(harness, ++number);
        expect(harness, number);
      }
    };
    play(3);
    EXPECT_EQ(harness.stat("measured-frames"), 0u);
    EXPECT_EQ(harness.stat("kernels-ns-mean"), 0u);
    // The next frame is the first that is measured, and the device's fourth.
    play(1);
    EXPECT_EQ(harness.stat("measured-frames"), 1u);
    EXPECT_EQ(harness.stat("upload-ns-p50"), 2004u);
    EXPECT_EQ(harness.stat("download-ns-p99"), 3004u);
    EXPECT_EQ(harness.stat("kernels-ns-mean"), 1000u);
    EXPECT_EQ(harness.stat("host-copy-ns-p50"), 10u);
    play(300);
    EXPECT_EQ(harness.stat("measured-frames"), 256u);
    // Frames 49 to 304.
    EXPECT_EQ(harness.stat("waiting-ns-mean"), 17650u);
    EXPECT_EQ(harness.stat("waiting-ns-p50"), 17600u);
    EXPECT_EQ(harness.stat("waiting-ns-p99"), 30100u);
  }
}

// Who wants to know all of a stream asks before it begins.
TEST_F(InFlight, StatsReadBeforeTheStartMeasureFromTheFirstFrame) {
  GstElement* element = check::make_element(settings(2));
  GstStructure* stats = nullptr;
  g_object_get(element, "stats", &stats, nullptr);
  gst_structure_free(stats);
  GstHarness* harness = gst_harness_new_with_element(element, "sink", "src");
  gst_harness_set_src_caps(harness, gst_video_info_to_caps(&info_));
  for (int n = 0; n < 2; ++n) {
    EXPECT_EQ(gst_harness_push(harness, check::make_buffer(oracle::random_frame(info_, 1), n)),
              GST_FLOW_OK);
    gst_buffer_unref(gst_harness_pull(harness));
  }
  g_object_get(element, "stats", &stats, nullptr);
  guint64 measured = 0;
  EXPECT_TRUE(gst_structure_get_uint64(stats, "measured-frames", &measured));
  EXPECT_EQ(measured, 2u);
  gst_structure_free(stats);
  gst_harness_teardown(harness);
  gst_object_unref(element);
}

// A camera has few buffers, and more frames may be in flight than it has: it waits for the first to
// come back, and they do so without its help.
TEST_F(InFlight, ASourceOfFourBuffersDoesNotStarve) {
  frames_take(2);
  Harness harness(settings(8));
  harness.set_caps(info_);
  GstBufferPool* pool = gst_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  const auto bytes = static_cast<guint>(GST_VIDEO_INFO_SIZE(&info_));
  gst_buffer_pool_config_set_params(config, nullptr, bytes, 4, 4);
  ASSERT_TRUE(gst_buffer_pool_set_config(pool, config));
  ASSERT_TRUE(gst_buffer_pool_set_active(pool, TRUE));
  constexpr int kFrames = 40;
  for (int n = 1; n <= kFrames; ++n) {
    GstBuffer* buffer = nullptr;
    ASSERT_EQ(gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr), GST_FLOW_OK);
    const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(n));
    gst_buffer_fill(buffer, 0, frame.data(), frame.size());
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(n) * GST_SECOND / 25;
    ASSERT_EQ(harness.push_buffer(buffer), GST_FLOW_OK);
  }
  for (int n = 1; n <= kFrames; ++n)
    expect(harness, n);
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

TEST_F(InFlight, FramesOnTheirWayAreCounted) {
  frames_take(300);
  Harness harness(settings(3));
  harness.set_caps(info_);
  for (int n = 1; n <= 3; ++n)
    push(harness, n);
  EXPECT_GE(harness.stat("frames-in-flight"), 2u);
  frames_take(0);
  for (int n = 1; n <= 3; ++n)
    expect(harness, n);
  // A frame counts until its push has returned.
  gst_harness_push_event(harness.get(), gst_event_new_eos());
  EXPECT_EQ(harness.stat("frames-in-flight"), 0u);
}

TEST_F(InFlight, WithoutAWishTheStreamDecides) {
  info_.fps_n = 25;
  info_.fps_d = 1;
  for (const bool live : {false, true}) {
    Harness harness(settings(-1));
    gst_harness_set_live(harness.get(), live);
    harness.set_caps(info_);
    push(harness, 1);
    expect(harness, 1);
    EXPECT_EQ(reported_latency(harness), live ? 0 : 120 * GST_MSECOND);
  }
  const GstVideoInfo small = info_;
  // 24 MiB, and a row less.
  for (const guint height : {6144u, 6143u}) {
    gst_video_info_set_format(&info_, GST_VIDEO_FORMAT_GRAY8, 4096, height);
    info_.fps_n = 25;
    info_.fps_d = 1;
    Harness harness(settings(-1));
    gst_harness_set_live(harness.get(), FALSE);
    harness.set_caps(info_);
    push(harness, 1);
    expect(harness, 1);
    EXPECT_EQ(reported_latency(harness), (height == 6144 ? 80 : 120) * GST_MSECOND);
  }
  info_ = small;
  info_.fps_n = 0;
  Harness harness(settings(-1));
  harness.set_caps(info_);
  push(harness, 1);
  expect(harness, 1);
  EXPECT_EQ(reported_latency(harness), 0u);
}

TEST_F(InFlight, AFaultLosesNoFrameWhereverItStrikes) {
  for (const char* code : {"device-lost", "device-error"})
    for (int struck = 1; struck <= 5; ++struck) {
      SCOPED_TRACE(std::string(code) + " at frame " + std::to_string(struck));
      fail("frame:" + std::to_string(struck), code);
      Harness harness(settings(2));
      harness.set_caps(info_);
      for (int n = 1; n <= 8; ++n)
        push(harness, n);
      ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_eos()));
      EXPECT_EQ(waiting(harness), 8u);
      for (int n = 1; n <= 8; ++n)
        expect(harness, n);
      EXPECT_EQ(harness.stat("backend-switches"), 1u);
      EXPECT_EQ(harness.stat("frames"), 8u);
      EXPECT_EQ(harness.problems().size(), 1u);
    }
}

TEST_F(InFlight, WithoutACpuAFaultIsOneErrorAndTheNextPushKnows) {
  fail("frame:2", "device-lost");
  Harness harness(Settings{{"backend", "cuda"}, {"mask", kMask.text()}, {"async-depth", "2"}});
  harness.set_caps(info_);
  push(harness, 1);
  push(harness, 2);
  expect(harness, 1);
  ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_gap(0, GST_SECOND)));
  push(harness, 3, GST_FLOW_ERROR);
  EXPECT_EQ(harness.errors().size(), 1u);
  EXPECT_EQ(waiting(harness), 0u);
}

TEST_F(InFlight, FramesBehindOneThatFailedAreDroppedWithoutAWord) {
  for (const char* code : {"device-lost", "device-error"}) {
    SCOPED_TRACE(code);
    frames_take(100);
    fail("frame:2", code);
    Harness harness(Settings{{"backend", "cuda"}, {"mask", kMask.text()}, {"async-depth", "4"}});
    harness.set_caps(info_);
    for (int n = 1; n <= 4; ++n)
      push(harness, n);
    ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_gap(0, GST_SECOND)));
    EXPECT_EQ(waiting(harness), 1u);
    expect(harness, 1);
    EXPECT_EQ(harness.errors().size(), 1u);
    push(harness, 5, GST_FLOW_ERROR);
  }
}

TEST_F(InFlight, FramesBehindAnErrorThatWasToldAreDroppedToo) {
  frames_take(100);
  fail("frame:1", "device-error");
  Harness harness(Settings{{"backend", "cuda"}, {"mask", kMask.text()}, {"async-depth", "2"}});
  harness.set_caps(info_);
  push(harness, 1);
  push(harness, 2);
  push(harness, 3, GST_FLOW_ERROR);  // Returns when the first has failed; two are still in flight.
  ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_gap(0, GST_SECOND)));
  EXPECT_EQ(waiting(harness), 0u);
  EXPECT_EQ(harness.errors().size(), 1u);
}

GstPadProbeReturn refuse(GstPad* /*pad*/, GstPadProbeInfo* info, gpointer /*data*/) {
  gst_buffer_unref(GST_PAD_PROBE_INFO_BUFFER(info));
  GST_PAD_PROBE_INFO_DATA(info) = nullptr;
  GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_EOS;
  return GST_PAD_PROBE_HANDLED;
}

TEST_F(InFlight, DownstreamsAnswerReachesTheNextPush) {
  Harness harness(settings(2));
  harness.set_caps(info_);
  const gulong probe = gst_pad_add_probe(harness.get()->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, refuse,
                                         nullptr, nullptr);
  push(harness, 1);
  ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_gap(0, GST_SECOND)));
  push(harness, 2, GST_FLOW_EOS);
  gst_pad_remove_probe(harness.get()->sinkpad, probe);
  ASSERT_TRUE(gst_harness_push_event(harness.get(), gst_event_new_gap(0, GST_SECOND)));
  while (GstBuffer* buffer = gst_harness_try_pull(harness.get()))
    gst_buffer_unref(buffer);
  push(harness, 3);
  expect(harness, 3);
}

}  // namespace
