// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks from files, and the switch that forbids them: in whatever order properties are set, a
// switched-off file is never used, and no message tells what is in one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Message;
using check::Settings;

const oracle::Mask kInFile{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};
const oracle::Mask kTyped{3, 3, {0, 1, 0, 1, 4, 1, 0, 1, 0}, 8};

class MaskFiles : public testing::Test {
 protected:
  void SetUp() override {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base != nullptr ? base : "/tmp") + "/mask-files-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    file_ = directory_ + "/mask";
    std::ofstream(file_) << kInFile.text();
    secret_ = directory_ + "/secret";
    std::ofstream(secret_) << "root:x:0:0:QzjXwv\n";
    element_ = check::make_element();
    bus_ = gst_bus_new();
    gst_element_set_bus(element_, bus_);
  }
  void TearDown() override {
    gst_element_set_state(element_, GST_STATE_NULL);
    gst_element_set_bus(element_, nullptr);
    gst_object_unref(bus_);
    gst_object_unref(element_);
    unlink(file_.c_str());
    unlink(secret_.c_str());
    rmdir(directory_.c_str());
  }

  void set(const char* property, const std::string& value) {
    gst_util_set_object_arg(G_OBJECT(element_), property, value.c_str());
  }
  std::string mask() {
    gchar* text = nullptr;
    g_object_get(element_, "mask", &text, nullptr);
    const std::string mask = text;
    g_free(text);
    return mask;
  }
  bool allowed() {
    gboolean value = FALSE;
    g_object_get(element_, "mask-files", &value, nullptr);
    return value != FALSE;
  }
  /// The error of a start that fails, or "".
  std::string start() {
    const bool ok = gst_element_set_state(element_, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
    const std::vector<Message> errors = check::take_messages(bus_, GST_MESSAGE_ERROR);
    gst_element_set_state(element_, GST_STATE_READY);
    EXPECT_EQ(errors.size(), ok ? 0u : 1u);
    if (ok) return "";
    EXPECT_EQ(errors[0].domain, GST_LIBRARY_ERROR);
    return errors[0].text;
  }

  std::string directory_, file_, secret_;
  GstElement* element_ = nullptr;
  GstBus* bus_ = nullptr;
};

TEST_F(MaskFiles, AreUsedUnlessSwitchedOff) {
  EXPECT_TRUE(allowed());
  set("mask", "@" + file_);
  EXPECT_EQ(mask(), "@" + file_);
  EXPECT_EQ(start(), "");
}

TEST_F(MaskFiles, SwitchedOffBeforeAreNotRead) {
  set("mask-files", "false");
  for (const std::string& path : {file_, secret_, directory_ + "/none", directory_}) {
    set("mask", "@" + path);
    EXPECT_EQ(mask(), "identity");
    EXPECT_EQ(start(), "mask: files are switched off by mask-files=false")
        << "the same whether there is such a file or not";
  }
  set("mask", kTyped.text());
  EXPECT_EQ(start(), "");
}

TEST_F(MaskFiles, SwitchedOffAfterwardsKeepTheElementFromStarting) {
  set("mask", " @" + file_);
  set("mask-files", "false");
  const std::string error = start();
  EXPECT_EQ(error.rfind("mask: files are switched off by mask-files=false", 0), 0u) << error;
  EXPECT_NE(start(), "") << "and so the next time";
  set("mask-matrix", "<<1,2,1>>");
  EXPECT_EQ(start(), "");
}

TEST_F(MaskFiles, InAPipelinesTextTheOrderDoesNotMatter) {
  for (const std::string& settings :
       {"mask=@" + file_ + " mask-files=false", "mask-files=false mask=@" + file_}) {
    SCOPED_TRACE(settings);
    GError* error = nullptr;
    GstElement* pipeline = gst_parse_launch(
        ("videotestsrc num-buffers=1 ! cudaconvolve " + settings + " ! fakesink").c_str(), &error);
    ASSERT_EQ(error, nullptr);
    EXPECT_EQ(gst_element_set_state(pipeline, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
  }
}

TEST_F(MaskFiles, OnceOffStayOff) {
  set("mask-files", "false");
  set("mask-files", "true");
  EXPECT_FALSE(allowed());
  const std::string error = start();
  EXPECT_EQ(error.rfind("mask-files: ", 0), 0u) << error;
  set("mask-files", "false");
  EXPECT_EQ(start(), "");
  set("mask", "@" + file_);
  EXPECT_EQ(mask(), "identity");
}

TEST_F(MaskFiles, SwitchedOffWhilePlayingLeaveTheMaskInForce) {
  const GstVideoInfo info = check::video_info(GST_VIDEO_FORMAT_I420, 48, 32);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  const oracle::Bytes in_file = oracle::expected(info, frame, kInFile, {});
  Harness harness(Settings{{"mask", "@" + file_}});
  harness.set_caps(info);
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame), in_file), 0);
  harness.set("mask-files", "false");
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame), in_file), 0);
  harness.set_caps(check::video_info(GST_VIDEO_FORMAT_RGBA, 20, 10));
  harness.set_caps(info);
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame), in_file), 0);
  EXPECT_TRUE(harness.problems().empty());

  for (const auto& [property, value] :
       {std::pair<const char*, std::string>("mask", "@" + file_), {"mask-files", "true"}}) {
    harness.set(property, value);
    const std::vector<Message> warnings = harness.warnings();
    ASSERT_EQ(warnings.size(), 1u) << property;
    EXPECT_EQ(warnings[0].text.rfind(property, 0), 0u) << warnings[0].text;
  }
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame), in_file), 0);
  harness.set("mask", kTyped.text());
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame),
                                      oracle::expected(info, frame, kTyped, {})),
            0);
  EXPECT_TRUE(harness.problems().empty());
}

/// A file that is being read when the switch falls is not used either.
TEST_F(MaskFiles, SwitchedOffMeanwhileAreNotTaken) {
  std::ofstream(file_) << kInFile.text() << std::string(100000, '\n');
  std::string taken_late;
  for (int n = 0; n < check::scaled(300); ++n) {
    Harness harness;
    std::atomic<bool> go{false};
    std::thread setter([&] {
      while (!go) {
      }
      harness.set("mask", "@" + file_);
    });
    go = true;
    g_usleep(static_cast<gulong>(n % 100));
    g_object_set(harness.element(), "mask-files", FALSE, nullptr);
    const std::string before = harness.get_string("mask");
    setter.join();
    if (harness.get_string("mask") != before) taken_late += " " + std::to_string(n);
    EXPECT_EQ(harness.warnings().size(), before == "identity" ? 1u : 0u);
  }
  EXPECT_EQ(taken_late, "");
}

TEST_F(MaskFiles, NoMessageTellsWhatIsInOne) {
  set("mask", "@" + secret_);
  const std::string error = start();
  EXPECT_NE(error.find("line 1, column "), std::string::npos) << error;
  EXPECT_NE(error.find(secret_), std::string::npos) << "the path is told: " << error;
  for (const char* part : {"root", ":0:0", "Qzj", "Xwv"})
    EXPECT_EQ(error.find(part), std::string::npos) << error;
}

}  // namespace
