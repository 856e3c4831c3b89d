// SPDX-License-Identifier: LGPL-2.1-or-later
// What cannot be served: an element error at start-up, one warning while playing, and then the old
// setting goes on.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Message;
using check::Settings;
using check::video_info;

struct Bad {
  const char* name;
  check::Settings settings;
  const char* says;     ///< Part of the message that tells the user what is wrong.
  bool at_once = true;  ///< Refused when set and reads back unchanged; else when planned.
};

std::string big_mask(int side) {
  std::string text = std::to_string(side) + "x" + std::to_string(side) + ":";
  for (int i = 0; i < side * side; ++i)
    text += i % 2 == 0 ? " 1" : " 2";
  return text;
}

std::string wide_matrix(int width) {
  std::string text = "<<1";
  for (int i = 1; i < width; ++i)
    text += ",1";
  return text + ">>";
}

const char kRank2[] = "1 2 3 4 5 6 7 8 1";

const std::vector<Bad>& bad_inputs() {
  static const std::vector<Bad> all = {
      {"WrongCount", {{"mask", "1 2 3"}}, "3 numbers"},
      {"RaggedRows", {{"mask", "1 2 1; 2 4; 1 2 1"}}, "line 1"},
      {"Empty", {{"mask", ""}}, "mask"},
      {"NotANumber", {{"mask", "0 nan 0 0 1 0 0 0 0"}}, "nan"},
      {"Infinite", {{"mask", "inf"}}, "inf"},
      {"Overflow", {{"mask", "1e999"}}, "1e999"},
      {"TwoCommas", {{"mask", "1,,2"}}, "column"},
      {"DecimalCommas", {{"mask", "3x1: 0,5 1 0,5"}}, "3x1"},
      {"LoneRatioAtTheEnd", {{"mask", "1 2 1; 2 4 2; 1 2 1/16"}}, "16"},
      {"TooLarge", {{"mask", big_mask(300)}}, "255"},
      {"UnknownName", {{"mask", "gausian:2"}}, "gaussian"},
      {"ArgumentOutOfRange", {{"mask", "gaussian:-1"}}, "gaussian"},
      {"MissingFile", {{"mask", "@/nonexistent/mask.txt"}}, "/nonexistent/mask.txt"},
      {"MatrixRagged", {{"mask-matrix", "<<1,2>,<3>>"}}, "row 2 has 1"},
      {"MatrixMixed", {{"mask-matrix", "<<1,2>,<3,abc>>"}}, "abc is not a number"},
      {"MatrixFlat", {{"mask-matrix", "<1,2,3>"}}, "row 1 is no array"},
      {"MatrixEmpty", {{"mask-matrix", "<>"}}, "no rows"},
      {"MatrixEmptyRow", {{"mask-matrix", "<<>>"}}, "row 1 has 0"},
      {"MatrixTooWide", {{"mask-matrix", wide_matrix(256)}}, "256x1"},
      {"MatrixInfinite", {{"mask-matrix", "<<1,inf>>"}}, "row 1, column 2"},
      {"MatrixTooLargeANumber", {{"mask-matrix", "<<1e39>>"}}, "up to 1e38"},
      {"TileWidth", {{"tile-width", "7"}}, "8, 16, 32, 64"},
      {"SumOfZero", {{"mask", "-1 0 1 -2 0 2 -1 0 1"}, {"normalize", "sum"}}, "sum", false},
      {"SeparableOfRankTwo", {{"mask", kRank2}, {"kernel", "separable"}}, "rank", false},
      {"BoxOfUnequalWeights", {{"mask", kRank2}, {"kernel", "box"}}, "not all equal", false},
      {"ShiftOfTwoTaps", {{"mask", kRank2}, {"kernel", "shift"}}, "is not 0", false},
      {"TiledInputTooLarge",
       {{"mask", big_mask(41)}, {"kernel", "tiled-input"}},
       "tiled-input",
       false},
  };
  return all;
}

class BadInput : public testing::TestWithParam<Bad> {};

bool is_mask(const std::string& property) {
  return property.rfind("mask", 0) == 0;
}

std::string value_of(GstElement* element, const std::string& property) {
  GValue value = G_VALUE_INIT;
  g_object_get_property(G_OBJECT(element), property.c_str(), &value);
  gchar* text = gst_value_serialize(&value);
  std::string result = text != nullptr ? text : "";
  g_free(text);
  g_value_unset(&value);
  return result;
}

TEST_P(BadInput, IsAnElementErrorAtStartUp) {
  GstElement* pipeline = gst_parse_launch(
      "videotestsrc num-buffers=1 ! video/x-raw,format=I420,width=64,height=48 ! "
      "cudaconvolve name=c ! fakesink",
      nullptr);
  GstElement* element = gst_bin_get_by_name(GST_BIN(pipeline), "c");
  for (const auto& [name, value] : GetParam().settings) {
    const std::string before = value_of(element, name);
    gst_util_set_object_arg(G_OBJECT(element), name.c_str(), value.c_str());
    if (GetParam().at_once) {
      EXPECT_EQ(value_of(element, name), before) << "reads back changed";
    }
  }
  GstBus* bus = gst_element_get_bus(pipeline);
  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus, 10 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_EOS));
  ASSERT_NE(message, nullptr);
  ASSERT_EQ(GST_MESSAGE_TYPE(message), GST_MESSAGE_ERROR);
  EXPECT_EQ(GST_MESSAGE_SRC(message), GST_OBJECT(element));
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  EXPECT_TRUE(g_error_matches(error, GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS));
  EXPECT_NE(std::string(error->message).find(GetParam().says), std::string::npos) << error->message;
  std::printf("    %s\n", error->message);
  g_error_free(error);
  gst_message_unref(message);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(bus);
  gst_object_unref(element);
  gst_object_unref(pipeline);
}

