// SPDX-License-Identifier: LGPL-2.1-or-later
// The output is the input with other pixels: what a buffer says about its picture stays, what it
// says about its memory goes. Filtered and in passthrough.
#include <gst/video/gstvideoaffinetransformationmeta.h>
#include <gst/video/video-anc.h>
#include <gst/video/video-overlay-composition.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/element.h"
#include "tests/support/layout.h"
#include "tests/support/pool.h"

namespace {

using check::Harness;
using check::Settings;
using check::video_info;

const oracle::Mask kMask{3, 3, {0, -1, 0, -1, 5, -1, 0, -1, 0}, 1};
const char* const kMasks[] = {"0 -1 0 -1 5 -1 0 -1 0", "identity"};

/// Filters a buffer that `prepare` had in its hands, and shows the output.
void filter(const Settings& settings, const GstVideoInfo& info,
            const std::function<void(GstBuffer*)>& prepare,
            const std::function<void(GstBuffer*)>& look) {
  SCOPED_TRACE(settings.empty() ? "" : settings[0].second);
  Harness harness(settings);
  harness.set_caps(info);
  GstBuffer* input = check::make_buffer(oracle::random_frame(info, 1), 3);
  prepare(input);
  ASSERT_EQ(harness.push_buffer(input), GST_FLOW_OK);
  GstBuffer* output = harness.pull_buffer();
  ASSERT_NE(output, nullptr);
  look(output);
  gst_buffer_unref(output);
}

void expect_kept(GType api, const std::function<void(GstBuffer*)>& add,
                 const std::function<void(GstMeta*)>& look) {
  for (const char* mask : kMasks)
    filter({{"mask", mask}}, video_info(GST_VIDEO_FORMAT_I420, 32, 24), add,
           [&](GstBuffer* output) {
             EXPECT_EQ(gst_buffer_get_n_meta(output, api), 1u) << g_type_name(api);
             GstMeta* meta = gst_buffer_get_meta(output, api);
             ASSERT_NE(meta, nullptr) << g_type_name(api);
             look(meta);
           });
}

template <class Meta>
Meta& as(GstMeta* meta) {
  return *reinterpret_cast<Meta*>(meta);
}

TEST(Kept, RegionOfInterestWithItsParameters) {
  expect_kept(
      GST_VIDEO_REGION_OF_INTEREST_META_API_TYPE,
      [](GstBuffer* buffer) {
        auto* roi = gst_buffer_add_video_region_of_interest_meta(buffer, "face", 1, 2, 3, 4);
        gst_video_region_of_interest_meta_add_param(
            roi, gst_structure_new("roi/x-test", "delta-qp", G_TYPE_INT, -5, nullptr));
      },
      [](GstMeta* meta) {
        auto& roi = as<GstVideoRegionOfInterestMeta>(meta);
        EXPECT_EQ(roi.roi_type, g_quark_from_string("face"));
        EXPECT_EQ(roi.x, 1u);
        EXPECT_EQ(roi.y, 2u);
        EXPECT_EQ(roi.w, 3u);
        EXPECT_EQ(roi.h, 4u);
        gint qp = 0;
        GstStructure* parameters = gst_video_region_of_interest_meta_get_param(&roi, "roi/x-test");
        ASSERT_NE(parameters, nullptr);
        EXPECT_TRUE(gst_structure_get_int(parameters, "delta-qp", &qp));
        EXPECT_EQ(qp, -5);
      });
}

TEST(Kept, Captions) {
  static const guint8 kCaption[] = {0x80, 0x41, 0x42};
  expect_kept(
      GST_VIDEO_CAPTION_META_API_TYPE,
      [](GstBuffer* buffer) {
        gst_buffer_add_video_caption_meta(buffer, GST_VIDEO_CAPTION_TYPE_CEA608_RAW, kCaption,
                                          sizeof kCaption);
      },
      [](GstMeta* meta) {
        auto& caption = as<GstVideoCaptionMeta>(meta);
        ASSERT_EQ(caption.size, sizeof kCaption);
        EXPECT_EQ(oracle::Bytes(caption.data, caption.data + caption.size),
                  oracle::Bytes(kCaption, kCaption + sizeof kCaption));
      });
}

TEST(Kept, TimeCode) {
  expect_kept(
      GST_VIDEO_TIME_CODE_META_API_TYPE,
      [](GstBuffer* buffer) {
        gst_buffer_add_video_time_code_meta_full(
            buffer, 25, 1, nullptr, GST_VIDEO_TIME_CODE_FLAGS_INTERLACED, 1, 2, 3, 4, 1);
      },
      [](GstMeta* meta) {
        gchar* text = gst_video_time_code_to_string(&as<GstVideoTimeCodeMeta>(meta).tc);
        EXPECT_STREQ(text, "01:02:03.04");
        g_free(text);
      });
}

TEST(Kept, ActiveFormatAndBars) {
  expect_kept(
      GST_VIDEO_AFD_META_API_TYPE,
      [](GstBuffer* buffer) {
        gst_buffer_add_video_afd_meta(buffer, 0, GST_VIDEO_AFD_SPEC_ATSC_A53,
                                      GST_VIDEO_AFD_4_3_FULL_16_9_FULL);
      },
      [](GstMeta* meta) {
        EXPECT_EQ(as<GstVideoAFDMeta>(meta).afd, GST_VIDEO_AFD_4_3_FULL_16_9_FULL);
      });
  expect_kept(
      GST_VIDEO_BAR_META_API_TYPE,
      [](GstBuffer* buffer) { gst_buffer_add_video_bar_meta(buffer, 0, TRUE, 3, 21); },
      [](GstMeta* meta) { EXPECT_EQ(as<GstVideoBarMeta>(meta).bar_data2, 21u); });
}

TEST(Kept, OverlayComposition) {
  GstBuffer* pixels = gst_buffer_new_allocate(nullptr, 4 * 4 * 4, nullptr);
  gst_buffer_memset(pixels, 0, 0x80, 64);
  gst_buffer_add_video_meta(pixels, GST_VIDEO_FRAME_FLAG_NONE,
                            GST_VIDEO_OVERLAY_COMPOSITION_FORMAT_RGB, 4, 4);
  GstVideoOverlayRectangle* rectangle = gst_video_overlay_rectangle_new_raw(
      pixels, 5, 6, 4, 4, GST_VIDEO_OVERLAY_FORMAT_FLAG_PREMULTIPLIED_ALPHA);
  GstVideoOverlayComposition* composition = gst_video_overlay_composition_new(rectangle);
  expect_kept(
      GST_VIDEO_OVERLAY_COMPOSITION_META_API_TYPE,
      [&](GstBuffer* buffer) {
        gst_buffer_add_video_overlay_composition_meta(buffer, composition);
      },
      [&](GstMeta* meta) {
        EXPECT_EQ(as<GstVideoOverlayCompositionMeta>(meta).overlay, composition);
      });
  gst_video_overlay_composition_unref(composition);
  gst_video_overlay_rectangle_unref(rectangle);
  gst_buffer_unref(pixels);
}

TEST(Kept, Orientation) {
  expect_kept(
      GST_VIDEO_AFFINE_TRANSFORMATION_META_API_TYPE,
      [](GstBuffer* buffer) {
        gst_buffer_add_video_affine_transformation_meta(buffer)->matrix[5] = 7;
      },
      [](GstMeta* meta) { EXPECT_EQ(as<GstVideoAffineTransformationMeta>(meta).matrix[5], 7); });
}

TEST(Kept, ReferenceTimestamp) {
  expect_kept(
      GST_REFERENCE_TIMESTAMP_META_API_TYPE,
      [](GstBuffer* buffer) {
        GstCaps* reference = gst_caps_new_empty_simple("timestamp/x-unix");
        gst_buffer_add_reference_timestamp_meta(buffer, reference, 5 * GST_SECOND, GST_SECOND);
        gst_caps_unref(reference);
      },
      [](GstMeta* meta) {
        EXPECT_EQ(as<GstReferenceTimestampMeta>(meta).timestamp, 5 * GST_SECOND);
      });
}

/// The whole picture is filtered, and the part that is to be shown stays what it was.
TEST(Kept, Crop) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  expect_kept(
      GST_VIDEO_CROP_META_API_TYPE,
      [](GstBuffer* buffer) {
        GstVideoCropMeta* crop = gst_buffer_add_video_crop_meta(buffer);
        crop->x = 4;
        crop->y = 2;
        crop->width = 20;
        crop->height = 10;
      },
      [&](GstMeta* meta) {
        auto& crop = as<GstVideoCropMeta>(meta);
        EXPECT_EQ(crop.x, 4u);
        EXPECT_EQ(crop.y, 2u);
        EXPECT_EQ(crop.width, 20u);
        EXPECT_EQ(crop.height, 10u);
      });
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  filter(
      {{"mask", kMasks[0]}}, info,
      [](GstBuffer* buffer) { gst_buffer_add_video_crop_meta(buffer)->width = 8; },
      [&](GstBuffer* output) {
        EXPECT_EQ(oracle::differing_samples(info, check::picture_of(output, info),
                                            oracle::expected(info, frame, kMask, {})),
                  0);
      });
}

