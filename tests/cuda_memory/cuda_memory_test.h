// SPDX-License-Identifier: LGPL-2.1-or-later
// What the tests of frames in CUDA memory share: nothing of the driver's may be left when one ends.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/cuda_memory/cuda_line.h"
#include "tests/cuda_memory/fake_driver.h"

namespace cuda_frames {

inline const oracle::Mask kMask{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};
inline const oracle::Mask kOther{5, 1, {1, 2, 3, 2, 1}, 9};
inline const oracle::Mask kIdentity{1, 1, {1}, 1};
inline constexpr Memories kCudaOnly{true, true};

class CudaMemory : public testing::Test {
 protected:
  CudaMemory()
      : info_(check::video_info(GST_VIDEO_FORMAT_NV12, 36, 22)),
        blocks_before_(fake_driver_blocks()) {}
  ~CudaMemory() override {
    for (const char* name : {"FAKE_CUDA_MS", "FAKE_CUDA_FAILS", "FAKE_CUDA_CODE"})
      unsetenv(name);
    fake_driver_allow(-1);
    fake_driver_delay(0);
    if (lost_) return;
    EXPECT_EQ(fake_driver_blocks(), blocks_before_) << "device memory is left";
    EXPECT_EQ(fake_driver_contexts(), 0) << "a context is left";
  }

  /// What a lost device may still write is kept for good.
  void device_is_lost() { lost_ = true; }

  static void fail(const std::string& step, const char* code) {
    setenv("FAKE_CUDA_FAILS", step.c_str(), 1);
    setenv("FAKE_CUDA_CODE", code, 1);
  }
  static check::Settings settings(const oracle::Mask& mask = kMask, int depth = 0) {
    return {{"backend", "auto"}, {"mask", mask.text()}, {"async-depth", std::to_string(depth)}};
  }
  static bool offers_cuda_memory(GstElement* element, const char* pad_name) {
    GstPad* pad = gst_element_get_static_pad(element, pad_name);
    GstCaps* caps = gst_pad_query_caps(pad, nullptr);
    bool offers = false;
    for (guint n = 0; n < gst_caps_get_size(caps); ++n)
      offers =
          offers || gst_caps_features_contains(gst_caps_get_features(caps, n), "memory:CUDAMemory");
    gst_caps_unref(caps);
    gst_object_unref(pad);
    return offers;
  }

  GstVideoInfo info_;

 private:
  int blocks_before_;
  bool lost_ = false;
};

/// What a sink pad answers to those who ask for its caps. A change is not announced, as of an
/// element that takes either memory and is asked again.
class Downstream {
 public:
  explicit Downstream(GstHarness* harness) {
    gst_pad_add_probe(
        harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
        [](GstPad*, GstPadProbeInfo* info, gpointer self) {
          return static_cast<Downstream*>(self)->answer(GST_PAD_PROBE_INFO_QUERY(info));
        },
        this, nullptr);
  }
  bool takes_system_memory = false;
  bool prefers_system_memory = false;

 private:
  GstPadProbeReturn answer(GstQuery* query) const {
    if (GST_QUERY_TYPE(query) != GST_QUERY_CAPS && GST_QUERY_TYPE(query) != GST_QUERY_ACCEPT_CAPS)
      return GST_PAD_PROBE_OK;
    const std::string cuda = "video/x-raw(memory:CUDAMemory)", system = "video/x-raw";
    GstCaps* ours = gst_caps_from_string((prefers_system_memory ? system + ";" + cuda
                                          : takes_system_memory ? cuda + ";" + system
                                                                : cuda)
                                             .c_str());
    GstCaps* theirs = nullptr;
    if (GST_QUERY_TYPE(query) == GST_QUERY_CAPS) {
      gst_query_parse_caps(query, &theirs);
      if (theirs != nullptr) {
        // In its own order.
        GstCaps* both = gst_caps_intersect_full(ours, theirs, GST_CAPS_INTERSECT_FIRST);
        gst_caps_unref(ours);
        ours = both;
      }
      gst_query_set_caps_result(query, ours);
    } else {
      gst_query_parse_accept_caps(query, &theirs);
      gst_query_set_accept_caps_result(query, gst_caps_is_subset(theirs, ours));
    }
    gst_caps_unref(ours);
    return GST_PAD_PROBE_HANDLED;
  }
};

}  // namespace cuda_frames
