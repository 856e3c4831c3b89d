// SPDX-License-Identifier: LGPL-2.1-or-later
// alpha-mode=premultiplied as users meet it: no colour out of transparent pixels, no dark halo, in
// every 8-bit format that has alpha.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;

constexpr int kSide = 64;

struct Pixel {
  int red, green, blue, alpha;
};

Pixel pixel_at(const oracle::Bytes& rgba, int x, int y) {
  const std::uint8_t* p = rgba.data() + (y * kSide + x) * 4;
  return {p[0], p[1], p[2], p[3]};
}

/// An opaque red disc on transparent green.
oracle::Bytes red_disc() {
  oracle::Bytes frame(kSide * kSide * 4, 0);
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const bool inside = std::hypot(x - 31.5, y - 31.5) < 20;
      std::uint8_t* p = frame.data() + (y * kSide + x) * 4;
      p[inside ? 0 : 1] = 255;
      p[3] = inside ? 255 : 0;
    }
  return frame;
}

oracle::Bytes blurred_disc(const char* alpha_mode, const char* mask, const char* channels) {
  Harness harness({{"mask", mask}, {"alpha-mode", alpha_mode}, {"channels", channels}});
  harness.set_caps(video_info(GST_VIDEO_FORMAT_RGBA, kSide, kSide));
  return harness.filter(red_disc());
}

class Disc : public testing::TestWithParam<const char*> {};

TEST_P(Disc, StraightBleedsGreenIntoWhatIsSeen) {
  const oracle::Bytes blurred = blurred_disc("straight", GetParam(), "luma+alpha");
  int green = 0;
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const Pixel p = pixel_at(blurred, x, y);
      if (p.alpha > 64) green = std::max(green, p.green);
    }
  EXPECT_GT(green, 64);
}

TEST_P(Disc, PremultipliedKeepsItRedToTheLastVisiblePixel) {
  const oracle::Bytes source = red_disc();
  const oracle::Bytes blurred = blurred_disc("premultiplied", GetParam(), "luma+alpha");
  int soft = 0;
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const Pixel p = pixel_at(blurred, x, y);
      soft += p.alpha > 0 && p.alpha < 255 ? 1 : 0;
      if (p.alpha == 0) continue;
      EXPECT_EQ(p.red, 255) << x << "," << y;  // A dark halo would be less.
      EXPECT_EQ(p.green, 0) << x << "," << y;
    }
  EXPECT_GT(soft, 200) << "alpha was not blurred";
  const Pixel far_off = pixel_at(blurred, 0, 0);
  EXPECT_EQ(far_off.green, 255) << "where nothing is opaque, nothing changes";
  EXPECT_EQ(far_off.alpha, 0);
}

TEST_P(Disc, AlphaIsCopiedUnlessAskedFor) {
  const oracle::Bytes source = red_disc();
  const oracle::Bytes blurred = blurred_disc("premultiplied", GetParam(), "luma+chroma");
  for (std::size_t i = 3; i < source.size(); i += 4)
    ASSERT_EQ(blurred[i], source[i]);
}

INSTANTIATE_TEST_SUITE_P(Masks, Disc, testing::Values("box:9", "gaussian:3", "disk:4.5"),
                         [](const auto& row) {
                           std::string name = row.param;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return c == ':' || c == '.'; }, '_');
                           return name;
                         });

/// The samples of one component of an 8-bit format.
struct Samples {
  Samples(const GstVideoInfo& info, guint c)
      : offset(GST_VIDEO_INFO_COMP_OFFSET(&info, c)),
        row(static_cast<std::size_t>(GST_VIDEO_INFO_COMP_STRIDE(&info, c))),
        step(static_cast<std::size_t>(GST_VIDEO_INFO_COMP_PSTRIDE(&info, c))),
        width(GST_VIDEO_INFO_COMP_WIDTH(&info, c)),
        height(GST_VIDEO_INFO_COMP_HEIGHT(&info, c)) {}
  std::size_t at(int x, int y) const {
    return offset + static_cast<std::size_t>(y) * row + static_cast<std::size_t>(x) * step;
  }
  std::size_t offset, row, step;
  int width, height;
};

/// The contract in whole numbers, border replicate: each component but alpha.
oracle::Bytes expected(const GstVideoInfo& info, const oracle::Bytes& in,
                       const oracle::Mask& mask) {
  gint black[GST_VIDEO_MAX_COMPONENTS], range[GST_VIDEO_MAX_COMPONENTS];
  gst_video_color_range_offsets(info.colorimetry.range, info.finfo, black, range);
  oracle::Bytes out = in;
  const Samples alpha(info, GST_VIDEO_COMP_A);
  for (guint c = 0; c < GST_VIDEO_COMP_A; ++c) {
    const Samples colour(info, c);
    const int shift_x = colour.width < alpha.width ? 1 : 0;
    const int shift_y = colour.height < alpha.height ? 1 : 0;
    for (int y = 0; y < colour.height; ++y)
      for (int x = 0; x < colour.width; ++x) {
        std::int64_t w_sum = 0, s = 0, t = 0;
        for (int k = 0; k < mask.width * mask.height; ++k) {
          const int sx = std::clamp(x - mask.width / 2 + k % mask.width, 0, colour.width - 1);
          const int sy = std::clamp(y - mask.height / 2 + k / mask.width, 0, colour.height - 1);
          const std::int64_t w = mask.weights[static_cast<std::size_t>(k)];
          const std::int64_t wa = w * in[alpha.at(sx << shift_x, sy << shift_y)];
          w_sum += w;
          s += wa;
          t += wa * (in[colour.at(sx, sy)] - black[c]);
        }
        if (w_sum > 0 && s <= 0) continue;
        const std::int64_t n = w_sum > 0 ? w_sum * t : t;
        const std::int64_t d = std::int64_t{mask.divisor} * (w_sum > 0 ? s : 255);
        // Nearest, ties to even: all numbers here are far below the 64 bits of a long double.
        const long double value = std::nearbyint(static_cast<long double>(black[c] * d + n) /
                                                 static_cast<long double>(d));
        out[colour.at(x, y)] = static_cast<std::uint8_t>(std::clamp<long double>(value, 0, 255));
      }
  }
  return out;
}

