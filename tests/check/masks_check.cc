// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks that change while playing: on frame boundaries, from other threads, by a controller, and by
// many elements at once.
#include <gst/controller/gstdirectcontrolbinding.h>
#include <gst/controller/gstinterpolationcontrolsource.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;

const std::vector<oracle::Mask>& masks() {
  static const std::vector<oracle::Mask> all = {
      {1, 1, {1}, 1},
      {3, 3, {0, -1, 0, -1, 5, -1, 0, -1, 0}, 1},
      {3, 3, {1, 2, 1, 2, 4, 2, 1, 2, 1}, 16},
      {7, 1, {1, 1, 1, 1, 1, 1, 1}, 7},
      {2, 5, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 55},
  };
  return all;
}

TEST(MaskChange, TakesEffectOnTheNextFrame) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_NV12, 31, 17);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness;
  harness.set_caps(info);
  for (int round = 0; round < 3; ++round)
    for (const oracle::Mask& mask : masks()) {
      harness.set("mask", mask.text());
      EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame),
                                          oracle::expected(info, frame, mask, {})),
                0)
          << mask.text();
    }
}

/// The picture of a frame belongs to one of the masks that were set, never to a mixture.
TEST(MaskChange, FromAnotherThreadNeverTearsAFrame) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 64, 48);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  std::vector<oracle::Bytes> pictures;
  for (const oracle::Mask& mask : masks())
    pictures.push_back(oracle::expected(info, frame, mask, {}));

  Harness harness;
  harness.set_caps(info);
  std::atomic<bool> stop{false};
  std::vector<std::thread> setters;
  for (unsigned t = 0; t < 2; ++t)
    setters.emplace_back([&, t] {
      for (std::size_t i = t; !stop; ++i)
        harness.set("mask", masks()[i % masks().size()].text());
    });
  std::vector<int> seen(masks().size(), 0);
  int torn = 0;
  for (int i = 0; i < 1500; ++i) {
    const oracle::Bytes output = harness.filter(frame, i);
    const auto match = std::find_if(pictures.begin(), pictures.end(), [&](const auto& picture) {
      return oracle::differing_samples(info, output, picture) == 0;
    });
    if (match == pictures.end())
      ++torn;
    else
      ++seen[static_cast<std::size_t>(match - pictures.begin())];
  }
  stop = true;
  for (std::thread& setter : setters)
    setter.join();
  EXPECT_EQ(torn, 0);
  EXPECT_GT(std::count_if(seen.begin(), seen.end(), [](int count) { return count > 0; }), 1);
  EXPECT_TRUE(harness.errors().empty());
}

TEST(MaskChange, MatrixAndTextGiveTheSamePicture) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 20, 20);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness(Settings{{"mask", "1 2 1; 2 4 2; 1 2 1"}});
  harness.set_caps(info);
  const oracle::Bytes by_text = harness.filter(frame);
  harness.set("mask", "identity");
  harness.set("mask-matrix", "<<1,2,1>,<2,4,2>,<1,2,1>>");
  EXPECT_EQ(harness.filter(frame), by_text);
}

TEST(MaskChange, OperationConvolveRotates) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 20, 20);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  const oracle::Mask mask{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};
  const oracle::Mask rotated{3, 3, {9, 8, 7, 6, 5, 4, 3, 2, 1}, 45};
  Harness harness({{"mask", mask.text()}, {"operation", "convolve"}});
  harness.set_caps(info);
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame),
                                      oracle::expected(info, frame, rotated, {})),
            0);
}

TEST(Controller, AnimatesScaleWithoutANewPlan) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  const oracle::Mask& mask = masks()[1];
  Harness harness(Settings{{"mask", mask.text()}});
  int notified = 0;
  g_signal_connect(
      harness.element(), "notify::active-plan",
      G_CALLBACK(+[](GObject*, GParamSpec*, gpointer count) { ++*static_cast<int*>(count); }),
      &notified);
  harness.set_caps(info);

  GstControlSource* source = gst_interpolation_control_source_new();
  g_object_set(source, "mode", GST_INTERPOLATION_MODE_NONE, nullptr);
  constexpr int kFrames = 8;
  for (int i = 0; i < kFrames; ++i)
    gst_timed_value_control_source_set(GST_TIMED_VALUE_CONTROL_SOURCE(source),
                                       static_cast<GstClockTime>(i) * GST_SECOND / 25,
                                       0.25 + 0.25 * i);
  ASSERT_TRUE(gst_object_add_control_binding(
      GST_OBJECT(harness.element()),
      gst_direct_control_binding_new_absolute(GST_OBJECT(harness.element()), "scale", source)));
  gst_object_unref(source);

  for (int i = 0; i < kFrames; ++i) {
    oracle::Options options;
    options.scale_numerator = i + 1;
    options.scale_denominator = 4;
    EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame, i),
                                        oracle::expected(info, frame, mask, options)),
              0)
        << i;
  }
  EXPECT_LE(notified, 2) << "a plan that serves a range of scales must not be made anew";
}

TEST(Instances, WithDifferentMasksDoNotDisturbEachOther) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_RGBA, 64, 48);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (const oracle::Mask& mask : masks())
    threads.emplace_back([&, mask] {
      const oracle::Bytes expected = oracle::expected(info, frame, mask, {});
      Harness harness(Settings{{"mask", mask.text()}});
      harness.set_caps(info);
      for (int i = 0; i < 200; ++i)
        wrong += oracle::differing_samples(info, harness.filter(frame, i), expected) != 0 ? 1 : 0;
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