TEST_P(BadInput, WhilePlayingIsOneWarningAndTheOldSettingGoesOn) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 31, 17);
  const oracle::Bytes input = oracle::random_frame(info, 1);
  const oracle::Mask good{3, 3, {0, -1, 0, -1, 5, -1, 0, -1, 0}, 1};
  const oracle::Bytes expected = oracle::expected(info, input, good, {});
  Harness harness(Settings{{"mask", good.text()}});
  harness.set_caps(info);
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(input), expected), 0);

  for (const auto& [name, value] : GetParam().settings) {
    const std::string before = value_of(harness.element(), name);
    harness.set(name, value);
    if (GetParam().at_once) {
      EXPECT_EQ(value_of(harness.element(), name), before) << "reads back changed";
    }
  }
  for (int frame = 0; frame < 3; ++frame)
    EXPECT_EQ(oracle::differing_samples(info, harness.filter(input), expected), 0);
  const std::vector<Message> warnings = harness.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].domain, GST_LIBRARY_ERROR);
  EXPECT_NE(warnings[0].text.find(GetParam().says), std::string::npos) << warnings[0].text;

  // And a good value is taken again.
  for (const auto& [name, value] : GetParam().settings)
    if (!is_mask(name)) harness.set(name, name == "tile-width" ? "0" : "auto");
  const oracle::Mask other{3, 1, {1, 2, 1}, 4};
  harness.set("mask", other.text());
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(input),
                                      oracle::expected(info, input, other, {})),
            0);
  EXPECT_TRUE(harness.warnings().empty());
}

INSTANTIATE_TEST_SUITE_P(All, BadInput, testing::ValuesIn(bad_inputs()),
                         [](const testing::TestParamInfo<Bad>& row) { return row.param.name; });

TEST(StartUp, AGoodValueAfterABadOneStarts) {
  GstElement* element = check::make_element({{"mask", "1 2 3"}, {"mask", "1 2 1; 2 4 2; 1 2 1"}});
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}

TEST(StartUp, AfterTheErrorAGoodValueStarts) {
  GstElement* element = check::make_element({{"mask", "1 2 3"}});
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_FAILURE);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_util_set_object_arg(G_OBJECT(element), "mask-matrix", "<<1,2>,<3,4>>");
  EXPECT_EQ(gst_element_set_state(element, GST_STATE_PAUSED), GST_STATE_CHANGE_SUCCESS);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_object_unref(element);
}

TEST(ReadyProperties, SetLaterAreKeptForTheNextStartWithOneWarning) {
  Harness harness;
  harness.set("threads", "1");
  const std::vector<Message> warnings = harness.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].text.find("threads"), std::string::npos);
  EXPECT_EQ(value_of(harness.element(), "threads"), "1");
  harness.set("threads", "1");
  EXPECT_TRUE(harness.warnings().empty());
}

TEST(Order, OfPropertiesDoesNotMatter) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 16, 16);
  const oracle::Bytes input = oracle::random_frame(info, 1);
  Harness a(Settings{{"mask", "box:3"}, {"kernel", "separable"}, {"normalize", "sum"}});
  Harness b(Settings{{"normalize", "sum"}, {"kernel", "separable"}, {"mask", "box:3"}});
  a.set_caps(info);
  b.set_caps(info);
  EXPECT_EQ(a.filter(input), b.filter(input));
  EXPECT_EQ(a.get_string("active-plan"), b.get_string("active-plan"));
  // While playing, a set passes through states that cannot be served; only frames plan.
  a.set("mask", kRank2);
  a.set("kernel", "auto");
  a.filter(input);
  EXPECT_TRUE(a.warnings().empty());
}

TEST(Caps, WithTooManyBytesAreRefusedWithOneMessage) {
  Harness harness(Settings{{"mask", "box:3"}});
  GstCaps* caps =
      gst_caps_from_string("video/x-raw,format=RGBA,width=32768,height=32768,framerate=25/1");
  gst_harness_set_src_caps(harness.get(), caps);
  EXPECT_NE(harness.push(oracle::Bytes(16)), GST_FLOW_OK);
  const std::vector<Message> errors = harness.errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].text.find("4 GiB"), std::string::npos) << errors[0].text;
  EXPECT_EQ(harness.pull_buffer(), nullptr);
}

TEST(Caps, BeyondTheTemplateAreRefused) {
  for (const char* text :
       {"video/x-raw,format=YUY2,width=16,height=16,framerate=25/1",
        "video/x-raw,format=GRAY8,width=32769,height=1,framerate=25/1",
        "video/x-raw,format=GRAY8,width=1,height=32769,framerate=25/1",
        "video/x-raw,format=GRAY8,width=0,height=16,framerate=25/1",
        "video/x-raw,format=GRAY8,width=16,height=16,framerate=25/1,interlace-mode=fields"}) {
    Harness harness(Settings{{"mask", "box:3"}});
    gst_harness_set_src_caps(harness.get(), gst_caps_from_string(text));
    EXPECT_NE(harness.push(oracle::Bytes(16 * 16)), GST_FLOW_OK) << text;
    EXPECT_EQ(harness.pull_buffer(), nullptr);
  }
}

}  // namespace
