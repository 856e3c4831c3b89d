// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in CUDA memory: what becomes of them when CUDA is lost.
#include <gst/video/video.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda_memory/cuda_line.h"
#include "tests/cuda_memory/cuda_memory_test.h"
#include "tests/cuda_memory/fake_driver.h"

namespace {

using check::Message;
using cuda_frames::CudaMemory;
using cuda_frames::Downstream;
using cuda_frames::kCudaOnly;
using cuda_frames::kMask;
using cuda_frames::Line;
using cuda_frames::Memories;

/// There is no other copy of what came in CUDA memory.
TEST_F(CudaMemory, AFaultEndsAStreamThatComesInCudaMemory) {
  for (const int depth : {0, 2})
    for (const bool out_cuda : {false, true}) {
      SCOPED_TRACE("depth " + std::to_string(depth));
      fail("frame:3", "device-lost");
      device_is_lost();
      Line line(settings(kMask, depth));
      line.set_caps(info_, {true, out_cuda});
      GstFlowReturn flow = GST_FLOW_OK;
      for (int n = 1; n <= 8 && flow == GST_FLOW_OK; ++n)
        flow = line.push(n);
      EXPECT_EQ(flow, GST_FLOW_ERROR);
      for (int n = 1; n <= 2; ++n)
        line.expect(n, kMask, out_cuda);
      EXPECT_EQ(gst_harness_buffers_in_queue(line.harness().get()), 0u);
      const std::vector<Message> problems = line.harness().problems();
      ASSERT_EQ(problems.size(), 1u);
      EXPECT_EQ(problems[0].type, GST_MESSAGE_ERROR);
      unsetenv("FAKE_CUDA_FAILS");
    }
}

/// The driver may never return from freeing memory of a lost device.
TEST_F(CudaMemory, NothingOfALostDeviceIsGivenBack) {
  for (const int depth : {0, 2})
    for (const Memories& memories : {kCudaOnly, Memories{true, false}, Memories{false, true}}) {
      SCOPED_TRACE(text(memories) + ", depth " + std::to_string(depth));
      fail("frame:5", "device-lost");
      setenv("FAKE_CUDA_LOSES", "memory", 1);
      device_is_lost();
      {
        Line line(settings(kMask, depth));
        line.set_caps(info_, memories);
        // A source has one pool, which is not stopped while a buffer of it is kept.
        cuda_frames::Pool pool(line.context(), info_);
        std::vector<GstBuffer*> inputs;
        for (int n = 1; n <= 12; ++n) {
          const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(n));
          inputs.push_back(memories.in_cuda ? pool.upload(frame, n) : check::make_buffer(frame, n));
        }
        GstFlowReturn flow = GST_FLOW_OK;
        for (GstBuffer* input : inputs)
          if (flow == GST_FLOW_OK)
            flow = line.push_buffer(input);
          else
            gst_buffer_unref(input);
        EXPECT_NE(flow, GST_FLOW_OK);
        EXPECT_EQ(line.harness().errors().size(), 1u);
      }
      EXPECT_EQ(fake_driver_frees_when_broken(), 0);
      fake_driver_break(0);
      for (const char* name : {"FAKE_CUDA_FAILS", "FAKE_CUDA_LOSES"})
        unsetenv(name);
    }
}

TEST_F(CudaMemory, AFaultRenegotiatesAStreamThatOnlyLeavesInCudaMemory) {
  for (const char* code : {"device-lost", "out-of-memory"}) {
    SCOPED_TRACE(code);
    fail("frame:3", code);
    device_is_lost();
    Line line(settings(kMask, 2));
    Downstream downstream(line.harness().get());
    line.set_input_caps(info_, false);
    ASSERT_EQ(line.push(1), GST_FLOW_OK);
    downstream.takes_system_memory = true;
    for (int n = 2; n <= 6; ++n)
      ASSERT_EQ(line.push(n), GST_FLOW_OK) << n;
    for (int n = 1; n <= 6; ++n)
      line.expect(n, kMask, n <= 2);
    const std::vector<Message> problems = line.harness().problems();
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].type, GST_MESSAGE_WARNING) << problems[0].text;
    EXPECT_EQ(line.harness().stat("backend-switches"), 1u);
    unsetenv("FAKE_CUDA_FAILS");
  }
}

