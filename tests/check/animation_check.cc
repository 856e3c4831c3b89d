// SPDX-License-Identifier: LGPL-2.1-or-later
// `scale` and `bias` under a GstController: each frame is filtered with the values of its stream
// time, and values are arguments of a frame, not a reason for a new plan.
#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;

const oracle::Mask kMask{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};
constexpr GstClockTime kFrameTime = GST_SECOND / 25;

/// Points in frames and values; linear between them if `linear`, else steps.
using Points = std::vector<std::pair<int, double>>;

void animate(GstElement* element, const char* property, const Points& points, bool linear) {
  GstControlSource* source = gst_interpolation_control_source_new();
  g_object_set(source, "mode", linear ? GST_INTERPOLATION_MODE_LINEAR : GST_INTERPOLATION_MODE_NONE,
               nullptr);
  for (const auto& [frame, value] : points)
    gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(source), frame * kFrameTime,
                                       value);
  ASSERT_TRUE(gst_object_add_control_binding(
      GST_OBJECT(element),
      gst_direct_control_binding_new_absolute(GST_OBJECT(element), property, source)));
  gst_object_unref(source);
}

/// Counts the plans that the element makes from here on.
class PlanCounter {
 public:
  explicit PlanCounter(GstElement* element) : element_(element) {
    handler_ = g_signal_connect(
        element, "notify::active-plan",
        G_CALLBACK(+[](GObject*, GParamSpec*, gpointer count) { ++*static_cast<int*>(count); }),
        &count_);
  }
  ~PlanCounter() { g_signal_handler_disconnect(element_, handler_); }
  PlanCounter(const PlanCounter&) = delete;
  PlanCounter& operator=(const PlanCounter&) = delete;

  int count() const { return count_; }

 private:
  GstElement* element_;
  gulong handler_ = 0;
  int count_ = 0;
};

TEST(Animation, OfScaleAndBiasFollowsTheFrames) {
  for (const GstVideoFormat format :
       {GST_VIDEO_FORMAT_I420, GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_GRAY16_LE}) {
    const GstVideoInfo info = video_info(format, 24, 16);
    Harness harness(Settings{{"mask", kMask.text()}});
    harness.set_caps(info);
    harness.filter(oracle::random_frame(info, 0));
    const PlanCounter plans(harness.element());
    constexpr int kFrames = 64;
    animate(harness.element(), "scale", {{0, 0.5}, {kFrames, 2.5}}, true);
    animate(harness.element(), "bias", {{0, -0.5}, {kFrames, 0.5}}, true);
    for (int i = 0; i < kFrames; ++i) {
      const oracle::Bytes frame = oracle::random_frame(info, static_cast<unsigned>(i));
      oracle::Options options;
      options.scale_numerator = 16 + i;
      options.scale_denominator = 32;
      options.bias = -0.5 + static_cast<double>(i) / kFrames;
      EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame, i),
                                          oracle::expected(info, frame, kMask, options)),
                0)
          << i;
    }
    EXPECT_EQ(plans.count(), 0);
  }
}

/// Values that are no ratios of small numbers make the arithmetic real: one new plan, not one a
/// frame.
TEST(Animation, OfRealScalesKeepsThePlan) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 24, 16);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  harness.filter(frame);
  const PlanCounter plans(harness.element());
  constexpr int kFrames = 64;
  animate(harness.element(), "scale", {{0, 0.7071067811865476}, {kFrames, 1.4142135623730951}},
          true);
  for (int i = 0; i < kFrames; ++i)
    ASSERT_EQ(harness.push(frame, i), GST_FLOW_OK);
  EXPECT_LE(plans.count(), 1);
}

/// Frames may come in any order of time, as in reverse playback, and twice.
TEST(Animation, GoesByStreamTimeNotByOrder) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 16, 16);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  animate(harness.element(), "scale", {{0, 0.25}, {1, 0.5}, {2, 0.75}, {3, 1}}, false);
  for (const int number : {3, 1, 1, 0, 2, 3, 0}) {
    oracle::Options options;
    options.scale_numerator = number + 1;
    options.scale_denominator = 4;
    EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame, number),
                                        oracle::expected(info, frame, kMask, options)),
              0)
        << number;
  }
}

/// A segment shifts time stamps; the controller runs in stream time.
TEST(Animation, GoesByTheSegment) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 16, 16);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  segment.start = 1000 * kFrameTime;
  gst_harness_push_event(harness.get(), gst_event_new_segment(&segment));
  animate(harness.element(), "bias", {{0, 0.25}, {1, 0.5}}, false);
  for (const int number : {0, 1}) {
    oracle::Options options;
    options.bias = number == 0 ? 0.25 : 0.5;
    EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame, 1000 + number),
                                        oracle::expected(info, frame, kMask, options)),
              0)
        << number;
  }
}

/// Through the values that make the filter an identity and back.
TEST(Animation, MayPassThroughPassthrough) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_RGBA, 16, 16);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  const oracle::Mask identity{1, 1, {1}, 1};
  Harness harness(Settings{{"mask", "identity"}});
  harness.set_caps(info);
  animate(harness.element(), "scale", {{0, 0.5}, {8, 1.5}}, true);
  for (int i = 0; i < 9; ++i) {
    oracle::Options options;
    options.scale_numerator = 4 + i;
    options.scale_denominator = 8;
    EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame, i),
                                        oracle::expected(info, frame, identity, options)),
              0)
        << i;
  }
  EXPECT_EQ(harness.stat("passthrough-frames"), 1u);
}

}  // namespace
