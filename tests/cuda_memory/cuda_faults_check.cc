// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in CUDA memory: what becomes of them when CUDA fails, or has no memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
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
using cuda_frames::kOther;
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
      // Frames that were finished before may go back after it.
      std::vector<GstBuffer*> finished;
      {
        Line line(settings(kMask, depth));
        line.set_caps(info_, memories);
        std::vector<GstBuffer*> inputs;
        for (int n = 1; n <= 12; ++n) {
          const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(n));
          GstBuffer* input = cuda_frames::has_streams()
                                 ? cuda_frames::upload_on_a_stream(line.context(), info_, frame, n)
                                 : cuda_frames::upload(line.context(), info_, frame, n);
          inputs.push_back(memories.in_cuda ? input : check::make_buffer(frame, n));
          if (!memories.in_cuda) gst_buffer_unref(input);
          if (n < 5) finished.push_back(gst_buffer_ref(inputs.back()));
        }
        GstFlowReturn flow = GST_FLOW_OK;
        for (GstBuffer* input : inputs)
          if (flow == GST_FLOW_OK) flow = line.push_buffer(input);
        EXPECT_NE(flow, GST_FLOW_OK);
        EXPECT_EQ(line.harness().errors().size(), 1u);
      }
      EXPECT_EQ(fake_driver_frees_when_broken(), 0);
      fake_driver_break(0);
      for (GstBuffer* buffer : finished)
        gst_buffer_unref(buffer);
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

/// A mask for which there is no memory is refused, and the last good plan runs on.
TEST_F(CudaMemory, AMaskThatCannotBePreparedLeavesTheLastOneInForce) {
  for (const bool out_cuda : {false, true}) {
    Line line(settings());
    line.set_caps(info_, {true, out_cuda});
    ASSERT_EQ(line.push(1), GST_FLOW_OK);
    line.expect(1, kMask, out_cuda);
    fail("prepare", "out-of-memory");
    line.harness().set("mask", kOther.text());
    for (int n = 2; n <= 4; ++n) {
      ASSERT_EQ(line.push(n), GST_FLOW_OK);
      line.expect(n, kMask, out_cuda);
    }
    const std::vector<Message> problems = line.harness().problems();
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].type, GST_MESSAGE_WARNING);
    unsetenv("FAKE_CUDA_FAILS");
    line.harness().set("mask", kOther.text() + " ");
    ASSERT_EQ(line.push(5), GST_FLOW_OK);
    line.expect(5, kOther, out_cuda);
  }
}

TEST_F(CudaMemory, AMaskThatCannotBePreparedMovesTheOutputToSystemMemory) {
  Line line(settings());
  Downstream downstream(line.harness().get());
  line.set_input_caps(info_, false);
  ASSERT_EQ(line.push(1), GST_FLOW_OK);
  line.expect(1, kMask, true);
  downstream.takes_system_memory = true;
  fail("prepare", "out-of-memory");
  line.harness().set("mask", kOther.text());
  for (int n = 2; n <= 4; ++n) {
    ASSERT_EQ(line.push(n), GST_FLOW_OK);
    line.expect(n, kOther, false);
  }
  EXPECT_EQ(line.harness().problems().size(), 1u);
}

TEST_F(CudaMemory, APoolWithoutMemoryEndsTheStreamWithAnError) {
  for (const int depth : {0, 2})
    for (const bool in_cuda : {false, true}) {
      SCOPED_TRACE((in_cuda ? "CUDA memory in, depth " : "system memory in, depth ") +
                   std::to_string(depth));
      Line line(settings(kMask, depth));
      line.set_caps(info_, {in_cuda, true});
      ASSERT_EQ(line.push(1), GST_FLOW_OK);
      line.expect(1, kMask, true);
      std::vector<GstBuffer*> inputs;
      for (int n = 2; n <= 12; ++n) {
        const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(n));
        inputs.push_back(in_cuda ? cuda_frames::upload(line.context(), info_, frame, n)
                                 : check::make_buffer(frame, n));
      }
      // Nobody gives outputs back.
      fake_driver_allow(0);
      GstFlowReturn flow = GST_FLOW_OK;
      int sent = 1;
      for (GstBuffer* input : inputs) {
        if (flow == GST_FLOW_OK) {
          flow = line.push_buffer(input);
          sent += flow == GST_FLOW_OK ? 1 : 0;
        } else {
          gst_buffer_unref(input);
        }
      }
      fake_driver_allow(-1);
      EXPECT_EQ(flow, GST_FLOW_ERROR);
      for (int n = 2; n <= sent; ++n)
        line.expect(n, kMask, true);
      const std::vector<Message> problems = line.harness().problems();
      ASSERT_EQ(problems.size(), 1u);
      EXPECT_EQ(problems[0].type, GST_MESSAGE_ERROR);
      EXPECT_EQ(problems[0].code, GST_RESOURCE_ERROR_NO_SPACE_LEFT);
      EXPECT_NE(problems[0].text.find("out of memory for a frame of"), std::string::npos)
          << problems[0].text;
    }
}

}  // namespace
