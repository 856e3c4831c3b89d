// SPDX-License-Identifier: LGPL-2.1-or-later
// Layouts of buffers: honest ones are served whatever their strides and memories, lying ones are
// answered with an error, never with pixels.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/support/element.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;

const oracle::Mask kMask{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};

const GstVideoFormat kFormats[] = {GST_VIDEO_FORMAT_GRAY8, GST_VIDEO_FORMAT_GRAY16_LE,
                                   GST_VIDEO_FORMAT_I420,  GST_VIDEO_FORMAT_Y42B,
                                   GST_VIDEO_FORMAT_NV12,  GST_VIDEO_FORMAT_RGB,
                                   GST_VIDEO_FORMAT_RGBA,  GST_VIDEO_FORMAT_xBGR};

int plane_rows(const GstVideoInfo& info, guint plane) {
  gint components[GST_VIDEO_MAX_COMPONENTS];
  gst_video_format_info_component(info.finfo, plane, components);
  return GST_VIDEO_INFO_COMP_HEIGHT(&info, components[0]);
}

/// How a frame is laid out in memory.
struct Layout {
  const char* name;
  int extra_stride = 0;      ///< Bytes beyond the default stride.
  int lead = 0;              ///< Bytes before each plane.
  bool upside_down = false;  ///< Negative strides.
  bool memory_per_plane = false;
  bool split_planes = false;  ///< A memory ends in the middle of each plane.
  bool read_only = false;
};

GstMemory* wrap(const oracle::Bytes& bytes, std::size_t from, std::size_t to, bool read_only) {
  gpointer copy = g_memdup2(bytes.data() + from, to - from);
  return gst_memory_new_wrapped(read_only ? GST_MEMORY_FLAG_READONLY : GstMemoryFlags(0), copy,
                                to - from, 0, to - from, copy, g_free);
}

GstBuffer* lay_out(const GstVideoInfo& info, const oracle::Bytes& frame, const Layout& layout) {
  const guint planes = GST_VIDEO_INFO_N_PLANES(&info);
  oracle::Bytes memory;
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {};
  std::vector<std::size_t> cuts = {0};
  for (guint p = 0; p < planes; ++p) {
    const int rows = plane_rows(info, p);
    const gint tight = GST_VIDEO_INFO_PLANE_STRIDE(&info, p);
    const gint pitch = tight + layout.extra_stride;
    const std::size_t begin = memory.size() + static_cast<std::size_t>(layout.lead);
    memory.resize(begin + static_cast<std::size_t>(pitch) * rows, 0xA5);
    for (int y = 0; y < rows; ++y) {
      const int at = layout.upside_down ? rows - 1 - y : y;
      std::memcpy(memory.data() + begin + static_cast<std::size_t>(at) * pitch,
                  frame.data() + GST_VIDEO_INFO_PLANE_OFFSET(&info, p) +
                      static_cast<std::size_t>(y) * tight,
                  static_cast<std::size_t>(tight));
    }
    offset[p] = layout.upside_down ? begin + static_cast<std::size_t>(pitch) * (rows - 1) : begin;
    stride[p] = layout.upside_down ? -pitch : pitch;
    if (layout.split_planes) cuts.push_back(begin + static_cast<std::size_t>(pitch) * rows / 2);
    if (layout.memory_per_plane) cuts.push_back(memory.size());
  }
  if (cuts.back() != memory.size()) cuts.push_back(memory.size());
  GstBuffer* buffer = gst_buffer_new();
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
    gst_buffer_append_memory(buffer, wrap(memory, cuts[i], cuts[i + 1], layout.read_only));
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info), planes,
                                 offset, stride);
  return buffer;
}

const Layout kLayouts[] = {
    {"Tight"},
    {"StridePlus1", 1},
    {"StridePlus13", 13},
    {"StridePlus4096", 4096},
    {"OffsetStart", 0, 7},
    {"UpsideDown", 3, 5, true},
    {"MemoryPerPlane", 2, 0, false, true},
    {"PlanesSplitOverMemories", 0, 0, false, false, true},
    {"ReadOnly", 4, 0, false, false, false, true},
};

