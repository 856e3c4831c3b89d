// SPDX-License-Identifier: LGPL-2.1-or-later
// Every way to say a mask, through to the picture: files, matrices, anchors, the two operations and
// the four normalizations.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;

/// Filters one random frame with `settings`; samples that are not those of `mask`.
std::int64_t differing(const Settings& settings, const oracle::Mask& mask,
                       GstVideoFormat format = GST_VIDEO_FORMAT_I420) {
  const GstVideoInfo info = video_info(format, 23, 17);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness harness(settings);
  harness.set_caps(info);
  const oracle::Bytes output = harness.filter(frame);
  EXPECT_EQ(output.size(), frame.size());
  return output.size() == frame.size()
             ? oracle::differing_samples(info, output, oracle::expected(info, frame, mask, {}))
             : -1;
}

std::vector<std::vector<double>> matrix_of(GstElement* element) {
  GValue value = G_VALUE_INIT;
  g_object_get_property(G_OBJECT(element), "mask-matrix", &value);
  std::vector<std::vector<double>> rows;
  for (guint y = 0; y < gst_value_array_get_size(&value); ++y) {
    const GValue* row = gst_value_array_get_value(&value, y);
    rows.emplace_back();
    for (guint x = 0; x < gst_value_array_get_size(row); ++x)
      rows.back().push_back(g_value_get_double(gst_value_array_get_value(row, x)));
  }
  g_value_unset(&value);
  return rows;
}

using Matrix = std::vector<std::vector<double>>;

/// A file that is gone with the test.
class MaskFile : public testing::Test {
 protected:
  void SetUp() override {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/check-mask-XXXXXX";
    const int file = mkstemp(path_.data());
    ASSERT_GE(file, 0);
    close(file);
  }
  ~MaskFile() override { unlink(path_.c_str()); }

  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::string at_path() const { return "@" + path_; }

  std::string path_;
};

TEST_F(MaskFile, Text) {
  write("# a blur that leans to the right\n3x3:\n1 2 3   # top\n4 5 6\n7 8 9\n/ 45\n");
  EXPECT_EQ(differing({{"mask", at_path()}}, {3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45}), 0);
}

/// What a bright pixel becomes is the picture in the file, so the mask is that turned by half.
TEST_F(MaskFile, PicturesAreConvolvedWith) {
  const oracle::Mask turned{3, 3, {9, 8, 7, 6, 5, 4, 3, 2, 1}, 45};
  write("P2\n# a point-spread function\n3 3\n9\n1 2 3 4 5 6 7 8 9\n");
  EXPECT_EQ(differing({{"mask", at_path()}}, turned), 0);
  write(std::string("P5 3 3 255\n\1\2\3\4\5\6\7\10\11", 20));
  EXPECT_EQ(differing({{"mask", at_path()}}, turned), 0);
  write(std::string("P5 3 3 65535\n\0\1\0\2\0\3\0\4\0\5\0\6\0\7\0\10\0\11", 31));
  EXPECT_EQ(differing({{"mask", at_path()}}, turned), 0);

  for (const bool little : {true, false}) {
    std::string pfm = little ? "Pf\n3 3\n-1\n" : "Pf\n3 3\n1\n";
    for (const float v : {7.f, 8.f, 9.f, 4.f, 5.f, 6.f, 1.f, 2.f, 3.f}) {  // Bottom row first.
      std::uint32_t bits = 0;
      std::memcpy(&bits, &v, sizeof bits);
      for (int i = 0; i < 4; ++i)
        pfm += static_cast<char>(bits >> 8 * (little ? i : 3 - i));
    }
    write(pfm);
    EXPECT_EQ(differing({{"mask", at_path()}}, turned), 0) << (little ? "little" : "big");
  }
}

TEST_F(MaskFile, PointLandsWhereThePictureSays) {
  write("P2 3 2 1\n0 0 0\n0 0 1\n");
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 9, 9);
  oracle::Bytes frame(info.size, 0);
  const gint stride = GST_VIDEO_INFO_PLANE_STRIDE(&info, 0);
  frame[static_cast<std::size_t>(4 * stride + 4)] = 200;
  Harness harness(Settings{{"mask", at_path()}, {"border", "zero"}});
  harness.set_caps(info);
  const oracle::Bytes output = harness.filter(frame);
  // The pixel (2, 1) of a picture around (1, 1): one to the right.
  EXPECT_EQ(output[static_cast<std::size_t>(4 * stride + 5)], 200);
  EXPECT_EQ(output[static_cast<std::size_t>(4 * stride + 4)], 0);
}

