// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory that ends inside the element, at each allocation of each of its entries in turn: an error
// on the bus or nothing, no exception in GStreamer's C code, and the element works on.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <new>
#include <utility>

#include "tests/support/element.h"

namespace {

/// Allocations of this thread until one fails; negative: none does.
thread_local int allocations_left = -1;
thread_local bool failed = false;

void* take(std::size_t size) {
  if (allocations_left >= 0 && allocations_left-- == 0) {
    failed = true;
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

// The module, too, takes its memory here: a program's operators come before the library's.
void* operator new(std::size_t size) {
  return take(size);
}
void* operator new[](std::size_t size) {
  return take(size);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace {

using check::Harness;
using check::Settings;

constexpr int kMostAllocations = 2000;
constexpr const char* kMask = "1 2 3; 4 5 6; 7 8 10";

/// Runs `entry` with its first allocation failing, then its second, and so on until it needs no
/// more; gives how many failed. An exception that leaves the element ends the process.
int exhaust(const std::function<void()>& entry) {
  for (int n = 0; n < kMostAllocations; ++n) {
    failed = false;
    allocations_left = n;
    [&entry]() noexcept { entry(); }();
    allocations_left = -1;
    if (!failed) return n;
  }
  ADD_FAILURE() << "an entry that takes memory again and again";
  return kMostAllocations;
}

class Exhausted : public testing::Test {
 protected:
  Exhausted()
      : info_(check::video_info(GST_VIDEO_FORMAT_I420, 64, 48)),
        frame_(oracle::random_frame(info_, 1)) {}

  /// After all failures the next start, caps and frame are as ever.
  void expect_works(Harness& harness) {
    harness.problems();
    gst_element_set_state(harness.element(), GST_STATE_NULL);
    gst_element_set_state(harness.element(), GST_STATE_PLAYING);
    harness.set_caps(info_);
    harness.set("mask", kMask);
    EXPECT_EQ(harness.filter(frame_).size(), frame_.size());
    EXPECT_TRUE(harness.problems().empty());
  }

  GstVideoInfo info_;
  oracle::Bytes frame_;
};

TEST_F(Exhausted, FramesAndPassthrough) {
  // A frame that is passed on takes no memory at all.
  for (const auto& [mask, filters] : {std::pair{kMask, true}, {"0 0 0; 0 1 0; 0 0 0 / 1", false}}) {
    SCOPED_TRACE(mask);
    Harness harness(Settings{{"mask", mask}, {"backend", "cpu"}});
    harness.set_caps(info_);
    harness.filter(frame_);
    GstBuffer* buffer = check::make_buffer(frame_);
    const int failures = exhaust([&] { gst_harness_push(harness.get(), gst_buffer_ref(buffer)); });
    EXPECT_EQ(failures > 0, filters) << failures;
    gst_buffer_unref(buffer);
    while (GstBuffer* output = harness.pull_buffer())
      gst_buffer_unref(output);
    expect_works(harness);
  }
}

TEST_F(Exhausted, Properties) {
  Harness harness(Settings{{"mask", kMask}, {"backend", "cpu"}});
  EXPECT_GT(exhaust([&] { g_object_set(harness.element(), "mask", "gaussian:2", nullptr); }), 0);
  // An entry that the message quotes, with a text of GLib's that is to be freed.
  EXPECT_GT(exhaust([&] {
              gst_util_set_object_arg(G_OBJECT(harness.element()), "mask-matrix",
                                      "<<1,2>,<3,abc>>");
            }),
            0);
  harness.set("mask", kMask);
  // Whoever reads a property gets a copy of GLib's; the element itself makes none.
  EXPECT_EQ(exhaust([&] {
              gchar* text = nullptr;
              g_object_get(harness.element(), "mask", &text, nullptr);
              g_free(text);
            }),
            0);
  expect_works(harness);
}

TEST_F(Exhausted, Contexts) {
  Harness harness(Settings{{"mask", kMask}, {"backend", "cpu"}});
  GstContext* context = gst_context_new("a.foreign.context", TRUE);
  exhaust([&] { gst_element_set_context(harness.element(), context); });
  gst_context_unref(context);
  expect_works(harness);
}

TEST_F(Exhausted, CapsAndQueries) {
  Harness harness(Settings{{"mask", kMask}, {"backend", "cpu"}});
  harness.set_caps(info_);
  GstCaps* caps = gst_video_info_to_caps(&info_);
  GstPad* pad = gst_element_get_static_pad(harness.element(), "sink");
  exhaust([&] { gst_caps_unref(gst_pad_query_caps(pad, caps)); });
  exhaust([&] { gst_pad_query_accept_caps(pad, caps); });
  exhaust([&] {
    GstQuery* query = gst_query_new_allocation(caps, TRUE);
    gst_pad_query(pad, query);
    gst_query_unref(query);
  });
  gst_object_unref(pad);
  gst_caps_unref(caps);
  int width = 64;
  EXPECT_GT(exhaust([&] {
              GstVideoInfo other = check::video_info(GST_VIDEO_FORMAT_I420, ++width, 48);
              GstCaps* changed = gst_video_info_to_caps(&other);
              gst_pad_push_event(harness.get()->srcpad, gst_event_new_caps(changed));
              gst_caps_unref(changed);
            }),
            0);
  expect_works(harness);
}

TEST_F(Exhausted, States) {
  Harness harness(Settings{{"mask", kMask}, {"backend", "cpu"}});
  EXPECT_GT(exhaust([&] {
              gst_element_set_state(harness.element(), GST_STATE_READY);
              gst_element_set_state(harness.element(), GST_STATE_PAUSED);
            }),
            0);
  expect_works(harness);
}

}  // namespace