/// A meta of an application's own, with the tags that say what its contents depend on. The picture
/// keeps its size, orientation and colours.
TEST(Custom, MetasAreKeptUnlessTheyDescribeMemory) {
  struct Case {
    const char* name;
    std::vector<const gchar*> tags;
    bool kept;
  };
  for (const Case& row :
       {Case{"CustomWithoutTags", {}, true}, Case{"CustomVideo", {GST_META_TAG_VIDEO_STR}, true},
        Case{"CustomVideoSize", {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_SIZE_STR}, true},
        Case{"CustomVideoOrientation",
             {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_ORIENTATION_STR},
             true},
        Case{"CustomVideoColours",
             {GST_META_TAG_VIDEO_STR, GST_META_TAG_VIDEO_COLORSPACE_STR},
             true},
        Case{"CustomMemory", {GST_META_TAG_MEMORY_STR}, false}}) {
    std::vector<const gchar*> tags = row.tags;
    tags.push_back(nullptr);
    gst_meta_register_custom(row.name, tags.data(), nullptr, nullptr, nullptr);
    for (const char* mask : kMasks)
      filter(
          {{"mask", mask}}, video_info(GST_VIDEO_FORMAT_RGBA, 16, 16),
          [&](GstBuffer* buffer) {
            gst_structure_set(
                gst_custom_meta_get_structure(gst_buffer_add_custom_meta(buffer, row.name)),
                "answer", G_TYPE_INT, 42, nullptr);
          },
          [&](GstBuffer* output) {
            GstCustomMeta* meta = gst_buffer_get_custom_meta(output, row.name);
            const bool untouched = std::string(mask) == "identity";
            ASSERT_EQ(meta != nullptr, row.kept || untouched) << row.name;
            if (meta == nullptr) return;
            gint answer = 0;
            EXPECT_TRUE(
                gst_structure_get_int(gst_custom_meta_get_structure(meta), "answer", &answer));
            EXPECT_EQ(answer, 42);
          });
  }
}