TEST_F(MaskFile, IsReadOnceWhenItIsSet) {
  write("1 2; 3 4");
  GstElement* element = check::make_element({{"mask", at_path()}});
  write("5 6; 7 8");
  EXPECT_EQ(matrix_of(element), (Matrix{{1, 2}, {3, 4}}));
  gst_util_set_object_arg(G_OBJECT(element), "mask", at_path().c_str());
  EXPECT_EQ(matrix_of(element), (Matrix{{5, 6}, {7, 8}}));
  unlink(path_.c_str());
  gchar* text = nullptr;
  g_object_get(element, "mask", &text, nullptr);
  EXPECT_EQ(text, at_path());
  g_free(text);
  gst_object_unref(element);
}

TEST(Matrix, OfNamedMasks) {
  GstElement* element = check::make_element({{"mask", "box:3,2"}});
  const double sixth = 1.0 / 6;
  EXPECT_EQ(matrix_of(element), (Matrix{{sixth, sixth, sixth}, {sixth, sixth, sixth}}));
  gst_util_set_object_arg(G_OBJECT(element), "mask", "gaussian:1.5,0.5");
  const Matrix bell = matrix_of(element);
  ASSERT_EQ(bell.size(), 5u);
  ASSERT_EQ(bell[0].size(), 11u);
  EXPECT_NEAR(bell[2][8] / bell[2][5], std::exp(-2), 1e-12);
  gst_object_unref(element);
}

TEST(Matrix, EvenAndNotSquare) {
  EXPECT_EQ(
      differing({{"mask-matrix", "<<1,2,3,4>,<5,6,7,8>>"}}, {4, 2, {1, 2, 3, 4, 5, 6, 7, 8}, 36}),
      0);
  EXPECT_EQ(differing({{"mask-matrix", "<<1>,<2>,<3>,<4>>"}}, {1, 4, {1, 2, 3, 4}, 10}), 0);
}

TEST(Matrix, ItsTextMeansTheSamePicture) {
  for (const char* matrix : {"<<1,2,3,4>,<5,6,7,8>>", "<<1>,<2>,<4>>", "<<3,4>>", "<<1/3,2/3>>"}) {
    GstElement* element = check::make_element({{"mask-matrix", matrix}});
    gchar* text = nullptr;
    g_object_get(element, "mask", &text, nullptr);
    const Matrix before = matrix_of(element);
    gst_util_set_object_arg(G_OBJECT(element), "mask", text);
    EXPECT_EQ(matrix_of(element), before) << matrix << " as " << text;
    g_free(text);
    gst_object_unref(element);
  }
}

TEST(Anchor, OfEvenMasksIsRightOfAndBelowTheMiddle) {
  EXPECT_EQ(differing({{"mask", "2x2: 1 0 0 0"}}, {2, 2, {1, 0, 0, 0}, 1}), 0);
  EXPECT_EQ(differing({{"mask", "4x1: 1 2 3 4"}}, {4, 1, {1, 2, 3, 4}, 10}), 0);
}

/// A typed anchor is the same as more zeros on one side.
TEST(Anchor, Typed) {
  EXPECT_EQ(differing({{"mask", "2x2+0+0: 1 2 3 4"}}, {3, 3, {0, 0, 0, 0, 1, 2, 0, 3, 4}, 10}), 0);
  EXPECT_EQ(differing({{"mask", "3x1+2+0: 1 2 4"}}, {5, 1, {1, 2, 4, 0, 0}, 7}), 0);
}

TEST(Operation, ConvolveTurnsEvenMasksWithTheirAnchors) {
  const Settings convolve = {{"operation", "convolve"}};
  const auto with = [&](const char* mask) {
    Settings settings = convolve;
    settings.emplace_back("mask", mask);
    return settings;
  };
  // Anchor 1 of 2 becomes 0 of 2.
  EXPECT_EQ(differing(with("2x1: 1 3"), {3, 1, {0, 3, 1}, 4}), 0);
  EXPECT_EQ(differing(with("1x4: 1 2 3 4"), {1, 5, {0, 4, 3, 2, 1}, 10}), 0);
  EXPECT_EQ(differing(with("3x3+0+1: 1 2 3 4 5 6 7 8 9"),
                      {5, 3, {9, 8, 7, 0, 0, 6, 5, 4, 0, 0, 3, 2, 1, 0, 0}, 45}),
            0);
}

struct Normalization {
  const char* mask;
  const char* normalize;
  oracle::Mask means;
  const char* info;  ///< What the plan's INFO line says of it.
};

