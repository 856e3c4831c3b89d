// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers that lie about themselves, and downstream's that cannot hold a picture: an error that
// names the plane or the number, and nothing pushed. The sanitizers and valgrind watch.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/element.h"
#include "tests/support/layout.h"
#include "tests/support/pool.h"
#include "tests/support/unmappable.h"

namespace {

using check::Harness;
using check::Layout;
using check::Settings;
using check::video_info;

/// A number that need not be one of GStreamer's.
GstVideoFormat format_of(unsigned number) {
  return static_cast<GstVideoFormat>(number);
}

const oracle::Mask kMask{3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45};

/// A way to spoil a buffer, and words that the error must have.
struct Hostile {
  const char* name;
  std::function<GstBuffer*(const GstVideoInfo& info, const oracle::Bytes& frame)> make;
  const char* says;
};

std::ostream& operator<<(std::ostream& out, const Hostile& hostile) {
  return out << hostile.name;
}

using Change = void (*)(GstVideoMeta& meta);

/// A plain buffer with something changed in its GstVideoMeta.
Hostile meta(const char* name, const char* says, Change change) {
  return {name,
          [change](const GstVideoInfo& info, const oracle::Bytes& frame) {
            GstBuffer* buffer = check::lay_out(info, frame, {});
            change(*gst_buffer_get_video_meta(buffer));
            return buffer;
          },
          says};
}

guint last(const GstVideoMeta& meta) {
  return meta.n_planes - 1;
}

const Hostile kHostile[] = {
    {"HalfASize",
     [](const GstVideoInfo&, const oracle::Bytes& frame) {
       return check::make_buffer(oracle::Bytes(frame.begin(), frame.begin() + frame.size() / 2));
     },
     "plane"},
    {"Empty", [](const GstVideoInfo&, const oracle::Bytes&) { return gst_buffer_new(); },
     "plane 0"},
    {"EmptyMemory",
     [](const GstVideoInfo&, const oracle::Bytes&) {
       return gst_buffer_new_allocate(nullptr, 0, nullptr);
     },
     "plane 0"},
    {"OneByte",
     [](const GstVideoInfo&, const oracle::Bytes&) { return check::make_buffer(oracle::Bytes(1)); },
     "plane 0"},
    {"ResizedToOneRow",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       GstBuffer* buffer = check::lay_out(info, frame, {});
       gst_buffer_resize(buffer, 0, GST_VIDEO_INFO_PLANE_STRIDE(&info, 0));
       return buffer;
     },
     "plane 0"},
    {"WithoutItsLastMemory",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       Layout layout;
       layout.memories = check::Memories::kCutInPlanes;
       GstBuffer* buffer = check::lay_out(info, frame, layout);
       gst_buffer_remove_memory(buffer, gst_buffer_n_memory(buffer) - 1);
       return buffer;
     },
     "plane"},
    {"MemoryThatCannotBeMapped",
     [](const GstVideoInfo&, const oracle::Bytes& frame) {
       GstBuffer* buffer = gst_buffer_new();
       gst_buffer_append_memory(buffer, check::unmappable_memory(frame.size()));
       return buffer;
     },
     "mapped"},
    meta("StrideEightTimesTooLarge", "plane", [](GstVideoMeta& m) { m.stride[0] *= 8; }),
    meta("LastStrideEightTimesTooLarge", "plane", [](GstVideoMeta& m) { m.stride[last(m)] *= 8; }),
    meta("LastStrideALittleTooLarge", "plane", [](GstVideoMeta& m) { m.stride[last(m)] += 64; }),
    meta("StrideMaximum", "plane 0", [](GstVideoMeta& m) { m.stride[0] = G_MAXINT; }),
    meta("StrideMinimum", "plane 0", [](GstVideoMeta& m) { m.stride[0] = G_MININT; }),
    meta("LastStrideMinimum", "plane", [](GstVideoMeta& m) { m.stride[last(m)] = G_MININT; }),
    meta("StrideZero", "plane 0", [](GstVideoMeta& m) { m.stride[0] = 0; }),
    meta("LastStrideZero", "stride of 0", [](GstVideoMeta& m) { m.stride[last(m)] = 0; }),
    meta("StrideBelowARow", "stride of 3", [](GstVideoMeta& m) { m.stride[0] = 3; }),
    meta("StrideMinusBelowARow", "stride of -3", [](GstVideoMeta& m) { m.stride[0] = -3; }),
    meta("NegativeStrideFromTheStart", "plane 0",
         [](GstVideoMeta& m) { m.stride[0] = -m.stride[0]; }),
    meta("NegativeStridePastTheStart", "plane",
         [](GstVideoMeta& m) { m.stride[last(m)] = -m.stride[last(m)] * 99; }),
    meta("LastPlaneAtTheEnd", "plane",
         [](GstVideoMeta& m) { m.offset[last(m)] = gst_buffer_get_size(m.buffer) - 1; }),
    meta("FirstPlaneAfterTheEnd", "plane 0",
         [](GstVideoMeta& m) { m.offset[0] = gst_buffer_get_size(m.buffer); }),
    meta("OffsetMaximum", "plane 0", [](GstVideoMeta& m) { m.offset[0] = G_MAXSIZE; }),
    meta("LastOffsetWrapsIntoTheBuffer", "plane",
         [](GstVideoMeta& m) { m.offset[last(m)] = G_MAXSIZE - 63; }),
    meta("OffsetMaximumSigned", "plane 0", [](GstVideoMeta& m) { m.offset[0] = G_MAXINT64; }),
    meta("OffsetAndStrideMinimum", "plane 0",
         [](GstVideoMeta& m) {
           m.offset[0] = gsize{1} << 63;
           m.stride[0] = G_MININT;
         }),
    meta("AnotherFormat", "v210",
         [](GstVideoMeta& m) {
           m.format =
               m.format == GST_VIDEO_FORMAT_v210 ? GST_VIDEO_FORMAT_r210 : GST_VIDEO_FORMAT_v210;
         }),
    meta("UnknownFormat", "format", [](GstVideoMeta& m) { m.format = GST_VIDEO_FORMAT_UNKNOWN; }),
    meta("FormatThatDoesNotExist", "9999", [](GstVideoMeta& m) { m.format = format_of(9999); }),
    meta("NarrowerThanCaps", "30x16", [](GstVideoMeta& m) { m.width -= 2; }),
    meta("LowerThanCaps", "32x1", [](GstVideoMeta& m) { m.height = 1; }),
    meta("WithoutSize", "0x0", [](GstVideoMeta& m) { m.width = m.height = 0; }),
    meta("WithoutPlanes", "0 planes", [](GstVideoMeta& m) { m.n_planes = 0; }),
    meta("OnePlaneMore", "planes", [](GstVideoMeta& m) { ++m.n_planes; }),
    meta("PlanesMaximum", "4294967295", [](GstVideoMeta& m) { m.n_planes = G_MAXUINT; }),
    {"LargerPictureInMemoryOfTheCaps",
     [](const GstVideoInfo& info, const oracle::Bytes& frame) {
       GstVideoInfo larger = video_info(GST_VIDEO_INFO_FORMAT(&info), 128, 64);
       GstBuffer* buffer = check::make_buffer(frame);
       gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE,
                                      GST_VIDEO_INFO_FORMAT(&info), 128, 64,
                                      GST_VIDEO_INFO_N_PLANES(&info), larger.offset, larger.stride);
       return buffer;
     },
     "plane"},
};

