// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in CUDA memory on either pad: the right pictures in the right memory, and contexts that
// come and go.
#include <gst/cuda/gstcudacontext.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "tests/cuda_memory/cuda_line.h"
#include "tests/cuda_memory/cuda_memory_test.h"
#include "tests/cuda_memory/fake_driver.h"

namespace {

using check::Message;
using check::Settings;
using check::video_info;
using cuda_frames::Context;
using cuda_frames::CudaMemory;
using cuda_frames::Downstream;
using cuda_frames::kAllMemories;
using cuda_frames::kCudaOnly;
using cuda_frames::kIdentity;
using cuda_frames::kMask;
using cuda_frames::kOther;
using cuda_frames::Line;
using cuda_frames::Memories;

TEST_F(CudaMemory, FourCombinationsOfMemoryForEveryFormat) {
  EXPECT_EQ(cuda_frames::formats().size(), 26u);
  for (const GstVideoFormat format : cuda_frames::formats())
    for (const Memories& memories : kAllMemories) {
      SCOPED_TRACE(std::string(gst_video_format_to_string(format)) + ", " + text(memories));
      // Small frames in system memory stay on the CPU unless a kernel is named.
      Settings named = settings();
      named.push_back({"kernel", "coarsened"});
      Line line(named);
      line.set_caps(video_info(format, 46, 18), memories);
      for (int n = 1; n <= 3; ++n) {
        ASSERT_EQ(line.push(n), GST_FLOW_OK);
        line.expect(n, kMask, memories.out_cuda);
      }
      EXPECT_EQ(line.harness().get_string("active-plan").rfind("cuda ", 0), 0u)
          << line.harness().get_string("active-plan");
      EXPECT_TRUE(line.harness().problems().empty());
    }
}

TEST_F(CudaMemory, SidesThatChromaDoesNotDivide) {
  for (const GstVideoFormat format : cuda_frames::formats())
    for (const auto& [width, height] : {std::pair{1, 2}, {7, 5}, {2, 1}}) {
      // GStreamer 1.22 itself takes a row of chroma too few for these.
      if (height % 2 == 1 && format == GST_VIDEO_FORMAT_NV21) continue;
      SCOPED_TRACE(std::string(gst_video_format_to_string(format)) + " " + std::to_string(width) +
                   "x" + std::to_string(height));
      Line line(settings());
      line.set_caps(video_info(format, width, height), kCudaOnly);
      ASSERT_EQ(line.push(1), GST_FLOW_OK);
      line.expect(1, kMask, true);
    }
}

TEST_F(CudaMemory, PlanesLieAnywhere) {
  std::mt19937 random(7);
  for (const GstVideoFormat format : cuda_frames::formats())
    for (const int depth : {0, 3}) {
      SCOPED_TRACE(std::string(gst_video_format_to_string(format)) + " at depth " +
                   std::to_string(depth));
      Line line(settings(kMask, depth));
      line.set_caps(video_info(format, 46, 18), {true, format % 2 == 0});
      for (int n = 1; n <= 6; ++n) {
        const oracle::Bytes frame = oracle::random_frame(line.info(), static_cast<unsigned>(n));
        // The first is where the library puts it, so that the plan is made for that.
        GstBuffer* buffer =
            n == 1 ? cuda_frames::upload(line.context(), line.info(), frame, n)
                   : cuda_frames::upload_anywhere(line.context(), line.info(), frame, n, random);
        ASSERT_EQ(line.push_buffer(buffer), GST_FLOW_OK);
      }
      for (int n = 1; n <= 6; ++n)
        line.expect(n, kMask, format % 2 == 0);
      EXPECT_TRUE(line.harness().problems().empty());
    }
}

TEST_F(CudaMemory, WithoutAMetaThePlanesLieAsTheMemorySays) {
  Line line(settings());
  line.set_caps(info_, kCudaOnly);
  const oracle::Bytes frame = oracle::random_frame(info_, 1);
  GstBuffer* pooled = cuda_frames::upload(line.context(), info_, frame, 1);
  GstBuffer* bare = gst_buffer_new();
  gst_buffer_append_memory(bare, gst_buffer_get_memory(pooled, 0));
  GST_BUFFER_PTS(bare) = GST_BUFFER_PTS(pooled);
  gst_buffer_unref(pooled);
  ASSERT_EQ(line.push_buffer(bare), GST_FLOW_OK);
  line.expect(1, kMask, true);
}

/// A slow producer: each frame is complete some milliseconds after it was pushed.
TEST_F(CudaMemory, WhatIsInTheMakingIsWaitedForOnTheDevice) {
  if (!cuda_frames::has_streams()) GTEST_SKIP() << "GStreamer 1.22 has no streams";
  for (const bool out_cuda : {false, true})
    for (const int depth : {0, 3}) {
      Line line(settings(kMask, depth));
      line.set_caps(info_, {true, out_cuda});
      fake_driver_delay(3);
      for (int n = 1; n <= 8; ++n)
        ASSERT_EQ(
            line.push_buffer(cuda_frames::upload_on_a_stream(
                line.context(), info_, oracle::random_frame(info_, static_cast<unsigned>(n)), n)),
            GST_FLOW_OK);
      for (int n = 1; n <= 8; ++n)
        line.expect(n, kMask, out_cuda);
      fake_driver_delay(0);
    }
}

TEST_F(CudaMemory, FramesStayInTheMemoryInWhichTheyComeWhateverDownstreamPrefers) {
  for (const bool cuda : {false, true}) {
    for (const bool prefers_system_memory : {false, true}) {
      Line line(settings());
      Downstream downstream(line.harness().get());
      downstream.takes_system_memory = true;
      downstream.prefers_system_memory = prefers_system_memory;
      line.set_input_caps(info_, cuda);
      ASSERT_EQ(line.push(1), GST_FLOW_OK);
      line.expect(1, kMask, cuda);
    }
    Line line(settings());
    line.set_input_caps(info_, cuda);
    ASSERT_EQ(line.push(1), GST_FLOW_OK);
    line.expect(1, kMask, cuda);
  }
}

TEST_F(CudaMemory, NoPadHasItWhereThereIsNoCuda) {
  GstElement* element = check::make_element({{"backend", "auto"}});
  for (const char* pad : {"sink", "src"})
    EXPECT_TRUE(offers_cuda_memory(element, pad)) << "neighbours are linked before the start";
  gst_util_set_object_arg(G_OBJECT(element), "backend", "cpu");
  EXPECT_FALSE(offers_cuda_memory(element, "sink"));
  gst_util_set_object_arg(G_OBJECT(element), "backend", "auto");
  fail("open", "no-device");
  gst_element_set_state(element, GST_STATE_PAUSED);
  EXPECT_FALSE(offers_cuda_memory(element, "sink"));
  gst_element_set_state(element, GST_STATE_NULL);
  EXPECT_TRUE(offers_cuda_memory(element, "sink"));
  unsetenv("FAKE_CUDA_FAILS");
  gst_element_set_state(element, GST_STATE_PAUSED);
  EXPECT_TRUE(offers_cuda_memory(element, "sink"));
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}

TEST_F(CudaMemory, AFieldABufferIsNeverInCudaMemory) {
  Line line(settings());
  line.set_input_caps(video_info(GST_VIDEO_FORMAT_NV12, 36, 22, GST_VIDEO_INTERLACE_MODE_ALTERNATE),
                      false);
  GstPad* pad = gst_element_get_static_pad(line.element(), "src");
  GstCaps* caps = gst_pad_get_current_caps(pad);
  ASSERT_NE(caps, nullptr);
  EXPECT_TRUE(gst_caps_features_contains(gst_caps_get_features(caps, 0), "format:Interlaced"));
  EXPECT_FALSE(gst_caps_features_contains(gst_caps_get_features(caps, 0), "memory:CUDAMemory"));
  gst_caps_unref(caps);
  gst_object_unref(pad);
}

TEST_F(CudaMemory, TwoFieldsAreFilteredApart) {
  oracle::Options options;
  options.fields = true;
  for (const Memories& memories : kAllMemories) {
    SCOPED_TRACE(text(memories));
    Line line(settings());
    line.set_caps(video_info(GST_VIDEO_FORMAT_NV12, 36, 22, GST_VIDEO_INTERLACE_MODE_INTERLEAVED),
                  memories);
    ASSERT_EQ(line.push(1), GST_FLOW_OK);
    line.expect(1, kMask, memories.out_cuda, options);
  }
}

TEST_F(CudaMemory, FramesInFlightKeepTheirOrder) {
  setenv("FAKE_CUDA_MS", "2", 1);
  for (const Memories& memories : kAllMemories)
    for (const int depth : {0, 1, 3, 8}) {
      SCOPED_TRACE(text(memories) + " at depth " + std::to_string(depth));
      Line line(settings(kMask, depth));
      line.set_caps(info_, memories);
      for (int n = 1; n <= 12; ++n)
        ASSERT_EQ(line.push(n), GST_FLOW_OK);
      for (int n = 1; n <= 12; ++n)
        line.expect(n, kMask, memories.out_cuda);
    }
}

TEST_F(CudaMemory, WhatChangesNothingIsPassedOnUnlessItChangesMemory) {
  for (const Memories& memories : kAllMemories) {
    SCOPED_TRACE(text(memories));
    Line line(settings(kIdentity));
    line.set_caps(info_, memories);
    ASSERT_EQ(line.push(1), GST_FLOW_OK);
    line.expect(1, kIdentity, memories.out_cuda);
    EXPECT_EQ(line.harness().stat("passthrough-frames"),
              memories.in_cuda == memories.out_cuda ? 1u : 0u);
  }
}

/// Caps of either memory, a thousand times, and a mask that changes with them.
TEST_F(CudaMemory, MemoriesTakeTurnsInMidStream) {
  Line line(settings(kMask, 2));
  std::mt19937 random(3);
  line.set_caps(info_, kCudaOnly);
  line.use_context(line.context());
  for (int n = 1; n <= check::scaled(1000); ++n) {
    const Memories memories = kAllMemories[random() % 4];
    SCOPED_TRACE(std::to_string(n) + ": " + text(memories));
    const bool other = random() % 3 == 0;
    line.harness().set("mask", (other ? kOther : kMask).text());
    line.set_caps(video_info(GST_VIDEO_FORMAT_NV12, 20 + 2 * (n % 3), 12), memories);
    for (int k = 0; k < 2; ++k)
      ASSERT_EQ(line.push(2 * n + k), GST_FLOW_OK);
    for (int k = 0; k < 2; ++k)
      line.expect(2 * n + k, other ? kOther : kMask, memories.out_cuda);
  }
  EXPECT_TRUE(line.harness().problems().empty());
  line.use_context(nullptr);
}

TEST_F(CudaMemory, TheContextOfTheApplicationIsShared) {
  const Context ours = cuda_frames::new_context();
  Line line(settings());
  GstContext* context = cuda_frames::as_gst_context(ours);
  gst_element_set_context(line.element(), context);
  gst_context_unref(context);
  line.set_caps(info_, kCudaOnly);
  EXPECT_EQ(line.context().get(), ours.get());
  ASSERT_EQ(line.push(1), GST_FLOW_OK);
  line.expect(1, kMask, true);
}

/// The device's own context, which its work is in, is offered to whoever asks.
TEST_F(CudaMemory, WithoutOneTheElementOffersItsOwn) {
  Line line(settings());
  EXPECT_EQ(line.context(), nullptr) << "with frames in system memory nobody needs one";
  line.set_caps(info_, {false, true});
  const Context shared = line.context();
  ASSERT_NE(shared, nullptr);
  EXPECT_EQ(gst_cuda_context_get_handle(shared.get()), fake_driver_primary(0));
  line.set_caps(info_, kCudaOnly);
  EXPECT_EQ(line.context().get(), shared.get());
}

TEST_F(CudaMemory, AnotherContextIsAdopted) {
  for (const int depth : {0, 2})
    for (const bool out_cuda : {false, true}) {
      SCOPED_TRACE("depth " + std::to_string(depth) + (out_cuda ? ", CUDA" : ", system"));
      Line line(settings(kMask, depth));
      line.set_caps(info_, {true, out_cuda});
      int n = 0;
      for (int turn = 0; turn < 3; ++turn) {
        const Context other = turn == 0 ? line.context() : cuda_frames::new_context();
        line.use_context(other);
        for (int k = 0; k < 3; ++k)
          ASSERT_EQ(line.push(++n), GST_FLOW_OK);
        EXPECT_EQ(cuda_frames::shared_by(line.element()).get(), other.get());
        GstBuffer* buffer = nullptr;
        for (int k = 2; k >= 0; --k) {
          if (k > 0) {
            line.expect(n - k, kMask, out_cuda);
            continue;
          }
          buffer = gst_harness_pull(line.harness().get());
          ASSERT_NE(buffer, nullptr);
          if (out_cuda) {
            EXPECT_EQ(cuda_frames::handle_of(buffer), gst_cuda_context_get_handle(other.get()));
          }
          gst_buffer_unref(buffer);
        }
      }
      line.use_context(nullptr);
      EXPECT_TRUE(line.harness().problems().empty());
    }
}

TEST_F(CudaMemory, AnotherDeviceIsTakenUnlessOneWasAskedFor) {
  const Context second = cuda_frames::new_context(1);
  {
    Line line(settings());
    line.set_caps(info_, kCudaOnly);
    line.use_context(second);
    ASSERT_EQ(line.push(1), GST_FLOW_OK);
    line.expect(1, kMask, true);
  }
  Settings first = settings();
  first.push_back({"cuda-device-id", "0"});
  Line line(first);
  line.set_caps(info_, kCudaOnly);
  line.use_context(second);
  EXPECT_NE(line.push(1), GST_FLOW_OK);
  const std::vector<Message> errors = line.harness().errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].text.find("another CUDA device than cuda-device-id=0"), std::string::npos)
      << errors[0].text;
  EXPECT_EQ(gst_harness_buffers_in_queue(line.harness().get()), 0u);
}

}  // namespace