const Normalization kNormalizations[] = {
    {"3x1: 1 2 1", "auto", {3, 1, {1, 2, 1}, 4}, "divided by the sum of the weights"},
    {"3x1: 1 2 1", "none", {3, 1, {1, 2, 1}, 1}, "normalized as asked"},
    {"3x1: 1 2 1", "sum", {3, 1, {1, 2, 1}, 4}, "normalized as asked"},
    {"3x1: 1 2 1", "abs", {3, 1, {1, 2, 1}, 4}, "normalized as asked"},
    // A typed divisor is final.
    {"3x1: 1 2 1 / 8", "auto", {3, 1, {1, 2, 1}, 8}, "divided by its divisor"},
    {"3x1: 1 2 1 / 8", "none", {3, 1, {1, 2, 1}, 8}, "normalized as asked"},
    {"3x1: 1 2 1 / 8", "sum", {3, 1, {1, 2, 1}, 4}, "normalized as asked"},
    // Edges have no sum worth dividing by.
    {"3x1: -1 0 1", "auto", {3, 1, {-1, 0, 1}, 1}, "weights left as typed"},
    {"3x1: -1 0 1", "none", {3, 1, {-1, 0, 1}, 1}, "normalized as asked"},
    {"3x1: -1 0 1", "abs", {3, 1, {-1, 0, 1}, 2}, "normalized as asked"},
    {"3x1: -8 0 9", "auto", {3, 1, {-8, 0, 9}, 1}, "weights left as typed"},
    {"3x1: -7 0 9", "auto", {3, 1, {-7, 0, 9}, 2}, "divided by the sum of the weights"},
    {"3x1: 1 -4 1", "sum", {3, 1, {-1, 4, -1}, 2}, "normalized as asked"},
    {"3x1: 1 2 1 / -1", "abs", {3, 1, {-1, -2, -1}, 4}, "normalized as asked"},
    // Named masks arrive normalized.
    {"laplacian", "auto", {3, 3, {0, -1, 0, -1, 4, -1, 0, -1, 0}, 1}, "weights of its name"},
    {"laplacian", "abs", {3, 3, {0, -1, 0, -1, 4, -1, 0, -1, 0}, 8}, "normalized as asked"},
    {"box:3,1", "none", {3, 1, {1, 1, 1}, 3}, "normalized as asked"},
};

class Normalize : public testing::TestWithParam<Normalization> {};

TEST_P(Normalize, GivesThePicture) {
  const Normalization& row = GetParam();
  EXPECT_EQ(differing({{"mask", row.mask}, {"normalize", row.normalize}}, row.means), 0);
}

/// Collects the element's INFO lines while it lives.
class InfoLog {
 public:
  InfoLog() {
    gst_debug_set_threshold_for_name("cudaconvolve", GST_LEVEL_INFO);
    gst_debug_remove_log_function(gst_debug_log_default);
    gst_debug_add_log_function(&InfoLog::take, this, nullptr);
  }
  ~InfoLog() {
    gst_debug_remove_log_function_by_data(this);
    gst_debug_add_log_function(gst_debug_log_default, nullptr, nullptr);
    gst_debug_unset_threshold_for_name("cudaconvolve");
  }
  InfoLog(const InfoLog&) = delete;
  InfoLog& operator=(const InfoLog&) = delete;

  const std::string& text() const { return text_; }

 private:
  static void take(GstDebugCategory* category, GstDebugLevel level, const gchar*, const gchar*,
                   gint, GObject*, GstDebugMessage* message, gpointer self) {
    if (level == GST_LEVEL_INFO &&
        std::string(gst_debug_category_get_name(category)) == "cudaconvolve")
      static_cast<InfoLog*>(self)->text_ += std::string(gst_debug_message_get(message)) + "\n";
  }

  std::string text_;
};

TEST_P(Normalize, SaysSo) {
  const Normalization& row = GetParam();
  const InfoLog log;
  Harness harness(Settings{{"mask", row.mask}, {"normalize", row.normalize}});
  harness.set_caps(video_info(GST_VIDEO_FORMAT_GRAY8, 8, 8));
  harness.filter(oracle::Bytes(8 * 8, 0));
  EXPECT_NE(log.text().find(row.info), std::string::npos) << log.text();
}

INSTANTIATE_TEST_SUITE_P(All, Normalize, testing::ValuesIn(kNormalizations),
                         [](const testing::TestParamInfo<Normalization>& row) {
                           return std::to_string(row.index) + row.param.normalize;
                         });

}  // namespace
