// SPDX-License-Identifier: LGPL-2.1-or-later
// The property table as GObject shows it: names, defaults, ranges, when each may change, and what a
// value reads back as.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Settings;

enum class Changes { kAnyTime, kReady, kNever };

struct Row {
  const char* name;
  const char* default_value;  ///< As gst_value_serialize or the nick; nullptr = not compared.
  Changes changes;
  bool controllable = false;
};

const Row kTable[] = {
    {"mask", "identity", Changes::kAnyTime},
    {"mask-matrix", nullptr, Changes::kAnyTime},
    {"operation", "correlate", Changes::kAnyTime},
    {"normalize", "auto", Changes::kAnyTime},
    {"scale", "1", Changes::kAnyTime, true},
    {"bias", "0", Changes::kAnyTime, true},
    {"border", "replicate", Changes::kAnyTime},
    {"channels", "luma+chroma", Changes::kAnyTime},
    {"alpha-mode", "straight", Changes::kAnyTime},
    {"mask-files", "true", Changes::kAnyTime},
    {"kernel", "auto", Changes::kAnyTime},
    {"tile-width", "0", Changes::kAnyTime},
    {"backend", "auto", Changes::kReady},
    {"cuda-device-id", "-1", Changes::kReady},
    {"threads", "0", Changes::kReady},
    {"async-depth", "-1", Changes::kAnyTime},
    {"active-plan", nullptr, Changes::kNever},
    {"stats", nullptr, Changes::kNever},
};

/// The value as gst-launch would take it: nicks of enums and flags, not their descriptions.
std::string text_of(const GValue* value) {
  if (G_VALUE_HOLDS_STRING(value))
    return g_value_get_string(value) != nullptr ? g_value_get_string(value) : "";
  if (G_VALUE_HOLDS_FLAGS(value)) {
    std::string text;
    const auto* flags = static_cast<GFlagsClass*>(g_type_class_peek(G_VALUE_TYPE(value)));
    for (guint i = 0; i < flags->n_values; ++i)
      if ((g_value_get_flags(value) & flags->values[i].value) != 0)
        text += (text.empty() ? "" : "+") + std::string(flags->values[i].value_nick);
    return text;
  }
  gchar* serialized = gst_value_serialize(value);
  const std::string text = serialized != nullptr ? serialized : "";
  g_free(serialized);
  return text;
}

class Properties : public testing::Test {
 protected:
  Properties() : element_(gst_element_factory_make("cudaconvolve", nullptr)) {
    gst_object_ref_sink(element_);
  }
  ~Properties() override { gst_object_unref(element_); }

  GParamSpec* spec(const char* name) {
    return g_object_class_find_property(G_OBJECT_GET_CLASS(element_), name);
  }
  void set(const char* name, const char* value) {
    gst_util_set_object_arg(G_OBJECT(element_), name, value);
  }
  std::string text(const char* name) {
    GValue value = G_VALUE_INIT;
    g_object_get_property(G_OBJECT(element_), name, &value);
    const std::string result = text_of(&value);
    g_value_unset(&value);
    return result;
  }
  GstElement* element_;
};

TEST_F(Properties, TableIsWhatGObjectShows) {
  for (const Row& row : kTable) {
    SCOPED_TRACE(row.name);
    GParamSpec* property = spec(row.name);
    ASSERT_NE(property, nullptr);
    EXPECT_NE(std::string(g_param_spec_get_nick(property)), "");
    EXPECT_GT(std::string(g_param_spec_get_blurb(property)).size(), 10u);
    if (row.default_value != nullptr) {
      EXPECT_EQ(text_of(g_param_spec_get_default_value(property)), row.default_value);
    }
    EXPECT_EQ((property->flags & GST_PARAM_CONTROLLABLE) != 0, row.controllable);
    EXPECT_EQ((property->flags & G_PARAM_WRITABLE) != 0, row.changes != Changes::kNever);
    EXPECT_EQ((property->flags & GST_PARAM_MUTABLE_PLAYING) != 0, row.changes == Changes::kAnyTime);
    EXPECT_EQ((property->flags & GST_PARAM_MUTABLE_READY) != 0, row.changes == Changes::kReady);
  }
}

TEST_F(Properties, NothingElseIsThere) {
  guint count = 0;
  GParamSpec** all = g_object_class_list_properties(G_OBJECT_GET_CLASS(element_), &count);
  guint own = 0;
  for (guint i = 0; i < count; ++i)
    own += all[i]->owner_type == G_OBJECT_TYPE(element_) ? 1 : 0;
  g_free(all);
  EXPECT_EQ(own, G_N_ELEMENTS(kTable));
}

TEST_F(Properties, DefaultsAreTheValuesOfANewElement) {
  for (const Row& row : kTable) {
    if (row.default_value == nullptr) continue;
    EXPECT_EQ(text(row.name), row.default_value) << row.name;
  }
  EXPECT_EQ(text("active-plan"), "");
}

TEST_F(Properties, RangesAreTheDocumentedOnes) {
  const auto* scale = G_PARAM_SPEC_DOUBLE(spec("scale"));
  EXPECT_EQ(scale->minimum, -1024);
  EXPECT_EQ(scale->maximum, 1024);
  const auto* bias = G_PARAM_SPEC_DOUBLE(spec("bias"));
  EXPECT_EQ(bias->minimum, -1);
  EXPECT_EQ(bias->maximum, 1);
  EXPECT_EQ(G_PARAM_SPEC_INT(spec("cuda-device-id"))->minimum, -1);
  EXPECT_EQ(G_PARAM_SPEC_UINT(spec("tile-width"))->maximum, 64u);
}

