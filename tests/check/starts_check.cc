// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties that another thread sets while the element starts: each counts for this start, or the
// user is told that it waits for the next.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/element.h"

namespace {

using check::Message;

/// Calls `function` once, in the midst of the next start: when the element logs that it looks for a
/// device.
class DuringStart {
 public:
  explicit DuringStart(std::function<void()> function) : function_(std::move(function)) {
    gst_debug_set_threshold_for_name("cudaconvolve", GST_LEVEL_DEBUG);
    gst_debug_add_log_function(hear, this, nullptr);
  }
  ~DuringStart() {
    gst_debug_remove_log_function_by_data(this);
    gst_debug_unset_threshold_for_name("cudaconvolve");
  }
  DuringStart(const DuringStart&) = delete;
  DuringStart& operator=(const DuringStart&) = delete;

  bool came() const { return came_; }

 private:
  static void hear(GstDebugCategory* category, GstDebugLevel, const gchar*, const gchar*, gint,
                   GObject*, GstDebugMessage*, gpointer data) {
    auto& self = *static_cast<DuringStart*>(data);
    if (std::string(gst_debug_category_get_name(category)) != "cudaconvolve" || self.came_) return;
    self.came_ = true;
    // Another thread, as an application would.
    std::thread(self.function_).join();
  }

  std::function<void()> function_;
  bool came_ = false;
};

class Starts : public testing::Test {
 protected:
  Starts() : element_(check::make_element({{"backend", "auto"}})), bus_(gst_bus_new()) {
    gst_element_set_bus(element_, bus_);
  }
  ~Starts() override {
    gst_element_set_state(element_, GST_STATE_NULL);
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(bus_);
    gst_object_unref(element_);
  }

  void set(const char* property, const char* value) {
    gst_util_set_object_arg(G_OBJECT(element_), property, value);
  }
  bool start() {
    return gst_element_set_state(element_, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
  }
  std::vector<Message> warnings() { return check::take_messages(bus_, GST_MESSAGE_WARNING); }

  GstElement* element_;
  GstBus* bus_;
};

TEST_F(Starts, AReadyPropertySetMeanwhileIsKeptForTheNextStartWithAWarning) {
  const std::pair<const char*, const char*> sets[] = {
      {"threads", "3"}, {"cuda-device-id", "0"}, {"backend", "cpu"}};
  for (const auto& [property, value] : sets) {
    SCOPED_TRACE(property);
    gst_element_set_state(element_, GST_STATE_READY);
    set("backend", "auto");
    {
      const DuringStart during([this, name = property, text = value] { set(name, text); });
      ASSERT_TRUE(start());
      ASSERT_TRUE(during.came()) << "nothing was logged";
    }
    const std::vector<Message> told = warnings();
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].text.rfind(property, 0), 0u) << told[0].text;
  }
}

TEST_F(Starts, AnyOtherPropertySetMeanwhileIsTakenWithoutAWord) {
  const DuringStart during([this] { set("mask", "box:3"); });
  ASSERT_TRUE(start());
  EXPECT_TRUE(warnings().empty());
}

/// A value that is refused meanwhile is a warning of this start, not an error of the next.
TEST_F(Starts, AValueRefusedMeanwhileIsAWarning) {
  {
    const DuringStart during([this] { set("mask", "no-such-mask"); });
    ASSERT_TRUE(start());
  }
  EXPECT_EQ(warnings().size(), 1u);
  gst_element_set_state(element_, GST_STATE_READY);
  EXPECT_TRUE(start());
}

TEST_F(Starts, AFailedStartLeavesTheElementStopped) {
  set("backend", "cuda");
  set("cuda-device-id", "99");
  ASSERT_FALSE(start());
  gst_element_set_state(element_, GST_STATE_READY);
  set("backend", "cpu");
  EXPECT_TRUE(warnings().empty()) << "nothing is started that could wait for the next start";
  EXPECT_TRUE(start());
}

}  // namespace
