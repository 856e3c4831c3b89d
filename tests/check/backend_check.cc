// SPDX-License-Identifier: LGPL-2.1-or-later
// Which backend runs, and what the user is told when the wanted one is not there.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Message;
using check::Settings;
using check::video_info;

/// An element in state PAUSED or the errors it posted instead.
struct Start {
  bool ok = false;
  std::vector<Message> errors;
};

Start start(const Settings& settings) {
  Start result;
  GstElement* element = check::make_element(settings);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  result.ok = gst_element_set_state(element, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
  result.errors = check::take_messages(bus, GST_MESSAGE_ERROR);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  gst_object_unref(element);
  return result;
}

bool have_gpu() {
  return start({{"backend", "cuda"}, {"mask", "box:3"}}).ok;
}

std::string plan_of(Harness& harness, int width = 64, int height = 48) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, width, height);
  harness.set_caps(info);
  harness.filter(oracle::random_frame(info, 1));
  return harness.get_string("active-plan");
}

TEST(Gpu, IsThereIfRequired) {
  if (check::gpu_required()) {
    EXPECT_TRUE(have_gpu());
  }
}

/// Without a driver, without a device, or without that device.
TEST(Backend, CudaThatIsNotThereIsOneClearError) {
  std::vector<Settings> missing = {{{"backend", "cuda"}, {"cuda-device-id", "99"}}};
  if (!have_gpu()) missing.push_back({{"backend", "cuda"}, {"mask", "gaussian:2"}});
  for (const Settings& settings : missing) {
    const Start started = start(settings);
    EXPECT_FALSE(started.ok);
    ASSERT_EQ(started.errors.size(), 1u);
    EXPECT_EQ(started.errors[0].domain, GST_RESOURCE_ERROR);
    EXPECT_EQ(started.errors[0].code, GST_RESOURCE_ERROR_NOT_FOUND);
    EXPECT_NE(started.errors[0].text.find("backend=cuda"), std::string::npos);
    std::printf("    %s\n", started.errors[0].text.c_str());
  }
}

TEST(Backend, AutoPicksCudaIfADeviceWorksElseTheCpu) {
  Harness harness({{"backend", "auto"}, {"mask", "gaussian:2"}});
  EXPECT_EQ(plan_of(harness, 1280, 720).rfind(have_gpu() ? "cuda " : "cpu ", 0), 0u);
  EXPECT_TRUE(harness.warnings().empty());
  EXPECT_EQ(harness.stat("backend-switches"), 0u);
}

TEST(Backend, AutoLeavesSmallFramesToTheCpu) {
  Harness harness({{"backend", "auto"}, {"mask", "gaussian:2"}});
  EXPECT_EQ(plan_of(harness, 32, 24).rfind("cpu ", 0), 0u);
  EXPECT_TRUE(harness.warnings().empty());
  EXPECT_EQ(harness.stat("backend-switches"), 0u);
}

TEST(Backend, CpuRunsOnTheCpu) {
  Harness harness({{"backend", "cpu"}, {"mask", "gaussian:2"}});
  EXPECT_EQ(plan_of(harness).rfind("cpu ", 0), 0u);
}

TEST(Kernel, OfCudaOnlyIsTakenThereOrAnErrorThatSaysWhichCan) {
  const bool gpu = have_gpu();
  Settings settings = {{"backend", "auto"}, {"kernel", "tiled-input"}, {"mask", "gaussian:2"}};
  if (gpu) {
    Harness harness(settings);
    EXPECT_NE(plan_of(harness).find("tiled-input"), std::string::npos);
    return;
  }
  Harness harness(settings);
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 64, 48);
  harness.set_caps(info);
  EXPECT_NE(harness.push(oracle::random_frame(info, 1)), GST_FLOW_OK);
  EXPECT_EQ(harness.pull_buffer(), nullptr);
  const std::vector<Message> errors = harness.errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].text.find("separable"), std::string::npos) << errors[0].text;
  std::printf("    %s\n", errors[0].text.c_str());
}

TEST(Kernel, ForcedIsTheOneThatRuns) {
  for (const char* kernel : {"basic", "coarsened", "separable", "box", "shift"}) {
    const char* mask = std::string(kernel) == "shift" ? "3x1: 1 0 0" : "box:5";
    Harness harness({{"kernel", kernel}, {"mask", mask}});
    // The plan names the form, which begins with the kernel's name.
    EXPECT_NE(plan_of(harness).find(std::string(" ") + kernel), std::string::npos)
        << plan_of(harness);
  }
}

TEST(Threads, DoNotChangeAByte) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_RGBA, 127, 65);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  oracle::Bytes first;
  for (const char* threads : {"1", "2", "3", "8", "0"}) {
    Harness harness({{"backend", "cpu"}, {"threads", threads}, {"mask", "gaussian:3"}});
    harness.set_caps(info);
    const oracle::Bytes output = harness.filter(frame);
    if (first.empty()) first = output;
    EXPECT_EQ(output, first) << threads;
  }
}

}  // namespace