TEST_F(Properties, BordersShowTheirPattern) {
  const std::map<std::string, std::string> patterns = {{"replicate", "aaa|abcd|ddd"},
                                                       {"zero", "000|abcd|000"},
                                                       {"reflect", "cba|abcd|dcb"},
                                                       {"mirror", "dcb|abcd|cba"},
                                                       {"wrap", "bcd|abcd|abc"}};
  const GEnumClass* border = G_PARAM_SPEC_ENUM(spec("border"))->enum_class;
  ASSERT_EQ(border->n_values, patterns.size());
  for (guint i = 0; i < border->n_values; ++i)
    EXPECT_EQ(std::string(border->values[i].value_name)
                  .rfind(patterns.at(border->values[i].value_nick), 0),
              0u);
}

TEST_F(Properties, KernelsListTheirBackends) {
  const GEnumClass* kernel = G_PARAM_SPEC_ENUM(spec("kernel"))->enum_class;
  EXPECT_GE(kernel->n_values, 8u);
  for (guint i = 0; i < kernel->n_values; ++i)
    EXPECT_NE(std::string(kernel->values[i].value_name).find("cuda"), std::string::npos)
        << kernel->values[i].value_nick;
}

TEST_F(Properties, EveryValueReadsBack) {
  const std::pair<const char*, const char*> values[] = {
      {"operation", "convolve"}, {"normalize", "abs"}, {"scale", "-2.5"},
      {"bias", "0.125"},         {"border", "wrap"},   {"channels", "luma+alpha"},
      {"kernel", "separable"},   {"tile-width", "16"}, {"backend", "cpu"},
      {"cuda-device-id", "3"},   {"threads", "2"},     {"alpha-mode", "premultiplied"},
      {"async-depth", "8"},
  };
  for (const auto& [name, value] : values) {
    set(name, value);
    EXPECT_EQ(text(name), value);
  }
}

TEST_F(Properties, MaskAndMatrixAreOneValue) {
  set("mask-matrix", "<<0,-1,0>,<-1,5.5,-1>,<0,-1,1/2>>");
  EXPECT_EQ(
      text("mask-matrix"),
      "< (array)< (double)0, (double)-1, (double)0 >, (array)< (double)-1, (double)5.5, (double)-1 "
      ">, (array)< (double)0, (double)-1, (double)0.5 > >");
  const std::string as_text = text("mask");
  const std::string as_matrix = text("mask-matrix");
  set("mask", "identity");
  EXPECT_EQ(text("mask"), "identity");
  EXPECT_EQ(text("mask-matrix"), "< (array)< (double)1 > >");
  set("mask", as_text.c_str());
  EXPECT_EQ(text("mask-matrix"), as_matrix) << "the text of a matrix must mean the matrix";
}

TEST_F(Properties, ATypedDivisorIsInTheMatrix) {
  set("mask", "3x1: 1 2 1 / 4");
  EXPECT_EQ(text("mask-matrix"), "< (array)< (double)0.25, (double)0.5, (double)0.25 > >");
}

TEST_F(Properties, MasksTooLargeForAMatrixReadBackEmpty) {
  set("mask", "gaussian:100");
  EXPECT_EQ(text("mask-matrix"), "<  >");
  EXPECT_EQ(text("mask"), "gaussian:100");
}

TEST_F(Properties, SettingOneDressNotifiesTheOther) {
  int notified = 0;
  g_signal_connect(
      element_, "notify::mask-matrix",
      G_CALLBACK(+[](GObject*, GParamSpec*, gpointer count) { ++*static_cast<int*>(count); }),
      &notified);
  set("mask", "box:3");
  EXPECT_EQ(notified, 1);
}

TEST(ActivePlan, IsNotifiedOnChangeAndGoneAfterStop) {
  Harness harness(Settings{{"mask", "gaussian:2"}});
  int notified = 0;
  g_signal_connect(
      harness.element(), "notify::active-plan",
      G_CALLBACK(+[](GObject*, GParamSpec*, gpointer count) { ++*static_cast<int*>(count); }),
      &notified);
  EXPECT_EQ(harness.get_string("active-plan"), "");
  const GstVideoInfo info = check::video_info(GST_VIDEO_FORMAT_I420, 64, 48);
  harness.set_caps(info);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  harness.filter(frame);
  EXPECT_EQ(notified, 1);
  const std::string plan = harness.get_string("active-plan");
  EXPECT_NE(plan.find("13x13"), std::string::npos) << plan;
  harness.filter(frame);
  EXPECT_EQ(notified, 1);
  harness.set("mask", "identity");
  harness.filter(frame);
  EXPECT_EQ(notified, 2);
  EXPECT_NE(harness.get_string("active-plan").find("passthrough"), std::string::npos);
  gst_element_set_state(harness.element(), GST_STATE_NULL);
  EXPECT_EQ(harness.get_string("active-plan"), "");
  EXPECT_EQ(notified, 3);
}

TEST(Stats, CountFramesAndBytes) {
  Harness harness(Settings{{"mask", "box:3"}});
  const GstVideoInfo info = check::video_info(GST_VIDEO_FORMAT_RGBA, 20, 10);
  harness.set_caps(info);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  harness.filter(frame);
  harness.filter(frame);
  harness.set("mask", "identity");
  harness.filter(frame);
  EXPECT_EQ(harness.stat("frames"), 3u);
  EXPECT_EQ(harness.stat("passthrough-frames"), 1u);
  EXPECT_EQ(harness.stat("backend-switches"), 0u);
  EXPECT_EQ(harness.stat("bytes-in"), 3 * frame.size());
  EXPECT_EQ(harness.stat("bytes-out"), 3 * frame.size());
  harness.stat("kernel-ns-last");
}

}  // namespace
