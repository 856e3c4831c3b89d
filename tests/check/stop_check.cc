// SPDX-License-Identifier: LGPL-2.1-or-later
// Stops at random moments of large frames under large masks, which take seconds where they are left
// to end: state changes and flushes are through in 200 ms, without a word on the bus, and after a
// flush the stream goes on with the right picture.
//
// CUDACONVOLVE_TEST_PERCENT takes more or less stops (834 makes a thousand). `figure: ...` tells
// the longest.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "plugin/stop_reasons.h"
#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;
using Clock = std::chrono::steady_clock;

// Under a sanitizer everything takes tens of times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kStops = 20;
constexpr double kLimitMs = 6000;
#else
constexpr int kStops = 120;
constexpr double kLimitMs = 200;
#endif

/// So that few stops, too, meet all masks and all formats.
constexpr int kStride = 11;

/// Latest moment of a stop after the caps of the stream.
constexpr unsigned kLongestWaitMs = 300;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

/// A typed mask of random weights, each `number(random)`.
template <class Number>
std::string typed(int width, int height, Number&& number) {
  std::mt19937 random(7);
  std::string text = std::to_string(width) + "x" + std::to_string(height) + ":";
  for (int k = 0; k < width * height; ++k)
    text += " " + number(random);
  return text;
}
std::string whole(std::mt19937& random) {
  return std::to_string(1 + random() % 99);
}
std::string real(std::mt19937& random) {
  return std::to_string(0.001 + static_cast<double>(random() % 1000000) / 777777.0);
}

const std::vector<Settings>& masks() {
  static const std::vector<Settings> kMasks = {
      {{"mask", "gaussian:500"}},
      {{"mask", typed(255, 255, whole)}},
      {{"mask", typed(255, 255, real)}},
      {{"mask", typed(31, 31, whole)}, {"kernel", "basic"}},
      {{"mask", "gaussian:25"}, {"kernel", "coarsened"}},
      {{"mask", "box:4000"}},
      {{"mask", "box:4000"}, {"alpha-mode", "premultiplied"}},
      {{"mask", "unsharp:42"}, {"alpha-mode", "premultiplied"}},
      {{"mask", "motion:254,30"}, {"border", "wrap"}},
      {{"mask", "gaussian:100,3"}, {"border", "mirror"}},
  };
  return kMasks;
}

const std::vector<GstVideoInfo>& formats() {
  static const std::vector<GstVideoInfo> kFormats = {
      video_info(GST_VIDEO_FORMAT_RGBA, 3840, 2160),
      video_info(GST_VIDEO_FORMAT_I420, 7680, 4320),
      video_info(GST_VIDEO_FORMAT_P010_10LE, 3840, 2160, GST_VIDEO_INTERLACE_MODE_INTERLEAVED),
      video_info(GST_VIDEO_FORMAT_AYUV64, 4096, 2304),
  };
  return kFormats;
}

/// A mask on a format.
struct Pair {
  std::size_t mask;
  std::size_t format;
  const Settings& settings() const { return masks()[mask]; }
  const GstVideoInfo& info() const { return formats()[format]; }
};

Pair pair_number(int n) {
  const auto count = static_cast<std::size_t>(n);
  return {count % masks().size(), count / masks().size() % formats().size()};
}

/// A frame of each format, made when it is first asked for.
class Frames {
 public:
  Frames() : frames_(formats().size(), nullptr) {}
  ~Frames() {
    for (GstBuffer* frame : frames_)
      gst_clear_buffer(&frame);
  }
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  GstBuffer* operator[](std::size_t format) {
    GstBuffer*& frame = frames_[format];
    if (frame == nullptr) frame = check::make_buffer(oracle::random_frame(formats()[format], 3));
    return frame;
  }

 private:
  std::vector<GstBuffer*> frames_;
};

/// Pushes caps and then frames from a thread of its own until they are not taken any more.
class Stream {
 public:
  Stream(const Pair& pair, GstBuffer* frame)
      : pair_(pair), frame_(frame), harness_(pair.settings()) {
    gst_harness_set_drop_buffers(harness_.get(), TRUE);
  }

  Harness& harness() { return harness_; }

  void begin() {
    thread_ = std::thread([this] {
      // The harness would insist on their arrival, which the stop may come before.
      GstPad* pad = harness_.get()->srcpad;
      GstCaps* caps = gst_video_info_to_caps(&pair_.info());
      gst_pad_push_event(pad, gst_event_new_caps(caps));
      gst_caps_unref(caps);
      GstSegment segment;
      gst_segment_init(&segment, GST_FORMAT_TIME);
      gst_pad_push_event(pad, gst_event_new_segment(&segment));
      do
        flow_ = harness_.push_buffer(gst_buffer_ref(frame_));
      while (flow_ == GST_FLOW_OK);
    });
  }

  /// The flow that ended it.
  GstFlowReturn end() {
    thread_.join();
    return flow_;
  }

  std::string messages() {
    std::string text;
    for (const check::Message& message : harness_.problems())
      text += message.text + "\n";
    return text;
  }

 private:
  Pair pair_;
  GstBuffer* frame_;
  Harness harness_;
  std::thread thread_;
  std::atomic<GstFlowReturn> flow_{GST_FLOW_OK};
};

/// Largest difference of two pictures of bytes; 255 if one is missing.
int largest_difference(const oracle::Bytes& a, const oracle::Bytes& b) {
  if (a.size() != b.size() || a.empty()) return 255;
  int largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    largest = std::max(largest, std::abs(a[k] - b[k]));
  return largest;
}

