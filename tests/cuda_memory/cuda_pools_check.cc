// SPDX-License-Identifier: LGPL-2.1-or-later
// Pools of CUDA memory on both sides of the element: whose context and, from GStreamer 1.24 on,
// whose stream their memory has.
#include <gst/cuda/gstcudacontext.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/cuda_memory/cuda_line.h"
#include "tests/cuda_memory/cuda_memory_test.h"
#include "tests/cuda_memory/cuda_streams.h"

namespace {

using cuda_frames::Context;
using cuda_frames::CudaMemory;
using cuda_frames::kCudaOnly;
using cuda_frames::kMask;
using cuda_frames::Line;

using Pool = std::unique_ptr<GstBufferPool, void (*)(GstBufferPool*)>;

void let_go(GstBufferPool* pool) {
  gst_buffer_pool_set_active(pool, FALSE);
  gst_object_unref(pool);
}

/// The pool that the element offers upstream for frames of `info`, with the size of its frames.
Pool offered_upstream(Line& line, const GstVideoInfo& info, guint* size) {
  GstCaps* caps = cuda_frames::caps_of(info, true);
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  gst_caps_unref(caps);
  GstPad* pad = gst_element_get_static_pad(line.element(), "sink");
  GstBufferPool* pool = nullptr;
  *size = 0;
  if (gst_pad_query(pad, query) && gst_query_get_n_allocation_pools(query) == 1)
    gst_query_parse_nth_allocation_pool(query, 0, &pool, size, nullptr, nullptr);
  gst_object_unref(pad);
  gst_query_unref(query);
  return {pool, let_go};
}

/// A frame of a pool that is active then; null if it has none.
GstBuffer* frame_of(GstBufferPool* pool) {
  GstBuffer* buffer = nullptr;
  if (!gst_buffer_pool_set_active(pool, TRUE) ||
      gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr) != GST_FLOW_OK)
    return nullptr;
  return buffer;
}

TEST_F(CudaMemory, PoolsAreOfTheSharedContext) {
  Line line(settings());
  line.set_caps(info_, kCudaOnly);
  guint size = 0;
  const Pool pool = offered_upstream(line, info_, &size);
  ASSERT_NE(pool, nullptr);
  EXPECT_GT(size, GST_VIDEO_INFO_SIZE(&info_)) << "rows lie on 512 bytes";
  GstBuffer* buffer = frame_of(pool.get());
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(cuda_frames::handle_of(buffer), gst_cuda_context_get_handle(line.context().get()));
  gst_buffer_unref(buffer);
}

/// Pushes a frame of the pool that the element offers, and takes what it becomes.
void expect_one_stream(Line& line, const GstVideoInfo& info, int number, gpointer* stream) {
  guint size = 0;
  const Pool pool = offered_upstream(line, info, &size);
  ASSERT_NE(pool, nullptr);
  GstBuffer* offered = frame_of(pool.get());
  ASSERT_NE(offered, nullptr) << "the pool has no memory";
  *stream = cuda_frames::stream_of(offered);
  EXPECT_EQ(*stream != nullptr, cuda_frames::has_streams());
  gst_buffer_unref(offered);
  ASSERT_EQ(line.push(number), GST_FLOW_OK);
  GstBuffer* buffer = gst_harness_pull(line.harness().get());
  ASSERT_NE(buffer, nullptr);
  EXPECT_TRUE(cuda_frames::is_in_cuda_memory(buffer));
  EXPECT_EQ(cuda_frames::stream_of(buffer), *stream);
  gst_buffer_unref(buffer);
  ASSERT_EQ(line.push(number + 1), GST_FLOW_OK);
  line.expect(number + 1, kMask, true);
  EXPECT_TRUE(line.harness().problems().empty());
}

TEST_F(CudaMemory, PoolsOfBothSidesHaveOneStream) {
  Line line(settings());
  line.set_caps(info_, kCudaOnly);
  gpointer stream = nullptr;
  expect_one_stream(line, info_, 1, &stream);
}

TEST_F(CudaMemory, TheStreamOfDownstreamsPoolGoesOnUpstream) {
  const Context shared = cuda_frames::new_context();
  const Pool pool(cuda_frames::new_pool_of_a_stream(shared, info_, 4), let_go);
  if (pool == nullptr) return;  // Before 1.24 there are no streams.
  Line line(settings());
  GstContext* context = cuda_frames::as_gst_context(shared);
  gst_element_set_context(line.element(), context);
  gst_context_unref(context);
  line.offer_downstream(pool.get());
  line.set_caps(info_, kCudaOnly);
  gpointer stream = nullptr;
  expect_one_stream(line, info_, 1, &stream);
  GstBuffer* theirs = frame_of(pool.get());
  ASSERT_NE(theirs, nullptr);
  EXPECT_EQ(cuda_frames::stream_of(theirs), stream);
  gst_buffer_unref(theirs);
}

/// Two elements that each wrapped CUDA's context have two objects for it, and GStreamer takes no
/// stream of the one for memory of the other.
TEST_F(CudaMemory, AnotherObjectForTheContextKeepsFramesInCudaMemory) {
  const Context shared = cuda_frames::new_context();
  const auto handle = static_cast<CUcontext>(gst_cuda_context_get_handle(shared.get()));
  const Context other(gst_cuda_context_new_wrapped(handle, 0),
                      [](GstCudaContext* context) { gst_object_unref(context); });
  const Pool pool(cuda_frames::new_pool_of_a_stream(other, info_, 4), let_go);
  if (pool == nullptr) return;  // Before 1.24 there are no streams.
  Line line(settings());
  GstContext* context = cuda_frames::as_gst_context(shared);
  gst_element_set_context(line.element(), context);
  gst_context_unref(context);
  line.offer_downstream(pool.get());
  line.set_caps(info_, kCudaOnly);
  guint size = 0;
  const Pool offered = offered_upstream(line, info_, &size);
  ASSERT_NE(offered, nullptr);
  GstBuffer* buffer = frame_of(offered.get());
  ASSERT_NE(buffer, nullptr) << "the pool has no memory";
  gst_buffer_unref(buffer);
  for (int n = 1; n <= 3; ++n) {
    ASSERT_EQ(line.push(n), GST_FLOW_OK);
    line.expect(n, kMask, true);
  }
  EXPECT_TRUE(line.harness().problems().empty());
}

}  // namespace
