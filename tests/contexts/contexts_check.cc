// SPDX-License-Identifier: LGPL-2.1-or-later
// How an element finds and shares a CUDA context, on a stand-in for GStreamer's CUDA library: what
// it has afterwards, and that nobody waits for it while it asks.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/gpu/cuda_context.h"
#include "tests/support/element.h"

namespace {

constexpr char kContextType[] = "gst.cuda.context";
constexpr auto kPatience = std::chrono::seconds(5);

GstPad* static_pad(GstElement* element, const char* name) {
  return gst_element_get_static_pad(element, name);
}

/// The CUDA context in `context`, compared by address only.
gpointer cuda_of(GstContext* context) {
  if (context == nullptr) return nullptr;
  return g_value_get_object(
      gst_structure_get_value(gst_context_get_structure(context), kContextType));
}

/// What `element` answers to a neighbour that asks for a context.
gpointer shared_by(GstElement* element) {
  GstPad* pad = static_pad(element, "src");
  GstQuery* query = gst_query_new_context(kContextType);
  GstContext* found = nullptr;
  if (gst_pad_query(pad, query)) gst_query_parse_context(query, &found);
  const gpointer cuda = cuda_of(found);
  gst_query_unref(query);
  gst_object_unref(pad);
  return cuda;
}

/// True if another thread has its answer from `element` in time.
bool answers_at_once(GstElement* element) {
  auto answered = std::make_shared<std::promise<void>>();
  std::future<void> answer = answered->get_future();
  // A thread that waits for this one is left to end later.
  std::thread([answered, element = GST_ELEMENT(gst_object_ref(element))] {
    shared_by(element);
    gst_object_unref(element);
    answered->set_value();
  }).detach();
  return answer.wait_for(kPatience) == std::future_status::ready;
}

/// An element on the stand-in device, with a neighbour behind it and an application that hears.
class Contexts : public testing::Test {
 protected:
  Contexts() : element_(check::make_element({{"backend", "cuda"}})), bus_(gst_bus_new()) {
    gst_element_set_bus(element_, bus_);
    gst_bus_set_sync_handler(
        bus_,
        [](GstBus*, GstMessage* message, gpointer self) {
          auto& test = *static_cast<Contexts*>(self);
          if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_NEED_CONTEXT && test.need_) test.need_();
          return GST_BUS_PASS;
        },
        this, nullptr);
    neighbour_ = gst_pad_new("sink", GST_PAD_SINK);
    gst_pad_set_element_private(neighbour_, this);
    gst_pad_set_query_function(
        neighbour_, [](GstPad* pad, GstObject*, GstQuery* query) -> gboolean {
          auto& test = *static_cast<Contexts*>(gst_pad_get_element_private(pad));
          if (GST_QUERY_TYPE(query) != GST_QUERY_CONTEXT) return FALSE;
          GstContext* context = test.asked_ ? test.asked_() : nullptr;
          if (context == nullptr) return FALSE;
          gst_query_set_context(query, context);
          return TRUE;
        });
    GstPad* pad = static_pad(element_, "src");
    gst_pad_link_full(pad, neighbour_, GST_PAD_LINK_CHECK_NOTHING);
    gst_object_unref(pad);
    for (GstContext*& context : contexts_)
      context = cudaconvolve::gpu::new_cuda_context();
  }
  ~Contexts() override {
    stop();
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(bus_);
    gst_object_unref(element_);
    gst_object_unref(neighbour_);
    for (GstContext* context : contexts_)
      gst_context_unref(context);
  }

