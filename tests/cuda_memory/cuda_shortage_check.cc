// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in CUDA memory: what becomes of them when there is no memory for masks or frames.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/cuda_memory/cuda_line.h"
#include "tests/cuda_memory/cuda_memory_test.h"
#include "tests/cuda_memory/fake_driver.h"

namespace {

using check::Message;
using cuda_frames::Context;
using cuda_frames::CudaMemory;
using cuda_frames::Downstream;
using cuda_frames::kCudaOnly;
using cuda_frames::kMask;
using cuda_frames::kOther;
using cuda_frames::Line;

void give(Line& line, const Context& context) {
  GstContext* shared = cuda_frames::as_gst_context(context);
  gst_element_set_context(line.element(), shared);
  gst_context_unref(shared);
  line.use_context(context);
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

/// Downstream's pool is at work for somebody else, and takes no other caps.
TEST_F(CudaMemory, APoolThatCannotBeConfiguredIsReplaced) {
  const Context context = cuda_frames::new_context();
  GstBufferPool* pool = cuda_frames::bounded_pool(context, info_, 0, 0);
  GstBuffer* held = nullptr;
  ASSERT_TRUE(gst_buffer_pool_set_active(pool, TRUE));
  ASSERT_EQ(gst_buffer_pool_acquire_buffer(pool, &held, nullptr), GST_FLOW_OK);
  {
    Line line(settings());
    give(line, context);
    line.offer_downstream(pool);
    line.set_caps(check::video_info(GST_VIDEO_FORMAT_NV12, 48, 26), kCudaOnly);
    ASSERT_EQ(line.push(1), GST_FLOW_OK);
    line.expect(1, kMask, true);
    EXPECT_TRUE(line.harness().problems().empty());
    line.use_context(nullptr);
  }
  gst_buffer_unref(held);
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

TEST_F(CudaMemory, APoolThatCannotFillItselfIsOutOfMemory) {
  const Context context = cuda_frames::new_context();
  GstBufferPool* pool = cuda_frames::bounded_pool(context, info_, 3, 0);
  {
    Line line(settings());
    give(line, context);
    GstBuffer* input = cuda_frames::upload(context, info_, oracle::random_frame(info_, 1), 1);
    line.offer_downstream(pool);
    line.set_caps(info_, kCudaOnly);
    fake_driver_allow(0);
    EXPECT_EQ(line.push_buffer(input), GST_FLOW_ERROR);
    fake_driver_allow(-1);
    const std::vector<Message> problems = line.harness().problems();
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].code, GST_RESOURCE_ERROR_NO_SPACE_LEFT) << problems[0].text;
    line.use_context(nullptr);
  }
  gst_object_unref(pool);
}

/// A pool that is not to be had is no error while a frame before it has ended the stream, and is
/// one after a flush.
TEST_F(CudaMemory, APoolThatIsMissingIsToldWhenItIsAllThatIsWrong) {
  setenv("FAKE_CUDA_MS", "50", 1);
  Line line(settings(kMask, 2));
  line.set_caps(info_, kCudaOnly);
  ASSERT_EQ(line.push(1), GST_FLOW_OK);
  line.expect(1, kMask, true);
  const GstVideoInfo other = check::video_info(GST_VIDEO_FORMAT_NV12, 48, 26);
  GstBuffer* inputs[2];
  for (int n = 0; n < 2; ++n)
    inputs[n] = cuda_frames::upload(line.context(), other, oracle::random_frame(other, 1), 3 + n);
  gst_pad_add_probe(
      line.harness().get()->sinkpad, GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer) {
        gst_clear_buffer(reinterpret_cast<GstBuffer**>(&info->data));
        info->data = nullptr;
        GST_PAD_PROBE_INFO_FLOW_RETURN(info) = GST_FLOW_EOS;
        return GST_PAD_PROBE_HANDLED;
      },
      nullptr, nullptr);
  ASSERT_EQ(line.push(2), GST_FLOW_OK);
  fake_driver_allow(0);
  line.set_caps(other, kCudaOnly);
  EXPECT_NE(line.push_buffer(inputs[0]), GST_FLOW_OK);
  EXPECT_TRUE(line.harness().problems().empty());
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  for (GstEvent* event : {gst_event_new_flush_start(), gst_event_new_flush_stop(TRUE),
                          gst_event_new_segment(&segment)})
    gst_harness_push_event(line.harness().get(), event);
  EXPECT_NE(line.push_buffer(inputs[1]), GST_FLOW_OK);
  fake_driver_allow(-1);
  const std::vector<Message> problems = line.harness().problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems[0].code, GST_RESOURCE_ERROR_NO_SPACE_LEFT) << problems[0].text;
}

}  // namespace