/// The stream goes on with a small frame, which has time to end.
void expect_right_picture(Stream& stream, const Settings& settings) {
  const GstVideoInfo small = video_info(GST_VIDEO_FORMAT_RGBA, 12, 9);
  const oracle::Bytes frame = oracle::random_frame(small, 5);
  Settings on_cpu = settings;
  on_cpu.insert(on_cpu.begin(), {"backend", "cpu"});
  Harness truth(on_cpu);
  truth.set_caps(small);
  gst_harness_set_drop_buffers(stream.harness().get(), FALSE);
  stream.harness().set_caps(small);
  // Weights that are no ratios may end in the neighbouring code on another backend.
  EXPECT_LE(largest_difference(stream.harness().filter(frame), truth.filter(frame)), 1);
}

TEST(Stop, TakesAtMost200MillisecondsAtAnyMoment) {
  std::mt19937 random(18);
  std::vector<double> times;
  Frames frames;
  const int stops = check::scaled(kStops);
  for (int n = 0; n < stops; ++n) {
    const Pair pair = pair_number(n * kStride);
    const unsigned kind = static_cast<unsigned>(random()) % 3;
    const unsigned wait_ms = static_cast<unsigned>(random()) % kLongestWaitMs;
    SCOPED_TRACE("mask " + std::to_string(pair.mask) + ", format " + std::to_string(pair.format) +
                 ", after " + std::to_string(wait_ms) + " ms, " +
                 (kind == 0   ? "READY"
                  : kind == 1 ? "NULL"
                              : "flush"));
    Stream stream(pair, frames[pair.format]);
    GstElement* element = stream.harness().element();
    stream.begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    const auto start = Clock::now();
    if (kind == 0)
      gst_element_set_state(element, GST_STATE_READY);
    else if (kind == 1)
      gst_element_set_state(element, GST_STATE_NULL);
    else
      gst_harness_push_event(stream.harness().get(), gst_event_new_flush_start());
    // A state change has waited for the streaming thread, FLUSH_STOP would.
    EXPECT_EQ(stream.end(), GST_FLOW_FLUSHING);
    times.push_back(ms_since(start));
    EXPECT_LE(times.back(), kLimitMs);
    if (kind == 2) {
      gst_harness_push_event(stream.harness().get(), gst_event_new_flush_stop(TRUE));
      expect_right_picture(stream, pair.settings());
    }
    EXPECT_EQ(stream.messages(), "");
  }
  std::sort(times.begin(), times.end());
  std::printf("figure: %d stops of %zu pairs, longest %.0f ms, median %.0f ms\n", stops,
              std::min(times.size(), masks().size() * formats().size()), times.back(),
              times[times.size() / 2]);
}

/// Small frames, each of which may have ended or not: after the flush the next one is right.
TEST(Flush, AmongSmallFramesLeavesTheNextOneRight) {
  const oracle::Mask mask{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 320, 240);
  Harness harness(Settings{{"mask", mask.text()}});
  harness.set_caps(info);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  const oracle::Bytes right = oracle::expected(info, frame, mask, {});
  std::mt19937 random(3);
  int stopped = 0;
  for (int n = 0; n < check::scaled(400); ++n) {
    std::thread stream([&] {
      GstFlowReturn flow = GST_FLOW_OK;
      while (flow == GST_FLOW_OK) {
        flow = harness.push(frame);
        if (GstBuffer* buffer = harness.pull_buffer()) {
          EXPECT_EQ(check::picture_of(buffer, info), right) << "a frame that was pushed is whole";
          gst_buffer_unref(buffer);
        }
      }
      stopped += flow == GST_FLOW_FLUSHING ? 1 : 0;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    gst_harness_push_event(harness.get(), gst_event_new_flush_start());
    stream.join();
    gst_harness_push_event(harness.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
    ASSERT_EQ(harness.filter(frame), right) << "after flush " << n;
  }
  EXPECT_EQ(stopped, check::scaled(400));
  EXPECT_TRUE(harness.problems().empty());
}

/// A flush that the next start finds unfinished is over: the pads have forgotten it, too.
TEST(Flush, EndsWithTheState) {
  const oracle::Mask mask{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 64, 48);
  GstElement* element = check::make_element({{"mask", mask.text()}});
  GstPad* sink = gst_element_get_static_pad(element, "sink");
  gst_element_set_state(element, GST_STATE_PAUSED);
  gst_pad_send_event(sink, gst_event_new_flush_start());
  gst_element_set_state(element, GST_STATE_READY);
  gst_object_unref(sink);
  GstHarness* harness = gst_harness_new_with_element(element, "sink", "src");
  gst_harness_set_src_caps(harness, gst_video_info_to_caps(&info));
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  EXPECT_EQ(gst_harness_push(harness, check::make_buffer(frame)), GST_FLOW_OK);
  gst_harness_teardown(harness);
  gst_object_unref(element);
}

TEST(StopReasons, HoldTheSignalUntilTheLastIsGone) {
  using cudaconvolve::StopReasons;
  StopReasons reasons;
  const auto signal = reasons.signal();
  EXPECT_FALSE(signal->raised());
  reasons.add(StopReasons::kFlushing);
  EXPECT_TRUE(signal->raised());
  reasons.add(StopReasons::kStopping);
  reasons.remove(StopReasons::kFlushing);
  EXPECT_TRUE(signal->raised());
  reasons.remove(StopReasons::kFlushing);
  EXPECT_TRUE(signal->raised());
  reasons.add(StopReasons::kFlushing);
  reasons.remove(StopReasons::kStopping);
  EXPECT_TRUE(signal->raised());
  reasons.remove_all();
  EXPECT_FALSE(signal->raised());
}

}  // namespace
