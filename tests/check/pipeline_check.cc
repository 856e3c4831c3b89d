// SPDX-License-Identifier: LGPL-2.1-or-later
// Real pipelines with threads of their own: seeks, flushes into a blocked sink, caps that change
// while playing. Every frame that leaves is compared with the one that came in, which may be some
// frames ago: on a GPU others are in flight.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "tests/support/element.h"

namespace {

constexpr GstClockTime kPatience = 10 * GST_SECOND;

const oracle::Mask kMask{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};

/// A pipeline around an element called "c", with an eye on both of its pads.
class Pipeline {
 public:
  explicit Pipeline(const std::string& description) {
    GError* error = nullptr;
    pipeline_ = gst_parse_launch(description.c_str(), &error);
    EXPECT_EQ(error, nullptr);
    element_ = get("c");
    gst_util_set_object_arg(G_OBJECT(element_), "mask", kMask.text().c_str());
    bus_ = gst_element_get_bus(pipeline_);
    watch("sink", [](GstPad* pad, GstPadProbeInfo* probe, gpointer self) {
      static_cast<Pipeline*>(self)->came(pad, GST_PAD_PROBE_INFO_BUFFER(probe));
      return GST_PAD_PROBE_OK;
    });
    watch("src", [](GstPad*, GstPadProbeInfo* probe, gpointer self) {
      static_cast<Pipeline*>(self)->left(GST_PAD_PROBE_INFO_BUFFER(probe));
      return GST_PAD_PROBE_OK;
    });
  }
  ~Pipeline() {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(bus_);
    gst_object_unref(element_);
    gst_object_unref(pipeline_);
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  GstElement* get() { return pipeline_; }
  GstElement* get(const char* name) { return gst_bin_get_by_name(GST_BIN(pipeline_), name); }

  void play() { gst_element_set_state(pipeline_, GST_STATE_PLAYING); }
  void pause() {
    gst_element_set_state(pipeline_, GST_STATE_PAUSED);
    EXPECT_EQ(gst_element_get_state(pipeline_, nullptr, nullptr, kPatience),
              GST_STATE_CHANGE_SUCCESS);
  }

  /// Waits for a message of `type`; an error on the way is a failure.
  void expect_message(GstMessageType type) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus_, kPatience, static_cast<GstMessageType>(type | GST_MESSAGE_ERROR));
    ASSERT_NE(message, nullptr) << gst_message_type_get_name(type) << " did not come";
    EXPECT_EQ(GST_MESSAGE_TYPE(message), type);
    gst_message_unref(message);
  }

  bool wait_for_frames(int count) {
    const gint64 end = g_get_monotonic_time() + gint64{10} * G_USEC_PER_SEC;
    while (frames_ < count && g_get_monotonic_time() < end)
      g_usleep(500);
    return frames_ >= count;
  }

  int frames() const { return frames_; }
  int wrong() const { return wrong_; }
  GstClockTime last_timestamp() {
    const std::lock_guard lock(mutex_);
    return timestamp_;
  }

 private:
  void watch(const char* name, GstPadProbeCallback callback) {
    GstPad* pad = gst_element_get_static_pad(element_, name);
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, callback, this, nullptr);
    gst_object_unref(pad);
  }

  void came(GstPad* pad, GstBuffer* buffer) {
    const std::lock_guard lock(mutex_);
    GstCaps* caps = gst_pad_get_current_caps(pad);
    Input input;
    gst_video_info_from_caps(&input.info, caps);
    gst_caps_unref(caps);
    input.picture = check::picture_of(buffer, input.info);
    input.timestamp = GST_BUFFER_PTS(buffer);
    inputs_.push_back(std::move(input));
  }

  void left(GstBuffer* buffer) {
    const std::lock_guard lock(mutex_);
    timestamp_ = GST_BUFFER_PTS(buffer);
    // Frames that a flush dropped never leave; no other may be missing, as frames are counted.
    while (!inputs_.empty() && inputs_.front().timestamp != timestamp_)
      inputs_.pop_front();
    bool right = false;
    if (!inputs_.empty()) {
      const Input& input = inputs_.front();
      right =
          oracle::differing_samples(input.info, check::picture_of(buffer, input.info),
                                    oracle::expected(input.info, input.picture, kMask, {})) == 0;
      inputs_.pop_front();
    }
    wrong_ += right ? 0 : 1;
    ++frames_;
  }

  GstElement* pipeline_ = nullptr;
  GstElement* element_ = nullptr;
  GstBus* bus_ = nullptr;
  std::mutex mutex_;
  struct Input {
    GstVideoInfo info;
    oracle::Bytes picture;
    GstClockTime timestamp;
  };
  std::deque<Input> inputs_;  ///< Those that have not left.
  GstClockTime timestamp_ = GST_CLOCK_TIME_NONE;
  std::atomic<int> frames_{0};
  std::atomic<int> wrong_{0};
};

/// Its ball, forty pixels across, must fit into the picture.
const char kSource[] = "videotestsrc name=s pattern=ball ! ";
const char kCaps[] = "video/x-raw,format=I420,width=64,height=48,framerate=25/1 ! ";

TEST(Eos, ComesAfterEveryFrame) {
  for (const int frames : {1, 2, 50}) {
    Pipeline pipeline("videotestsrc pattern=ball num-buffers=" + std::to_string(frames) + " ! " +
                      kCaps + "queue ! cudaconvolve name=c ! queue ! fakesink");
    pipeline.play();
    pipeline.expect_message(GST_MESSAGE_EOS);
    EXPECT_EQ(pipeline.frames(), frames);
    EXPECT_EQ(pipeline.wrong(), 0);
  }
}