class HostileBuffers : public testing::TestWithParam<Hostile> {
 protected:
  /// One error of the stream that has the words, and no picture.
  void expect_refusal(Harness& harness, GstFlowReturn flow, const char* which, const char* says) {
    EXPECT_EQ(flow, GST_FLOW_ERROR);
    EXPECT_EQ(harness.pull_buffer(), nullptr);
    const std::vector<check::Message> errors = harness.errors();
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].domain, GST_STREAM_ERROR);
    EXPECT_NE(errors[0].text.find(which), std::string::npos) << errors[0].text;
    EXPECT_NE(errors[0].text.find(says), std::string::npos) << errors[0].text;
  }
};

TEST_P(HostileBuffers, AsInputAreAnErrorAndNothingIsPushed) {
  Harness harness(Settings{{"mask", kMask.text()}});
  for (const GstVideoFormat format : check::layout_families()) {
    SCOPED_TRACE(gst_video_format_to_string(format));
    const GstVideoInfo info = video_info(format, 32, 16);
    const oracle::Bytes frame = oracle::random_frame(info, 1);
    const oracle::Bytes wanted = oracle::expected(info, frame, kMask, {});
    harness.set_caps(info);
    EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame), wanted), 0);
    expect_refusal(harness, harness.push_buffer(GetParam().make(info, frame)), "input buffer",
                   GetParam().says);
    EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame), wanted), 0) << "and then";
  }
}

TEST_P(HostileBuffers, AsOutputAreAnErrorAndNothingIsPushed) {
  for (const GstVideoFormat format : check::layout_families()) {
    SCOPED_TRACE(gst_video_format_to_string(format));
    const GstVideoInfo info = video_info(format, 32, 16);
    const oracle::Bytes frame = oracle::random_frame(info, 1);
    GstBufferPool* pool = check::make_pool([&] { return GetParam().make(info, frame); });
    Harness harness(Settings{{"mask", kMask.text()}});
    check::offer_downstream(harness.element(), pool, static_cast<guint>(info.size));
    gst_object_unref(pool);
    harness.set_caps(info);
    expect_refusal(harness, harness.push(frame), "output buffer", GetParam().says);
  }
}