TEST_F(CudaMemory, AFaultEndsAStreamWhoseOutputMustBeInCudaMemory) {
  fail("frame:3", "device-lost");
  device_is_lost();
  Line line(settings());
  line.set_caps(info_, {false, true});
  GstFlowReturn flow = GST_FLOW_OK;
  for (int n = 1; n <= 4 && flow == GST_FLOW_OK; ++n)
    flow = line.push(n);
  EXPECT_NE(flow, GST_FLOW_OK);
  for (int n = 1; n <= 2; ++n)
    line.expect(n, kMask, true);
  EXPECT_EQ(gst_harness_buffers_in_queue(line.harness().get()), 0u);
  const std::vector<Message> errors = line.harness().errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].text.find("CUDA memory only"), std::string::npos) << errors[0].text;
}

/// Downstream has a few buffers in all, and keeps one.
TEST_F(CudaMemory, NobodyWaitsForABufferThatIsKept) {
  setenv("FAKE_CUDA_MS", "2", 1);
  fail("frame:5", "device-lost");
  device_is_lost();
  const cuda_frames::Context context = cuda_frames::new_context();
  Line line(settings(kMask, 2));
  GstContext* shared = cuda_frames::as_gst_context(context);
  gst_element_set_context(line.element(), shared);
  gst_context_unref(shared);
  GstBufferPool* pool = cuda_frames::bounded_pool(context, info_, 0, 3);
  line.offer_downstream(pool);
  line.set_caps(info_, kCudaOnly);
  line.use_context(context);
  std::atomic<bool> ended{false};
  std::thread sink([&] {
    GstBuffer* last = nullptr;
    while (!ended) {
      if (GstBuffer* buffer = line.harness().pull_buffer(); buffer != nullptr) {
        std::swap(last, buffer);
        gst_clear_buffer(&buffer);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    gst_clear_buffer(&last);
  });
  GstFlowReturn flow = GST_FLOW_OK;
  for (int n = 1; n <= 12 && flow == GST_FLOW_OK; ++n)
    flow = line.push(n);
  EXPECT_EQ(flow, GST_FLOW_ERROR);
  EXPECT_EQ(line.harness().errors().size(), 1u);
  gst_element_set_state(line.element(), GST_STATE_NULL);
  ended = true;
  sink.join();
}

/// With frames that are handed over the fault shows when nothing is on its way any more.
TEST_F(CudaMemory, AFaultThatShowsAtTheEndOfTheStreamPinsThePool) {
  device_is_lost();
  if (!cuda_frames::has_streams()) GTEST_SKIP() << "GStreamer 1.22 hands no frames over";
  fail("frame:3", "device-lost");
  setenv("FAKE_CUDA_LOSES", "memory", 1);
  {
    Line line(settings());
    line.set_caps(info_, kCudaOnly);
    cuda_frames::Pool pool(line.context(), info_);
    for (int n = 1; n <= 3; ++n)
      ASSERT_EQ(
          line.push_buffer(pool.upload(oracle::random_frame(info_, static_cast<unsigned>(n)), n)),
          GST_FLOW_OK);
    while (GstBuffer* buffer = line.harness().pull_buffer())
      gst_buffer_unref(buffer);
    gst_harness_push_event(line.harness().get(), gst_event_new_eos());
    EXPECT_EQ(line.harness().errors().size(), 1u);
    gst_element_set_state(line.element(), GST_STATE_NULL);
    EXPECT_EQ(fake_driver_frees_when_broken(), 0);
    fake_driver_break(0);
  }
  unsetenv("FAKE_CUDA_LOSES");
}

/// After a fault that the stream survived nobody speaks of it any more.
TEST_F(CudaMemory, AFlushedPoolIsNoErrorAfterAFaultThatWasSurvived) {
  fail("frame:2", "device-lost");
  device_is_lost();
  check::Settings named = settings();
  named.push_back({"kernel", "coarsened"});
  GstBufferPool* pool = gst_video_buffer_pool_new();
  {
    Line line(named);
    GstStructure* config = gst_buffer_pool_get_config(pool);
    GstCaps* caps = cuda_frames::caps_of(info_, false);
    gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(GST_VIDEO_INFO_SIZE(&info_)),
                                      0, 0);
    gst_caps_unref(caps);
    ASSERT_TRUE(gst_buffer_pool_set_config(pool, config));
    line.offer_downstream(pool);
    line.set_caps(info_, {false, false});
    for (int n = 1; n <= 3; ++n) {
      ASSERT_EQ(line.push(n), GST_FLOW_OK);
      line.expect(n, kMask, false);
    }
    EXPECT_EQ(line.harness().problems().size(), 1u) << "one warning";
    ASSERT_TRUE(gst_buffer_pool_is_active(pool)) << "output comes from another one";
    gst_buffer_pool_set_flushing(pool, TRUE);
    EXPECT_EQ(line.push(4), GST_FLOW_FLUSHING);
    EXPECT_TRUE(line.harness().problems().empty());
  }
  gst_object_unref(pool);
}

}  // namespace