TEST(Seek, FlushingWhilePausedShowsTheFrameThatWasAskedFor) {
  Pipeline pipeline(std::string(kSource) + kCaps + "queue ! cudaconvolve name=c ! fakesink");
  pipeline.pause();
  const int seeks = check::scaled(1000);
  for (int i = 0; i < seeks; ++i) {
    const GstClockTime to = static_cast<GstClockTime>(i * 37 % 100) * GST_SECOND / 25;
    const gint64 before = g_get_monotonic_time();
    ASSERT_TRUE(gst_element_seek_simple(pipeline.get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                                        static_cast<gint64>(to)));
    ASSERT_EQ(gst_element_get_state(pipeline.get(), nullptr, nullptr, kPatience),
              GST_STATE_CHANGE_SUCCESS);
    EXPECT_LT(g_get_monotonic_time() - before, gint64{1} * G_USEC_PER_SEC);
    EXPECT_EQ(pipeline.last_timestamp(), to);
  }
  EXPECT_EQ(pipeline.wrong(), 0);
}

TEST(Seek, FlushingWhilePlaying) {
  Pipeline pipeline(std::string(kSource) + kCaps +
                    "queue ! cudaconvolve name=c ! queue ! fakesink");
  pipeline.play();
  ASSERT_TRUE(pipeline.wait_for_frames(3));
  const int seeks = check::scaled(200);
  for (int i = 0; i < seeks; ++i) {
    ASSERT_TRUE(gst_element_seek_simple(pipeline.get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH,
                                        gint64{i} * GST_SECOND / 25));
    ASSERT_TRUE(pipeline.wait_for_frames(pipeline.frames() + 2));
  }
  EXPECT_EQ(pipeline.wrong(), 0);
}

/// Without a flush, a segment at a time, forwards and backwards.
TEST(Seek, SegmentsOneAfterTheOther) {
  Pipeline pipeline(std::string(kSource) + kCaps + "cudaconvolve name=c ! fakesink");
  pipeline.pause();
  constexpr int kFrames = 5;
  const int seeks = check::scaled(100);
  for (int i = 0; i < seeks; ++i) {
    const int before = pipeline.frames();
    const auto flags =
        static_cast<GstSeekFlags>(GST_SEEK_FLAG_SEGMENT | (i == 0 ? GST_SEEK_FLAG_FLUSH : 0));
    ASSERT_TRUE(gst_element_seek(pipeline.get(), i % 4 == 3 ? -1.0 : 1.0, GST_FORMAT_TIME, flags,
                                 GST_SEEK_TYPE_SET, 0, GST_SEEK_TYPE_SET,
                                 kFrames * gint64{GST_SECOND} / 25));
    pipeline.play();
    pipeline.expect_message(GST_MESSAGE_SEGMENT_DONE);
    // The source says so, when the last frames may still be in flight.
    EXPECT_TRUE(pipeline.wait_for_frames(before + kFrames - 1));
  }
  EXPECT_EQ(pipeline.wrong(), 0);
}

/// A sink that waits for its clock holds the streaming thread inside the element's push.
TEST(Flush, IntoABlockedSinkComesThrough) {
  Pipeline pipeline(std::string(kSource) + kCaps + "cudaconvolve name=c ! fakesink sync=true");
  pipeline.pause();
  for (int i = 0; i < 20; ++i) {
    pipeline.play();
    const gint64 before = g_get_monotonic_time();
    ASSERT_TRUE(gst_element_seek_simple(pipeline.get(), GST_FORMAT_TIME, GST_SEEK_FLAG_FLUSH, 0));
    EXPECT_LT(g_get_monotonic_time() - before, gint64{1} * G_USEC_PER_SEC);
  }
  const gint64 before = g_get_monotonic_time();
  gst_element_set_state(pipeline.get(), GST_STATE_NULL);
  EXPECT_LT(g_get_monotonic_time() - before, gint64{1} * G_USEC_PER_SEC);
  EXPECT_EQ(pipeline.wrong(), 0);
}

TEST(Caps, MayChangeWhilePlaying) {
  Pipeline pipeline(std::string(kSource) +
                    "capsfilter name=f caps-change-mode=delayed "
                    "caps=video/x-raw,format=I420,width=64,height=48 ! queue "
                    "! cudaconvolve name=c ! queue ! fakesink");
  GstElement* filter = pipeline.get("f");
  pipeline.play();
  const char* const formats[] = {"NV12", "RGBA", "I420", "GRAY16_LE", "YUY2", "P010_10LE", "BGR"};
  for (int i = 0; i < 28; ++i) {
    ASSERT_TRUE(pipeline.wait_for_frames(pipeline.frames() + 4));
    const std::string caps = std::string("video/x-raw,format=") + formats[i % 7] +
                             ",height=" + std::to_string(48 + i) +
                             ",width=" + std::to_string(96 - i);
    gst_util_set_object_arg(G_OBJECT(filter), "caps", caps.c_str());
  }
  ASSERT_TRUE(pipeline.wait_for_frames(pipeline.frames() + 20));
  EXPECT_EQ(pipeline.wrong(), 0);
  gst_object_unref(filter);
}

}  // namespace