INSTANTIATE_TEST_SUITE_P(All, HostileBuffers, testing::ValuesIn(kHostile),
                         [](const testing::TestParamInfo<Hostile>& row) { return row.param.name; });

/// Input planes may share bytes; output planes that do would hold a picture that nobody asked for.
TEST(PlanesThatShareBytes, AreServedAsInputAndRefusedAsOutput) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_Y444, 32, 16);
  const oracle::Bytes frame = oracle::random_frame(info, 1);
  // Rows that lie apart, so that a byte is shared only where a row begins within the other's.
  Layout padded;
  padded.extra_stride = {32, 32, 32};
  const auto overlapping = [&](const Layout& layout, int offset) {
    GstBuffer* buffer = check::lay_out(info, frame, layout);
    GstVideoMeta& meta = *gst_buffer_get_video_meta(buffer);
    meta.offset[2] = meta.offset[1] + static_cast<gsize>(offset);
    return buffer;
  };
  const std::pair<Layout, int> cases[] = {{{}, 0},      {{}, 1},       {{}, 32},    {padded, 31},
                                          {padded, -1}, {padded, -31}, {padded, 64}};
  for (const auto& [layout, offset] : cases) {
    SCOPED_TRACE(std::to_string(offset) + (layout.extra_stride[0] > 0 ? ", padded" : ""));
    GstBuffer* input = overlapping(layout, offset);
    const oracle::Bytes seen = check::picture_of(input, info);
    Harness plain(Settings{{"mask", kMask.text()}});
    plain.set_caps(info);
    ASSERT_EQ(plain.push_buffer(input), GST_FLOW_OK);
    EXPECT_EQ(
        oracle::differing_samples(info, plain.pull(), oracle::expected(info, seen, kMask, {})), 0);

    GstBufferPool* pool = check::make_pool(
        [&, &layout = layout, offset = offset] { return overlapping(layout, offset); });
    Harness harness(Settings{{"mask", kMask.text()}});
    check::offer_downstream(harness.element(), pool, static_cast<guint>(info.size));
    gst_object_unref(pool);
    harness.set_caps(info);
    EXPECT_EQ(harness.push(frame), GST_FLOW_ERROR);
    EXPECT_EQ(harness.pull_buffer(), nullptr);
    const std::vector<check::Message> errors = harness.errors();
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_NE(errors[0].text.find("planes 1 and 2"), std::string::npos) << errors[0].text;
  }
}

TEST(ReadOnlyMemory, AsOutputIsReplacedOrRefused) {
  for (const GstVideoFormat format : check::layout_families()) {
    SCOPED_TRACE(gst_video_format_to_string(format));
    const GstVideoInfo info = video_info(format, 32, 16);
    const oracle::Bytes frame = oracle::random_frame(info, 1);
    Layout layout;
    layout.holder = check::Holder::kReadOnly;
    GstBufferPool* pool = check::make_pool([&] { return check::lay_out(info, frame, layout); });
    Harness harness(Settings{{"mask", kMask.text()}});
    check::offer_downstream(harness.element(), pool, static_cast<guint>(info.size));
    gst_object_unref(pool);
    harness.set_caps(info);
    if (harness.push(frame) == GST_FLOW_OK)
      EXPECT_EQ(
          oracle::differing_samples(info, harness.pull(), oracle::expected(info, frame, kMask, {})),
          0);
    else
      EXPECT_EQ(harness.errors().size(), 1u);
  }
}

/// The last row needs no padding after it.
TEST(Padding, MayBeMissingAfterTheLastRow) {
  const GstVideoInfo info = video_info(GST_VIDEO_FORMAT_GRAY8, 17, 9);
  oracle::Bytes frame = oracle::random_frame(info, 1);
  const oracle::Bytes wanted = oracle::expected(info, frame, kMask, {});
  const std::size_t needed =
      static_cast<std::size_t>(GST_VIDEO_INFO_PLANE_STRIDE(&info, 0)) * 8 + 17;
  Harness harness(Settings{{"mask", kMask.text()}});
  harness.set_caps(info);
  frame.resize(needed);
  EXPECT_EQ(oracle::differing_samples(info, harness.filter(frame), wanted), 0);
  frame.resize(needed - 1);
  EXPECT_EQ(harness.push(frame), GST_FLOW_ERROR);
  EXPECT_EQ(harness.pull_buffer(), nullptr);
}

