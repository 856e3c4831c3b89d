// SPDX-License-Identifier: LGPL-2.1-or-later
// Wherever a picture lies in memory, and wherever the filtered one goes: the same picture.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/element.h"
#include "tests/support/layout.h"
#include "tests/support/pool.h"

namespace {

using check::Harness;
using check::Layout;
using check::Settings;
using check::video_info;

const oracle::Mask kMask{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};

/// Odd, even, and no neighbour at all.
const std::pair<int, int> kSizes[] = {{1, 1}, {19, 13}, {36, 6}};

std::string place(const GstVideoInfo& info) {
  return std::string(gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info))) + " " +
         std::to_string(GST_VIDEO_INFO_WIDTH(&info)) + "x" +
         std::to_string(GST_VIDEO_INFO_HEIGHT(&info));
}

oracle::Bytes memory_of(GstBuffer* buffer) {
  oracle::Bytes bytes(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

class Layouts : public testing::TestWithParam<Layout> {};

TEST_P(Layouts, OfInputGiveThePictureOfThePlainOne) {
  Harness harness(Settings{{"mask", kMask.text()}});
  for (const GstVideoFormat format : check::layout_families())
    for (const auto& [width, height] : kSizes) {
      const GstVideoInfo info = video_info(format, width, height);
      SCOPED_TRACE(place(info));
      const oracle::Bytes frame = oracle::random_frame(info, 1);
      const oracle::Bytes wanted = oracle::expected(info, frame, kMask, {});
      harness.set_caps(info);
      // Once in the hands of the element alone, once held by somebody else as well.
      ASSERT_EQ(harness.push_buffer(check::lay_out(info, frame, GetParam())), GST_FLOW_OK);
      EXPECT_EQ(oracle::differing_samples(info, harness.pull(), wanted), 0);
      GstBuffer* buffer = check::lay_out(info, frame, GetParam());
      const oracle::Bytes before = memory_of(buffer);
      ASSERT_EQ(harness.push_buffer(gst_buffer_ref(buffer)), GST_FLOW_OK);
      EXPECT_EQ(oracle::differing_samples(info, harness.pull(), wanted), 0);
      EXPECT_EQ(memory_of(buffer), before) << "the input was written to";
      gst_buffer_unref(buffer);
    }
}

TEST_P(Layouts, OfOutputGetThePictureAndNothingBesides) {
  if (GetParam().holder == check::Holder::kReadOnly) return;  // See hostile_check.
  for (const GstVideoFormat format : check::layout_families())
    for (const auto& [width, height] : kSizes) {
      const GstVideoInfo info = video_info(format, width, height);
      SCOPED_TRACE(place(info));
      const oracle::Bytes stale = oracle::random_frame(info, 2);
      oracle::Bytes inverse = stale;
      for (std::uint8_t& byte : inverse)
        byte = static_cast<std::uint8_t>(~byte);
      GstBuffer* one = check::lay_out(info, stale, GetParam());
      GstBuffer* other = check::lay_out(info, inverse, GetParam());
      const oracle::Bytes before = memory_of(one);
      const oracle::Bytes inverse_before = memory_of(other);
      gst_buffer_unref(one);
      gst_buffer_unref(other);

      GstBufferPool* pool =
          check::make_pool([&] { return check::lay_out(info, stale, GetParam()); });
      const oracle::Bytes frame = oracle::random_frame(info, 1);
      Harness harness(Settings{{"mask", kMask.text()}});
      check::offer_downstream(harness.element(), pool, static_cast<guint>(before.size()));
      gst_object_unref(pool);
      harness.set_caps(info);
      ASSERT_EQ(harness.push(frame), GST_FLOW_OK);
      GstBuffer* output = harness.pull_buffer();
      ASSERT_NE(output, nullptr);
      ASSERT_NE(gst_buffer_get_video_meta(output), nullptr) << "not of the pool";
      EXPECT_EQ(oracle::differing_samples(info, check::picture_of(output, info),
                                          oracle::expected(info, frame, kMask, {})),
                0);
      const oracle::Bytes after = memory_of(output);
      ASSERT_EQ(after.size(), before.size());
      for (std::size_t i = 0; i < after.size(); ++i)
        if (before[i] == inverse_before[i]) {
          ASSERT_EQ(after[i], before[i]) << "byte " << i;
        }
      gst_buffer_unref(output);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Layouts, testing::ValuesIn(check::honest_layouts()),
                         [](const testing::TestParamInfo<Layout>& row) { return row.param.name; });

/// GStreamer's own pool with padding on all sides, as video sinks and encoders offer it.
TEST(Output, GoesIntoAlignedBuffersOfDownstream) {
  for (const GstVideoFormat format : check::template_formats()) {
    const GstVideoInfo info = video_info(format, 18, 10);
    SCOPED_TRACE(place(info));
    GstBufferPool* pool = gst_video_buffer_pool_new();
    GstStructure* config = gst_buffer_pool_get_config(pool);
    GstCaps* caps = gst_video_info_to_caps(&info);
    gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(info.size), 0, 0);
    gst_caps_unref(caps);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
    GstVideoAlignment alignment;
    gst_video_alignment_reset(&alignment);
    alignment.padding_left = 16;
    alignment.padding_right = 8;
    alignment.padding_top = 4;
    gst_buffer_pool_config_set_video_alignment(config, &alignment);
    ASSERT_TRUE(gst_buffer_pool_set_config(pool, config));
    config = gst_buffer_pool_get_config(pool);
    guint size = 0;
    gst_buffer_pool_config_get_params(config, nullptr, &size, nullptr, nullptr);
    gst_structure_free(config);

    const oracle::Bytes frame = oracle::random_frame(info, 1);
    Harness harness(Settings{{"mask", kMask.text()}});
    check::offer_downstream(harness.element(), pool, size);
    harness.set_caps(info);
    ASSERT_EQ(harness.push(frame), GST_FLOW_OK);
    GstBuffer* output = harness.pull_buffer();
    ASSERT_NE(output, nullptr);
    const GstVideoMeta* meta = gst_buffer_get_video_meta(output);
    ASSERT_NE(meta, nullptr);
    EXPECT_GT(meta->stride[0], GST_VIDEO_INFO_PLANE_STRIDE(&info, 0)) << "not the padded pool";
    EXPECT_EQ(oracle::differing_samples(info, check::picture_of(output, info),
                                        oracle::expected(info, frame, kMask, {})),
              0);
    gst_buffer_unref(output);
    gst_object_unref(pool);
  }
}

/// Memories without a GstVideoMeta: the caps say where planes are, across all of them.
TEST(Memories, WithoutMetaAreOneRunOfBytes) {
  Harness harness(Settings{{"mask", kMask.text()}});
  for (const GstVideoFormat format : check::template_formats()) {
    const GstVideoInfo info = video_info(format, 19, 13);
    SCOPED_TRACE(place(info));
    const oracle::Bytes frame = oracle::random_frame(info, 1);
    harness.set_caps(info);
    GstBuffer* buffer = gst_buffer_new();
    const std::size_t third = frame.size() / 3;
    for (const auto& [from, to] : {std::pair{std::size_t{0}, third}, std::pair{third, 2 * third},
                                   std::pair{2 * third, frame.size()}})
      buffer = gst_buffer_append(buffer, gst_buffer_new_memdup(frame.data() + from, to - from));
    ASSERT_EQ(harness.push_buffer(buffer), GST_FLOW_OK);
    EXPECT_EQ(
        oracle::differing_samples(info, harness.pull(), oracle::expected(info, frame, kMask, {})),
        0);
  }
}

/// A decoder's coded size is larger than the picture: the caps say what is picture.
TEST(Meta, LargerThanCapsIsServed) {
  for (const GstVideoFormat format : check::template_formats()) {
    const GstVideoInfo coded = video_info(format, 48, 32);
    const GstVideoInfo info = video_info(format, 41, 27);
    SCOPED_TRACE(place(info));
    const oracle::Bytes memory = oracle::random_frame(coded, 1);
    GstBuffer* buffer = check::lay_out(coded, memory, {});
    const oracle::Bytes frame = check::picture_of(buffer, info);
    Harness harness(Settings{{"mask", kMask.text()}});
    harness.set_caps(info);
    ASSERT_EQ(harness.push_buffer(buffer), GST_FLOW_OK);
    EXPECT_EQ(
        oracle::differing_samples(info, harness.pull(), oracle::expected(info, frame, kMask, {})),
        0);
  }
}

}  // namespace