class Layouts : public testing::TestWithParam<Layout> {};

TEST_P(Layouts, GiveThePictureOfTheTightOne) {
  Harness harness(Settings{{"mask", kMask.text()}});
  for (const GstVideoFormat format : kFormats)
    for (const auto& [width, height] : {std::pair{1, 1}, std::pair{19, 13}, std::pair{64, 48}}) {
      const GstVideoInfo info = video_info(format, width, height);
      const oracle::Bytes frame = oracle::random_frame(info, 1);
      harness.set_caps(info);
      GstBuffer* buffer = lay_out(info, frame, GetParam());
      gst_buffer_ref(buffer);
      ASSERT_EQ(harness.push_buffer(buffer), GST_FLOW_OK);
      EXPECT_EQ(
          oracle::differing_samples(info, harness.pull(), oracle::expected(info, frame, kMask, {})),
          0)
          << gst_video_format_to_string(format) << " " << width << "x" << height;
      EXPECT_EQ(oracle::differing_samples(info, check::picture_of(buffer, info), frame), 0)
          << "the input was written to";
      gst_buffer_unref(buffer);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Layouts, testing::ValuesIn(kLayouts),
                         [](const testing::TestParamInfo<Layout>& row) { return row.param.name; });

/// A pool whose frames have padding on all sides (owned by the caller).
GstBufferPool* make_padded_pool(const GstVideoInfo& info) {
  GstBufferPool* pool = gst_video_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  GstCaps* caps = gst_video_info_to_caps(&info);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(info.size), 0, 0);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_ALIGNMENT);
  GstVideoAlignment alignment;
  gst_video_alignment_reset(&alignment);
  alignment.padding_left = 16;
  alignment.padding_right = 6;
  alignment.padding_top = 2;
  gst_buffer_pool_config_set_video_alignment(config, &alignment);
  EXPECT_TRUE(gst_buffer_pool_set_config(pool, config));
  gst_caps_unref(caps);
  return pool;
}

GstPadProbeReturn answer_allocation(GstPad*, GstPadProbeInfo* probe, gpointer pool) {
  GstQuery* query = GST_PAD_PROBE_INFO_QUERY(probe);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
  GstStructure* config = gst_buffer_pool_get_config(GST_BUFFER_POOL(pool));
  guint size = 0;
  gst_buffer_pool_config_get_params(config, nullptr, &size, nullptr, nullptr);
  gst_structure_free(config);
  gst_query_add_allocation_pool(query, GST_BUFFER_POOL(pool), size, 0, 0);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return GST_PAD_PROBE_HANDLED;
}

TEST(Output, GoesIntoPaddedBuffersOfDownstream) {
  for (const GstVideoFormat format : kFormats) {
    const GstVideoInfo info = video_info(format, 18, 10);
    const oracle::Bytes frame = oracle::random_frame(info, 1);
    GstBufferPool* pool = make_padded_pool(info);
    Harness harness(Settings{{"mask", kMask.text()}});
    GstPad* pad = gst_element_get_static_pad(harness.element(), "src");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, answer_allocation, pool, nullptr);
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
    gst_object_unref(pad);
    gst_object_unref(pool);
  }
}

using Spoil = GstBuffer* (*)(const GstVideoInfo& info, const oracle::Bytes& frame);

struct Hostile {
  const char* name;
  Spoil make;
};

GstBuffer* with_meta(const GstVideoInfo& info, const oracle::Bytes& frame,
                     void (*change)(GstVideoMeta* meta, const GstVideoInfo& info)) {
  GstBuffer* buffer = lay_out(info, frame, {"Tight"});
  change(gst_buffer_get_video_meta(buffer), info);
  return buffer;
}

