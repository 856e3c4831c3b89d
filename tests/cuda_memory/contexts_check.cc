// SPDX-License-Identifier: LGPL-2.1-or-later
// How an element finds and shares a CUDA context, on a stand-in for the driver: what it has
// afterwards, and that nobody waits for it while it asks.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda_memory/fake_driver.h"
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

/// A pad beside an element's, which answers when it is asked for a context.
class Neighbour {
 public:
  Neighbour(GstElement* element, const char* side)
      : beside_(static_pad(element, side)),
        pad_(gst_pad_new(
            nullptr, gst_pad_get_direction(beside_) == GST_PAD_SRC ? GST_PAD_SINK : GST_PAD_SRC)) {
    gst_pad_set_element_private(pad_, this);
    gst_pad_set_query_function(pad_, [](GstPad* pad, GstObject*, GstQuery* query) -> gboolean {
      auto& self = *static_cast<Neighbour*>(gst_pad_get_element_private(pad));
      if (GST_QUERY_TYPE(query) != GST_QUERY_CONTEXT) return FALSE;
      GstContext* context = self.asked ? self.asked() : nullptr;
      if (context == nullptr) return FALSE;
      gst_query_set_context(query, context);
      return TRUE;
    });
    if (GST_PAD_IS_SRC(pad_))
      gst_pad_link_full(pad_, beside_, GST_PAD_LINK_CHECK_NOTHING);
    else
      gst_pad_link_full(beside_, pad_, GST_PAD_LINK_CHECK_NOTHING);
  }
  ~Neighbour() {
    gst_object_unref(beside_);
    gst_object_unref(pad_);
  }
  Neighbour(const Neighbour&) = delete;
  Neighbour& operator=(const Neighbour&) = delete;

  std::function<GstContext*()> asked;

 private:
  GstPad* beside_;
  GstPad* pad_;
};

/// An element on the stand-in device, with neighbours and an application that hears.
class Contexts : public testing::Test {
 protected:
  Contexts()
      : element_(check::make_element({{"backend", "cuda"}})),
        behind_(element_, "src"),
        before_(element_, "sink"),
        bus_(gst_bus_new()) {
    gst_element_set_bus(element_, bus_);
    gst_bus_set_sync_handler(
        bus_,
        [](GstBus*, GstMessage* message, gpointer self) {
          auto& test = *static_cast<Contexts*>(self);
          if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_NEED_CONTEXT && test.need_) test.need_();
          return GST_BUS_PASS;
        },
        this, nullptr);
    for (GstContext*& context : contexts_)
      context = cudaconvolve::gpu::new_cuda_context();
  }
  ~Contexts() override {
    stop();
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(bus_);
    gst_object_unref(element_);
    for (GstContext* context : contexts_)
      gst_context_unref(context);
  }

  bool start() {
    return gst_element_set_state(element_, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
  }
  void stop() { gst_element_set_state(element_, GST_STATE_NULL); }

  GstElement* element_;
  Neighbour behind_, before_;
  GstBus* bus_;
  GstContext* contexts_[2];
  std::function<void()> need_;  ///< The application hears that a context is needed.
};

TEST_F(Contexts, TheNeighboursAreAskedFirst) {
  bool heard = false;
  need_ = [&] { heard = true; };
  for (Neighbour* neighbour : {&behind_, &before_}) {
    SCOPED_TRACE(neighbour == &behind_ ? "behind" : "before");
    neighbour->asked = [&] { return contexts_[0]; };
    ASSERT_TRUE(start());
    EXPECT_FALSE(heard);
    // An element that has none would ask on.
    neighbour->asked = nullptr;
    EXPECT_EQ(shared_by(element_), cuda_of(contexts_[0]));
    stop();
    EXPECT_EQ(shared_by(element_), nullptr) << "a stopped element has let it go";
  }
}

/// The thread that starts the element has its own context again afterwards.
TEST_F(Contexts, NoContextStaysCurrent) {
  behind_.asked = [&] { return contexts_[0]; };
  ASSERT_TRUE(start());
  EXPECT_EQ(fake_driver_current(), nullptr);
  stop();
  EXPECT_EQ(fake_driver_current(), nullptr);
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
  behind_.asked = [&] {
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
  behind_.asked = [&] { return contexts_[0]; };
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
  behind_.asked = [&] { return contexts_[0]; };
  ASSERT_TRUE(start());
  EXPECT_EQ(g_opened_in, "current context");
  gst_debug_remove_log_function(hear_opening);
  gst_debug_unset_threshold_for_name("cudaconvolve");
}

TEST_F(Contexts, AnElementThatAsksItsNeighbourAnswersAtOnce) {
  bool at_once = false;
  behind_.asked = [&]() -> GstContext* {
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