/// Caps that no camera sends, or whose buffers hold more than one picture.
TEST(HostileCaps, AreRefused) {
  const char* const fields[] = {
      "width=0,height=0",
      "width=0,height=16",
      "width=16,height=0",
      "width=-1,height=16",
      "width=2147483647,height=1",
      "width=1,height=2147483647",
      "width=2147483647,height=2147483647",
      "width=65535,height=65535",
      "width=46340,height=46340",
      "width=32769,height=1",
      "width=1,height=32769",
      "width=16",
      "height=16",
      "width=16,height=16,interlace-mode=fields",
      "width=16,height=16,interlace-mode=nonsense",
      "width=16,height=16,interlace-mode=alternate",
      "width=16,height=16,multiview-mode=separated,views=2",
  };
  for (const GstVideoFormat format : check::layout_families())
    for (const char* text : fields) {
      SCOPED_TRACE(std::string(gst_video_format_to_string(format)) + " " + text);
      const std::string caps = std::string("video/x-raw,format=") +
                               gst_video_format_to_string(format) + ",framerate=25/1," + text;
      GstCaps* parsed = gst_caps_from_string(caps.c_str());
      GstVideoInfo info;
      const bool small =
          gst_video_info_from_caps(&info, parsed) && info.size > 0 && info.size < (1 << 20);
      Harness harness(Settings{{"mask", "box:3"}});
      gst_harness_set_src_caps(harness.get(), parsed);
      EXPECT_NE(harness.push(oracle::Bytes(small ? info.size : 16)), GST_FLOW_OK);
      EXPECT_EQ(harness.pull_buffer(), nullptr);
    }
}

/// The template's only mode with the feature would end up in the output's caps alone.
TEST(HostileCaps, WithTheFeatureOfFieldsAloneAreRefused) {
  Harness harness(Settings{{"mask", "box:3"}});
  gst_harness_set_src_caps(
      harness.get(),
      gst_caps_from_string("video/x-raw(format:Interlaced),format=GRAY8,width=16,height=16,"
                           "framerate=25/1"));
  EXPECT_NE(harness.push(oracle::Bytes(256)), GST_FLOW_OK);
  EXPECT_EQ(harness.pull_buffer(), nullptr);
  const std::vector<check::Message> errors = harness.errors();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_NE(errors[0].text.find("interlace-mode=alternate"), std::string::npos) << errors[0].text;
}

/// What caps may leave out, or say in words that nobody knows.
TEST(OddCaps, AreRefusedOrGiveThePictureOfTheirInfo) {
  const char* const fields[] = {
      "framerate=0/1",
      "framerate=2147483647/1",
      "framerate=25/1,pixel-aspect-ratio=2147483647/1",
      "framerate=25/1,colorimetry=nonsense",
      "framerate=25/1,colorimetry=9:9:9:9",
      "framerate=25/1,colorimetry=1:4:0:1",
      "framerate=25/1,colorimetry=2:4:5:1",
      "framerate=25/1,chroma-site=nonsense",
      "framerate=25/1,views=99",
      "framerate=25/1,multiview-mode=side-by-side",
      "framerate=25/1,interlace-mode=interleaved,field-order=nonsense",
      "framerate=25/1,max-framerate=0/1",
      "framerate=25/1,unknown-field=1",
      "max-framerate=25/1",
  };
  for (const GstVideoFormat format : check::layout_families())
    for (const char* text : fields) {
      SCOPED_TRACE(std::string(gst_video_format_to_string(format)) + " " + text);
      const std::string full = std::string("video/x-raw,format=") +
                               gst_video_format_to_string(format) + ",width=18,height=10," + text;
      GstCaps* caps = gst_caps_from_string(full.c_str());
      GstVideoInfo info;
      const bool parsed = gst_video_info_from_caps(&info, caps) != FALSE;
      // No value of the enumeration: GStreamer's functions take it for an unknown range.
      if (full.find("9:9:9:9") != std::string::npos)
        info.colorimetry.range = GST_VIDEO_COLOR_RANGE_UNKNOWN;
      // Beside the picture lies black, which the range of the codes tells.
      Harness harness(Settings{{"mask", kMask.text()}, {"border", "zero"}});
      gst_harness_set_src_caps(harness.get(), caps);
      const oracle::Bytes frame =
          parsed ? oracle::random_frame(info, 1) : oracle::Bytes(std::size_t{1} << 14);
      if (harness.push(frame) != GST_FLOW_OK) {
        EXPECT_EQ(harness.pull_buffer(), nullptr);
        continue;
      }
      GstBuffer* output = harness.pull_buffer();
      ASSERT_NE(output, nullptr);
      ASSERT_TRUE(parsed);
      oracle::Options options;
      options.border = "zero";
      options.fields = GST_VIDEO_INFO_INTERLACE_MODE(&info) == GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
      EXPECT_EQ(oracle::differing_samples(info, check::picture_of(output, info),
                                          oracle::expected(info, frame, kMask, options)),
                0);
      gst_buffer_unref(output);
    }
}

}  // namespace