  bool start() {
    return gst_element_set_state(element_, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
  }
  void stop() { gst_element_set_state(element_, GST_STATE_NULL); }

  GstElement* element_;
  GstBus* bus_;
  GstPad* neighbour_;
  GstContext* contexts_[2];
  std::function<void()> need_;          ///< The application hears that a context is needed.
  std::function<GstContext*()> asked_;  ///< The neighbour is asked for one.
};

TEST_F(Contexts, TheNeighbourIsAskedFirst) {
  bool heard = false;
  need_ = [&] { heard = true; };
  asked_ = [&] { return contexts_[0]; };
  ASSERT_TRUE(start());
  EXPECT_FALSE(heard);
  EXPECT_EQ(shared_by(element_), cuda_of(contexts_[0]));
  stop();
  EXPECT_EQ(shared_by(element_), nullptr) << "a stopped element has let it go";
}

TEST_F(Contexts, TheApplicationMayAnswer) {
  need_ = [&] { gst_element_set_context(element_, contexts_[1]); };
  ASSERT_TRUE(start());
  EXPECT_EQ(shared_by(element_), cuda_of(contexts_[1]));
}

TEST_F(Contexts, WithoutAnAnswerThereIsNone) {
  ASSERT_TRUE(start());
  EXPECT_EQ(shared_by(element_), nullptr);
}

TEST_F(Contexts, WhatCameFirstStays) {
  // The application's comes while the neighbour looks for its own.
  asked_ = [&] {
    gst_element_set_context(element_, contexts_[0]);
    return contexts_[1];
  };
  ASSERT_TRUE(start());
  EXPECT_EQ(shared_by(element_), cuda_of(contexts_[0]));
  gst_element_set_context(element_, contexts_[1]);
  EXPECT_EQ(shared_by(element_), cuda_of(contexts_[0]));
}

TEST_F(Contexts, AnotherDevicesContextIsNotTaken) {
  stop();
  g_object_set(element_, "cuda-device-id", 1, nullptr);
  asked_ = [&] { return contexts_[0]; };
  start();
  EXPECT_EQ(shared_by(element_), nullptr);
}

/// Asking is a part of starting, and the settings of this start are fixed by then.
TEST_F(Contexts, APropertySetWhileTheElementStartsIsKeptForTheNextWithAWarning) {
  need_ = [&] { g_object_set(element_, "cuda-device-id", 5, nullptr); };
  ASSERT_TRUE(start());
  const std::vector<check::Message> warnings = check::take_messages(bus_, GST_MESSAGE_WARNING);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].text.find("cuda-device-id"), std::string::npos) << warnings[0].text;
}

/// What the stand-in device says about the context that it is opened in.
std::string g_opened_in;

void hear_opening(GstDebugCategory*, GstDebugLevel, const gchar*, const gchar*, gint, GObject*,
                  GstDebugMessage* message, gpointer) {
  const std::string line = gst_debug_message_get(message);
  const std::string begin = "the fake device is open in the ";
  if (line.rfind(begin, 0) == 0) g_opened_in = line.substr(begin.size());
}

TEST_F(Contexts, TheEngineWorksInTheSharedContextAndInNoOther) {
  gst_debug_set_threshold_for_name("cudaconvolve", GST_LEVEL_INFO);
  gst_debug_add_log_function(hear_opening, nullptr, nullptr);
  ASSERT_TRUE(start());
  EXPECT_EQ(g_opened_in, "primary context") << "nobody had one";
  stop();
  asked_ = [&] { return contexts_[0]; };
  ASSERT_TRUE(start());
  EXPECT_EQ(g_opened_in, "current context");
  gst_debug_remove_log_function(hear_opening);
  gst_debug_unset_threshold_for_name("cudaconvolve");
}

TEST_F(Contexts, AnElementThatAsksItsNeighbourAnswersAtOnce) {
  bool at_once = false;
  asked_ = [&]() -> GstContext* {
    at_once = answers_at_once(element_);
    return nullptr;
  };
  ASSERT_TRUE(start());
  EXPECT_TRUE(at_once);
}

TEST_F(Contexts, AnElementThatAsksTheApplicationAnswersAtOnce) {
  bool at_once = false;
  need_ = [&] { at_once = answers_at_once(element_); };
  ASSERT_TRUE(start());
  EXPECT_TRUE(at_once);
}

}  // namespace