/// What keeps memory alive belongs to the memory: the output would hold back a buffer of a pool
/// upstream for nothing.
TEST(Dropped, ParentBufferOfTheInput) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 32, 24);
  GstBuffer* parent = gst_buffer_new();
  filter(
      {{"mask", kMasks[0]}}, info,
      [&](GstBuffer* buffer) { gst_buffer_add_parent_buffer_meta(buffer, parent); },
      [&](GstBuffer* output) {
        EXPECT_EQ(gst_buffer_get_parent_buffer_meta(output), nullptr);
        EXPECT_EQ(GST_MINI_OBJECT_REFCOUNT_VALUE(parent), 1);
      });
  gst_buffer_unref(parent);
}

/// The GstVideoMeta of the output is its own, not that of the input.
TEST(VideoMeta, OfTheOutputDescribesTheOutput) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_I420, 33, 24);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  check::Layout wide;
  wide.extra_stride = {64, 32, 32, 0};
  for (const bool downstream_knows : {true, false}) {
    Harness harness(Settings{{"mask", kMask.text()}});
    GstBufferPool* pool = nullptr;
    if (downstream_knows) pool = check::make_pool([&] { return check::lay_out(info, frame, {}); });
    check::offer_downstream(harness.element(), pool, static_cast<guint>(info.size));
    if (pool != nullptr) gst_object_unref(pool);
    harness.set_caps(info);
    GstBuffer* input = check::lay_out(info, frame, wide);
    ASSERT_EQ(harness.push_buffer(input), GST_FLOW_OK);
    GstBuffer* output = harness.pull_buffer();
    ASSERT_NE(output, nullptr);
    const GstVideoMeta* meta = gst_buffer_get_video_meta(output);
    EXPECT_EQ(meta != nullptr, downstream_knows);
    EXPECT_LE(gst_buffer_get_n_meta(output, GST_VIDEO_META_API_TYPE), 1u);
    EXPECT_EQ(oracle::differing_samples(info, check::picture_of(output, info),
                                        oracle::expected(info, frame, kMask, {})),
              0);
    gst_buffer_unref(output);
  }
}