class AlphaFormat : public testing::TestWithParam<GstVideoFormat> {};

TEST_P(AlphaFormat, IsTheContractToTheBit) {
  for (const auto& [width, height] : {std::pair{31, 17}, std::pair{1, 1}, std::pair{8, 6}}) {
    const GstVideoInfo info = video_info(GetParam(), width, height);
    oracle::Bytes frame = oracle::random_frame(info, 3);
    const Samples alpha(info, GST_VIDEO_COMP_A);
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width / 2; ++x)
        frame[alpha.at(x, y)] = x % 3 == 0 ? 255 : 0;
    for (const oracle::Mask& mask : {oracle::Mask{3, 3, {1, 2, 1, 2, 4, 2, 1, 2, 1}, 16},
                                     oracle::Mask{3, 3, {0, -1, 0, -1, 5, -1, 0, -1, 0}, 1},
                                     oracle::Mask{3, 3, {-1, 0, 1, -2, 0, 2, -1, 0, 1}, 1},
                                     oracle::Mask{4, 2, {1, 1, 1, 1, 1, 1, 1, 1}, 8}}) {
      Harness harness({{"mask", mask.text()}, {"alpha-mode", "premultiplied"}});
      harness.set_caps(info);
      EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame), expected(info, frame, mask)),
                0)
          << mask.text() << " " << width << "x" << height;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Formats, AlphaFormat,
    testing::Values(GST_VIDEO_FORMAT_RGBA, GST_VIDEO_FORMAT_BGRA, GST_VIDEO_FORMAT_ARGB,
                    GST_VIDEO_FORMAT_ABGR, GST_VIDEO_FORMAT_AYUV, GST_VIDEO_FORMAT_VUYA,
                    GST_VIDEO_FORMAT_A420, GST_VIDEO_FORMAT_AV12, GST_VIDEO_FORMAT_GBRA),
    [](const auto& row) { return std::string(gst_video_format_to_string(row.param)); });

TEST(AlphaMode, IsShownInThePlanAndChangesWhilePlaying) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_RGBA, kSide, kSide);
  Harness harness(Settings{{"mask", "box:5"}});
  harness.set_caps(info);
  const oracle::Bytes straight = harness.filter(red_disc());
  EXPECT_EQ(harness.get_string("active-plan").find("alpha-weighted"), std::string::npos);
  harness.set("alpha-mode", "premultiplied");
  const oracle::Bytes weighted = harness.filter(red_disc(), 1);
  EXPECT_NE(harness.get_string("active-plan").find("alpha-weighted"), std::string::npos);
  EXPECT_NE(straight, weighted);
  harness.set("alpha-mode", "straight");
  EXPECT_EQ(harness.filter(red_disc(), 2), straight);
}

TEST(AlphaMode, IsNothingToAFormatWithoutAlpha) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_RGBx, 20, 10);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  Harness straight(Settings{{"mask", "box:5"}});
  Harness weighted({{"mask", "box:5"}, {"alpha-mode", "premultiplied"}});
  straight.set_caps(info);
  weighted.set_caps(info);
  EXPECT_EQ(straight.filter(frame), weighted.filter(frame));
  EXPECT_EQ(straight.get_string("active-plan"), weighted.get_string("active-plan"));
}

TEST(AlphaMode, AKernelThatCannotWeightIsRefusedAndSaysWhichCan) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_RGBA, kSide, kSide);
  Harness harness({{"mask", "box:5"}, {"alpha-mode", "premultiplied"}});
  harness.set_caps(info);
  const oracle::Bytes weighted = harness.filter(red_disc());
  harness.set("kernel", "coarsened");
  EXPECT_EQ(harness.filter(red_disc(), 1), weighted) << "the last good plan runs on";
  const std::vector<check::Message> warnings = harness.warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].text.find("these can: basic"), std::string::npos) << warnings[0].text;
  harness.set("kernel", "basic");
  EXPECT_EQ(harness.filter(red_disc(), 2), weighted);
}

TEST(AlphaMode, IdentityPassesFramesThrough) {
  Harness harness(Settings{{"alpha-mode", "premultiplied"}});
  harness.set_caps(video_info(GST_VIDEO_FORMAT_RGBA, kSide, kSide));
  EXPECT_EQ(harness.filter(red_disc()), red_disc());
  EXPECT_EQ(harness.stat("passthrough-frames"), 1u);
}

}  // namespace
