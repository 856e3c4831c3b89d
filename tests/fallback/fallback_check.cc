// SPDX-License-Identifier: LGPL-2.1-or-later
// What the element does when CUDA fails, with a device that fails on command (fake_cuda.cc): one
// warning and the same pictures from the CPU, or one error; no wrong frame, no lost frame.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Message;
using check::Settings;
using check::video_info;

const oracle::Mask kMask{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};
const oracle::Mask kOther{5, 1, {1, 2, 3, 2, 1}, 9};
constexpr char kCudaOnly[] = "tiled-output";

// Small frames stay on the CPU unless a kernel is named, so all but the last test name one.
class Fallback : public testing::Test {
 protected:
  Fallback() : info_(video_info(GST_VIDEO_FORMAT_NV12, 37, 21)) {}
  ~Fallback() override { succeed(); }

  static void fail(const char* step, const char* code) {
    setenv("FAKE_CUDA_FAILS", step, 1);
    setenv("FAKE_CUDA_CODE", code, 1);
  }
  static void succeed() {
    unsetenv("FAKE_CUDA_FAILS");
    unsetenv("FAKE_CUDA_CODE");
  }

  /// Frame `number` comes, and right.
  void expect_frame(Harness& harness, int number, const oracle::Mask& mask = kMask) {
    const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(number));
    const oracle::Bytes output = harness.filter(frame, number);
    ASSERT_EQ(output.size(), frame.size()) << "frame " << number << " is lost";
    EXPECT_EQ(oracle::differing_samples(info_, output, oracle::expected(info_, frame, mask, {})), 0)
        << "frame " << number;
  }

  static std::string backend_of(Harness& harness) {
    return harness.get_string("active-plan").substr(0, 4);
  }

  GstVideoInfo info_;
};