TEST(Buffers, KeepTimestampsAndOffsets) {
  for (const char* mask : kMasks)
    filter(
        {{"mask", mask}}, video_info(GST_VIDEO_FORMAT_I420, 32, 24),
        [](GstBuffer* buffer) {
          GST_BUFFER_DTS(buffer) = 2 * GST_SECOND;
          GST_BUFFER_OFFSET(buffer) = 77;
          GST_BUFFER_OFFSET_END(buffer) = 78;
        },
        [](GstBuffer* output) {
          EXPECT_EQ(GST_BUFFER_PTS(output), 3 * GST_SECOND / 25);
          EXPECT_EQ(GST_BUFFER_DTS(output), 2 * GST_SECOND);
          EXPECT_EQ(GST_BUFFER_DURATION(output), GST_SECOND / 25);
          EXPECT_EQ(GST_BUFFER_OFFSET(output), 77u);
          EXPECT_EQ(GST_BUFFER_OFFSET_END(output), 78u);
        });
}

TEST(Buffers, WithoutTimestampsGetNone) {
  for (const char* mask : kMasks)
    filter(
        {{"mask", mask}}, video_info(GST_VIDEO_FORMAT_I420, 32, 24),
        [](GstBuffer* buffer) {
          GST_BUFFER_PTS(buffer) = GST_CLOCK_TIME_NONE;
          GST_BUFFER_DURATION(buffer) = GST_CLOCK_TIME_NONE;
        },
        [](GstBuffer* output) {
          EXPECT_EQ(GST_BUFFER_PTS(output), GST_CLOCK_TIME_NONE);
          EXPECT_EQ(GST_BUFFER_DURATION(output), GST_CLOCK_TIME_NONE);
        });
}

TEST(Buffers, KeepEveryFlag) {
  const guint flags[] = {
      GST_BUFFER_FLAG_LIVE,
      GST_BUFFER_FLAG_DECODE_ONLY,
      GST_BUFFER_FLAG_DISCONT,
      GST_BUFFER_FLAG_RESYNC,
      GST_BUFFER_FLAG_CORRUPTED,
      GST_BUFFER_FLAG_MARKER,
      GST_BUFFER_FLAG_HEADER,
      GST_BUFFER_FLAG_GAP,
      GST_BUFFER_FLAG_DROPPABLE,
      GST_BUFFER_FLAG_DELTA_UNIT,
      GST_BUFFER_FLAG_SYNC_AFTER,
      GST_BUFFER_FLAG_NON_DROPPABLE,
      GST_VIDEO_BUFFER_FLAG_INTERLACED,
      GST_VIDEO_BUFFER_FLAG_TFF,
      GST_VIDEO_BUFFER_FLAG_RFF,
      GST_VIDEO_BUFFER_FLAG_ONEFIELD,
      GST_VIDEO_BUFFER_FLAG_TOP_FIELD,
      GST_VIDEO_BUFFER_FLAG_BOTTOM_FIELD,
      GST_VIDEO_BUFFER_FLAG_FIRST_IN_BUNDLE,
  };
  for (const char* mask : kMasks)
    for (const guint flag : flags)
      filter(
          {{"mask", mask}},
          video_info(GST_VIDEO_FORMAT_I420, 32, 24, GST_VIDEO_INTERLACE_MODE_MIXED),
          [&](GstBuffer* buffer) { GST_BUFFER_FLAG_SET(buffer, flag); },
          [&](GstBuffer* output) {
            EXPECT_EQ(GST_BUFFER_FLAGS(output) & ~guint{GST_BUFFER_FLAG_TAG_MEMORY} &
                          ~guint{GST_BUFFER_FLAG_DISCONT},
                      flag & ~guint{GST_BUFFER_FLAG_DISCONT});
            EXPECT_EQ(GST_BUFFER_FLAG_IS_SET(output, GST_BUFFER_FLAG_DISCONT),
                      flag == GST_BUFFER_FLAG_DISCONT);
          });
}

}  // namespace