const Hostile kHostile[] = {
    {"HalfASize",
     [](const GstVideoInfo&, const oracle::Bytes& frame) {
       return check::make_buffer(oracle::Bytes(frame.begin(), frame.begin() + frame.size() / 2));
     }},
    {"Empty", [](const GstVideoInfo&, const oracle::Bytes&) { return gst_buffer_new(); }},
    {"StrideFourTimesTooLarge",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       return with_meta(info, frame,
                        [](GstVideoMeta* meta, const GstVideoInfo&) { meta->stride[0] *= 4; });
     }},
    {"StrideOfTwoGigabytes",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       return with_meta(info, frame, [](GstVideoMeta* meta, const GstVideoInfo&) {
         meta->stride[0] = G_MAXINT;
       });
     }},
    {"StrideMostNegative",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       return with_meta(info, frame, [](GstVideoMeta* meta, const GstVideoInfo&) {
         meta->stride[0] = G_MININT;
       });
     }},
    {"StrideZero",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       return with_meta(info, frame,
                        [](GstVideoMeta* meta, const GstVideoInfo&) { meta->stride[0] = 0; });
     }},
    {"StrideBelowARow",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       return with_meta(info, frame,
                        [](GstVideoMeta* meta, const GstVideoInfo&) { meta->stride[0] = 3; });
     }},
    {"NegativeStrideFromTheStart",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       return with_meta(info, frame, [](GstVideoMeta* meta, const GstVideoInfo&) {
         meta->stride[0] = -meta->stride[0];
       });
     }},
    {"LastPlaneAtTheEnd",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       return with_meta(info, frame, [](GstVideoMeta* meta, const GstVideoInfo& i) {
         meta->offset[meta->n_planes - 1] = i.size - 1;
       });
     }},
    {"OffsetOverflows",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       return with_meta(info, frame, [](GstVideoMeta* meta, const GstVideoInfo&) {
         meta->offset[0] = G_MAXSIZE;
       });
     }},
    {"AnotherFormat",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       return with_meta(info, frame, [](GstVideoMeta* meta, const GstVideoInfo&) {
         meta->format = GST_VIDEO_FORMAT_UYVY;
       });
     }},
    {"SmallerThanCaps",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       return with_meta(info, frame,
                        [](GstVideoMeta* meta, const GstVideoInfo&) { meta->width -= 2; });
     }},
    {"FewerPlanesThanCaps",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       return with_meta(info, frame,
                        [](GstVideoMeta* meta, const GstVideoInfo&) { meta->n_planes = 0; });
     }},
};

class HostileBuffers : public testing::TestWithParam<Hostile> {};

TEST_P(HostileBuffers, AreAnErrorAndNothingIsPushed) {
  Harness harness(Settings{{"mask", kMask.text()}});
  for (const GstVideoFormat format : kFormats) {
    SCOPED_TRACE(gst_video_format_to_string(format));
    const GstVideoInfo info = video_info(format, 32, 16);
    const oracle::Bytes frame = oracle::random_frame(info, 1);
    harness.set_caps(info);
    harness.filter(frame);
    EXPECT_EQ(harness.push_buffer(GetParam().make(info, frame)), GST_FLOW_ERROR);
    EXPECT_EQ(harness.pull_buffer(), nullptr);
    const std::vector<check::Message> errors = harness.errors();
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].domain, GST_STREAM_ERROR);
    EXPECT_NE(errors[0].text.find("buffer"), std::string::npos) << errors[0].text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostileBuffers, testing::ValuesIn(kHostile),
                         [](const testing::TestParamInfo<Hostile>& row) { return row.param.name; });

/// A decoder's coded size is larger than the picture: the caps say what is picture.
TEST(Meta, LargerThanCapsIsServed) {
  const GstVideoInfo coded = video_info(GST_VIDEO_FORMAT_I420, 48, 32);
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 41, 27);
  const oracle::Bytes memory = oracle::random_frame(coded, 1);
  GstBuffer* buffer = lay_out(coded, memory, {"Tight"});
  const oracle::Bytes frame = check::picture_of(buffer, info);
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  ASSERT_EQ(harness.push_buffer(buffer), GST_FLOW_OK);
  EXPECT_EQ(
      oracle::differing_samples(info, harness.pull(), oracle::expected(info, frame, kMask, {})), 0);
}

}  // namespace