TEST_F(Fallback, WithoutAFailureCudaRuns) {
  Harness harness(Settings{{"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  for (int n = 1; n <= 3; ++n)
    expect_frame(harness, n);
  EXPECT_EQ(backend_of(harness), "cuda");
  EXPECT_EQ(harness.stat("backend-switches"), 0u);
  EXPECT_TRUE(harness.warnings().empty());
}

TEST_F(Fallback, TheFailedFrameIsDoneAgainOnTheCpu) {
  for (const char* code : {"device-lost", "device-error", "out-of-memory"}) {
    SCOPED_TRACE(code);
    fail("frame:3", code);
    Harness harness(Settings{{"backend", "auto"},
                             {"kernel", "coarsened"},
                             {"mask", kMask.text()},
                             {"border", "replicate"}});
    harness.set_caps(info_);
    for (int n = 1; n <= 6; ++n)
      expect_frame(harness, n);
    EXPECT_EQ(backend_of(harness), "cpu ");
    EXPECT_EQ(harness.stat("backend-switches"), 1u);
    EXPECT_EQ(harness.stat("frames"), 6u);
    const std::vector<Message> warnings = harness.warnings();
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_EQ(warnings[0].domain, GST_RESOURCE_ERROR);
    EXPECT_NE(warnings[0].text.find(code), std::string::npos) << warnings[0].text;
    EXPECT_NE(warnings[0].text.find("goes on on the CPU"), std::string::npos) << warnings[0].text;
  }
}

/// The scale of the moment, not that of the plan, is what the failed frame must get.
TEST_F(Fallback, TheFailedFrameKeepsItsArguments) {
  Harness harness(Settings{{"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  expect_frame(harness, 1);
  harness.set("scale", "0.5");
  harness.set("bias", "0.25");
  fail("frame:2", "device-lost");
  oracle::Options options;
  options.scale_denominator = 2;
  options.bias = 0.25;
  const oracle::Bytes frame = oracle::random_frame(info_, 2);
  EXPECT_EQ(oracle::differing_samples(info_, harness.filter(frame, 2),
                                      oracle::expected(info_, frame, kMask, options)),
            0);
  EXPECT_EQ(backend_of(harness), "cpu ");
}

TEST_F(Fallback, AForcedCudaKernelBecomesAuto) {
  fail("frame:2", "device-lost");
  Harness harness(Settings{
      {"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}, {"kernel", kCudaOnly}});
  harness.set_caps(info_);
  for (int n = 1; n <= 3; ++n)
    expect_frame(harness, n);
  const std::vector<Message> warnings = harness.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].text.find(kCudaOnly), std::string::npos) << warnings[0].text;
  EXPECT_NE(warnings[0].text.find("kernel=auto"), std::string::npos) << warnings[0].text;
  // And stays so: a new mask is planned without a word.
  harness.set("mask", kOther.text());
  expect_frame(harness, 4, kOther);
  EXPECT_TRUE(harness.warnings().empty());
}

TEST_F(Fallback, InsistingOnCudaIsOneError) {
  fail("frame:2", "device-lost");
  Harness harness(Settings{{"backend", "cuda"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  expect_frame(harness, 1);
  EXPECT_EQ(harness.push(oracle::random_frame(info_, 2), 2), GST_FLOW_ERROR);
  EXPECT_EQ(harness.pull_buffer(), nullptr) << "a frame that failed must not be pushed";
  const std::vector<Message> errors = harness.errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].domain, GST_RESOURCE_ERROR);
  EXPECT_EQ(errors[0].code, GST_RESOURCE_ERROR_FAILED);
}

/// Out of memory is not the end of the GPU: new caps may fit.
TEST_F(Fallback, OutOfMemoryHoldsForTheseCapsOnly) {
  fail("prepare", "out-of-memory");
  Harness harness(Settings{{"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  expect_frame(harness, 1);
  EXPECT_EQ(backend_of(harness), "cpu ");
  EXPECT_EQ(harness.warnings().size(), 1u);

  // Still none for the next caps,
  fail("open", "out-of-memory");
  info_ = video_info(GST_VIDEO_FORMAT_NV12, 33, 19);
  harness.set_caps(info_);
  expect_frame(harness, 2);
  EXPECT_EQ(backend_of(harness), "cpu ");

  // but for those after them.
  succeed();
  info_ = video_info(GST_VIDEO_FORMAT_NV12, 24, 16);
  harness.set_caps(info_);
  expect_frame(harness, 3);
  EXPECT_EQ(backend_of(harness), "cuda");
  EXPECT_TRUE(harness.warnings().empty());
}

TEST_F(Fallback, ALostDeviceIsNotAskedAgain) {
  fail("frame:1", "device-lost");
  Harness harness(Settings{{"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  expect_frame(harness, 1);
  succeed();
  info_ = video_info(GST_VIDEO_FORMAT_NV12, 24, 16);
  harness.set_caps(info_);
  expect_frame(harness, 2);
  EXPECT_EQ(backend_of(harness), "cpu ");
}

TEST_F(Fallback, NoDeviceIsSilentForAuto) {
  fail("open", "no-device");
  Harness harness(Settings{{"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  expect_frame(harness, 1);
  EXPECT_EQ(backend_of(harness), "cpu ");
  EXPECT_TRUE(harness.warnings().empty());
  EXPECT_EQ(harness.stat("backend-switches"), 0u);
  // A kernel that only CUDA has cannot be had, and the message says both why.
  harness.set("kernel", kCudaOnly);
  expect_frame(harness, 2);
  const std::vector<Message> warnings = harness.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].text.find(kCudaOnly), std::string::npos) << warnings[0].text;
  EXPECT_NE(warnings[0].text.find("no CUDA: the fake device"), std::string::npos)
      << warnings[0].text;
}

/// A frame that is left because the element stops or flushes is no failure of the device.
TEST_F(Fallback, AStoppedFrameIsNotDoneAgain) {
  Harness harness(Settings{{"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  expect_frame(harness, 1);
  fail("frame:2", "stopped");
  EXPECT_EQ(harness.push(oracle::random_frame(info_, 2), 2), GST_FLOW_FLUSHING);
  EXPECT_EQ(harness.pull_buffer(), nullptr);
  EXPECT_EQ(harness.stat("frames"), 1u);
  expect_frame(harness, 3);
  EXPECT_EQ(backend_of(harness), "cuda");
  EXPECT_TRUE(harness.problems().empty());
}

/// Nor is a plan: the first frame afterwards makes it.
TEST_F(Fallback, AStoppedPlanIsMadeLater) {
  for (const char* backend : {"auto", "cuda"}) {
    SCOPED_TRACE(backend);
    fail("prepare", "stopped");
    Harness harness(
        Settings{{"backend", backend}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
    harness.set_caps(info_);
    EXPECT_EQ(harness.push(oracle::random_frame(info_, 1), 1), GST_FLOW_FLUSHING);
    succeed();
    expect_frame(harness, 2);

    harness.set("mask", kOther.text());
    fail("prepare", "stopped");
    expect_frame(harness, 3);  // The last plan is still there for a frame that is not stopped.
    succeed();
    expect_frame(harness, 4, kOther);
    EXPECT_EQ(backend_of(harness), "cuda");
    EXPECT_TRUE(harness.problems().empty());
  }
}

/// Settings that cannot be served are told then, too.
TEST_F(Fallback, AStoppedPlanMayBeRefusedLater) {
  fail("prepare", "stopped");
  Harness harness(Settings{{"backend", "cuda"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  EXPECT_EQ(harness.push(oracle::random_frame(info_, 1), 1), GST_FLOW_FLUSHING);
  fail("prepare", "device-error");
  EXPECT_NE(harness.push(oracle::random_frame(info_, 2), 2), GST_FLOW_OK);
  EXPECT_EQ(harness.errors().size(), 1u);
}

/// What CUDA cannot serve and the CPU does not have is told in the words of CUDA.
TEST_F(Fallback, ARefusalOfCudaIsNotAFailure) {
  Harness harness(Settings{{"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  expect_frame(harness, 1);
  std::string text = "41x41:";
  for (int i = 0; i < 41 * 41; ++i)
    text += i % 2 == 0 ? " 1" : " 2";
  harness.set("kernel", "tiled-input");
  harness.set("mask", text);
  expect_frame(harness, 2);
  const std::vector<Message> warnings = harness.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].text.find("32x32"), std::string::npos) << warnings[0].text;
  EXPECT_EQ(backend_of(harness), "cuda") << "the last good plan runs on";
}

constexpr char kPageLocked[] = "CudaConvolvePageLockedMemory";

bool is_page_locked(GstBuffer* buffer) {
  return gst_memory_is_type(gst_buffer_peek_memory(buffer, 0), kPageLocked) != FALSE;
}

/// A buffer of the pool that the element offers to whoever sends it frames of `info`.
GstBuffer* offered_buffer(Harness& harness, const GstVideoInfo& info) {
  GstCaps* caps = gst_video_info_to_caps(&info);
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  gst_caps_unref(caps);
  GstBuffer* buffer = nullptr;
  GstBufferPool* pool = nullptr;
  if (gst_pad_peer_query(harness.get()->srcpad, query) &&
      gst_query_get_n_allocation_pools(query) > 0)
    gst_query_parse_nth_allocation_pool(query, 0, &pool, nullptr, nullptr, nullptr);
  if (pool != nullptr && gst_buffer_pool_set_active(pool, TRUE)) {
    gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr);
    gst_buffer_pool_set_active(pool, FALSE);
  }
  gst_clear_object(&pool);
  gst_query_unref(query);
  return buffer;
}

TEST_F(Fallback, FramesLieInPageLockedMemoryWhileCudaRuns) {
  Harness harness(Settings{{"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  const oracle::Bytes frame = oracle::random_frame(info_, 1);
  const oracle::Bytes wanted = oracle::expected(info_, frame, kMask, {});

  GstBuffer* input = offered_buffer(harness, info_);
  ASSERT_NE(input, nullptr);
  EXPECT_TRUE(is_page_locked(input));
  ASSERT_EQ(gst_buffer_fill(input, 0, frame.data(), frame.size()), frame.size());
  ASSERT_EQ(harness.push_buffer(input), GST_FLOW_OK);
  GstBuffer* output = harness.pull_buffer();
  ASSERT_NE(output, nullptr);
  EXPECT_TRUE(is_page_locked(output));
  EXPECT_EQ(oracle::differing_samples(info_, check::picture_of(output, info_), wanted), 0);
  gst_buffer_unref(output);
}

TEST_F(Fallback, WithoutPageLockedMemoryFramesLieInOrdinaryMemory) {
  setenv("FAKE_CUDA_LOCKS", "no", 1);
  Harness harness(Settings{{"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  GstBuffer* input = offered_buffer(harness, info_);
  unsetenv("FAKE_CUDA_LOCKS");
  ASSERT_NE(input, nullptr);
  EXPECT_FALSE(is_page_locked(input));
  gst_buffer_unref(input);
  expect_frame(harness, 1);
  EXPECT_EQ(backend_of(harness), "cuda");
  EXPECT_TRUE(harness.problems().empty());
}

/// A lost device may write at any time what it was given: neither the frame that comes out nor any
/// later one may lie there.
TEST_F(Fallback, WhatALostDeviceMayWriteIsNotUsedAgain) {
  Harness harness(Settings{{"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  expect_frame(harness, 1);
  fail("frame:2", "device-lost");
  const oracle::Bytes frame = oracle::random_frame(info_, 2);
  ASSERT_EQ(harness.push(frame, 2), GST_FLOW_OK);
  GstBuffer* output = harness.pull_buffer();
  ASSERT_NE(output, nullptr);
  EXPECT_FALSE(is_page_locked(output));
  EXPECT_EQ(oracle::differing_samples(info_, check::picture_of(output, info_),
                                      oracle::expected(info_, frame, kMask, {})),
            0);
  gst_buffer_unref(output);
  for (int n = 3; n <= 6; ++n)
    expect_frame(harness, n);
}

/// Frames outlive the element that made their memory.
TEST_F(Fallback, PageLockedFramesOutliveTheElement) {
  const oracle::Bytes frame = oracle::random_frame(info_, 1);
  GstBuffer* output = nullptr;
  {
    Harness harness(Settings{{"backend", "auto"}, {"kernel", "coarsened"}, {"mask", kMask.text()}});
    harness.set_caps(info_);
    ASSERT_EQ(harness.push(frame, 1), GST_FLOW_OK);
    output = harness.pull_buffer();
  }
  ASSERT_NE(output, nullptr);
  EXPECT_TRUE(is_page_locked(output));
  EXPECT_EQ(oracle::differing_samples(info_, check::picture_of(output, info_),
                                      oracle::expected(info_, frame, kMask, {})),
            0);
  gst_buffer_unref(output);
}

/// Nothing has failed: `auto` takes the backend that costs less, at changes of caps and mask.
TEST_F(Fallback, SmallFramesStayOnTheCpuWhereCudaWorks) {
  Harness harness(Settings{{"backend", "auto"}, {"mask", kMask.text()}});
  harness.set_caps(info_);
  expect_frame(harness, 1);
  EXPECT_EQ(backend_of(harness), "cpu ");
  harness.set("kernel", "coarsened");
  expect_frame(harness, 2);
  EXPECT_EQ(backend_of(harness), "cuda") << "a kernel that is named is one of CUDA";
  harness.set("kernel", "auto");
  expect_frame(harness, 3);
  EXPECT_EQ(backend_of(harness), "cpu ");
  info_ = video_info(GST_VIDEO_FORMAT_NV12, 1280, 720);
  harness.set_caps(info_);
  expect_frame(harness, 4);
  EXPECT_EQ(backend_of(harness), "cuda") << "a large frame";
  info_ = video_info(GST_VIDEO_FORMAT_NV12, 640, 480);
  harness.set_caps(info_);
  harness.set("mask", "disk:15");
  harness.filter(oracle::random_frame(info_, 5), 5);
  EXPECT_EQ(backend_of(harness), "cuda") << "a large mask";
  EXPECT_EQ(harness.stat("backend-switches"), 0u);
  EXPECT_TRUE(harness.warnings().empty());
}

}  // namespace
