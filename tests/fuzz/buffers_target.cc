// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers of any layout, and those that lie about themselves, as the element's input and as what
// downstream's pool gives it for output: the right picture, or an error with one message.
#include <gst/gst.h>

#include <algorithm>
#include <optional>

#include "tests/fuzz/fuzzed_buffer.h"
#include "tests/fuzz/picture_judge.h"
#include "tests/fuzz/target.h"
#include "tests/support/pool.h"

namespace convolve::fuzz {
namespace {

constexpr int kMostBuffers = 4;

GstVideoInfo read_info(ByteReader& reader) {
  constexpr GstVideoInterlaceMode kModes[] = {GST_VIDEO_INTERLACE_MODE_PROGRESSIVE,
                                              GST_VIDEO_INTERLACE_MODE_INTERLEAVED,
                                              GST_VIDEO_INTERLACE_MODE_ALTERNATE};
  const std::vector<GstVideoFormat>& formats = check::template_formats();
  const GstVideoFormat format =
      formats[static_cast<std::size_t>(reader.below(static_cast<int>(formats.size())))];
  const int width = 1 + reader.below(48);
  const int height = 1 + reader.below(32);
  return check::video_info(format, width, height, reader.pick(kModes));
}

bool holds_a_picture(const FuzzedBuffer& buffer, const GstVideoInfo& info,
                     const std::vector<PlaneRows>& planes) {
  const Layout& layout = buffer.layout;
  if (buffer.has_meta && (layout.format != GST_VIDEO_INFO_FORMAT(&info) ||
                          layout.n_planes != GST_VIDEO_INFO_N_PLANES(&info) ||
                          layout.width < static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)) ||
                          layout.height < static_cast<guint>(GST_VIDEO_INFO_FIELD_HEIGHT(&info))))
    return false;
  return lie_within(planes, buffer.bytes.size());
}

std::vector<PlaneRows> planes_of(const FuzzedBuffer& buffer, const GstVideoInfo& info) {
  GstBuffer* made = buffer.make();
  std::vector<PlaneRows> planes = plane_rows(info, gst_buffer_get_video_meta(made));
  gst_buffer_unref(made);
  return planes;
}

/// True if some rows of two planes may lie in each other's way.
bool may_overlap(const std::vector<PlaneRows>& planes) {
  const auto begin = [](const PlaneRows& p) {
    return std::min(p.offset, p.offset + p.stride * (p.rows - 1));
  };
  const auto end = [](const PlaneRows& p) {
    return std::max(p.offset, p.offset + p.stride * (p.rows - 1)) + p.row_bytes;
  };
  for (std::size_t b = 1; b < planes.size(); ++b)
    for (std::size_t a = 0; a < b; ++a)
      if (begin(planes[a]) < end(planes[b]) && begin(planes[b]) < end(planes[a])) return true;
  return false;
}

/// What the element may do with such an output buffer.
Answer answer_to_output(const FuzzedBuffer& buffer, const GstVideoInfo& info) {
  const std::vector<PlaneRows> planes = planes_of(buffer, info);
  if (!holds_a_picture(buffer, info, planes)) return Answer::kRefusal;
  return may_overlap(planes) || buffer.is_read_only() ? Answer::kEither : Answer::kPicture;
}

}  // namespace

void prepare() {
  gst_init(nullptr, nullptr);
}

std::string try_input(const std::string& bytes) {
  ByteReader reader(bytes);
  Filter filter = read_filter(reader);
  const GstVideoInfo info = read_info(reader);
  filter.options.fields =
      GST_VIDEO_INFO_INTERLACE_MODE(&info) == GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
  check::Harness harness(filter.settings());

  std::optional<FuzzedBuffer> downstream;
  Answer of_output = Answer::kPicture;
  if (reader.below(2) == 1) {
    downstream = read_buffer(reader, info);
    of_output = answer_to_output(*downstream, info);
    GstBufferPool* pool = check::make_pool([&downstream] { return downstream->make(); });
    check::offer_downstream(harness.element(), pool, static_cast<guint>(info.size));
    gst_object_unref(pool);
  }
  harness.set_caps(info);

  for (int count = 0; count < kMostBuffers && (count == 0 || !reader.empty()); ++count) {
    const FuzzedBuffer input = read_buffer(reader, info);
    const std::vector<PlaneRows> planes = planes_of(input, info);
    const bool good = holds_a_picture(input, info, planes);
    const oracle::Bytes frame =
        good ? gathered(input.bytes, planes, info) : oracle::Bytes(GST_VIDEO_INFO_SIZE(&info));
    const std::string fault = push_and_judge(harness, input.make(), info, frame, filter,
                                             good ? of_output : Answer::kRefusal, true);
    if (!fault.empty())
      return "buffer " + std::to_string(count) + " of " +
             gst_video_format_to_string(GST_VIDEO_INFO_FORMAT(&info)) + " " +
             std::to_string(GST_VIDEO_INFO_WIDTH(&info)) + "x" +
             std::to_string(GST_VIDEO_INFO_HEIGHT(&info)) + ": " + fault;
  }
  return "";
}

}  // namespace convolve::fuzz
