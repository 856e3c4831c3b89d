// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fuzz/picture_judge.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

namespace convolve::fuzz {
namespace {

const oracle::Mask kMasks[] = {
    {3, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}, 45},
    {1, 1, {3}, 4},
    {3, 3, {0, -1, 0, -1, 5, -1, 0, -1, 0}},
    {5, 1, {1, -2, 4, 3, 1}, 7},
    {1, 4, {1, 2, 2, 2}, 7},
    {3, 3, {1, 1, 1, 1, 1, 1, 1, 1, 1}, 9},
};
const char* const kBorders[] = {"replicate", "zero", "reflect", "mirror", "wrap"};

/// What is wrong with an answer that has no picture.
std::string judge_refusal(const std::vector<check::Message>& errors, GstFlowReturn flow,
                          bool is_said) {
  if (flow == GST_FLOW_OK) return "FLOW_OK and no picture";
  if (errors.size() > 1)
    return std::to_string(errors.size()) + " error messages: " + errors[1].text;
  if (is_said && errors.empty()) return std::string(gst_flow_get_name(flow)) + " without a message";
  if (is_said && errors[0].text.empty()) return "an error message without a text";
  return "";
}

}  // namespace

check::Settings Filter::settings() const {
  return {{"mask", mask->text()}, {"border", options.border}, {"threads", "1"}};
}

Filter read_filter(ByteReader& reader) {
  Filter filter{&reader.pick(kMasks), {}};
  filter.options.border = reader.pick(kBorders);
  return filter;
}

std::vector<PlaneRows> plane_rows(const GstVideoInfo& info, const GstVideoMeta* meta) {
  const guint said = meta != nullptr ? meta->n_planes : GST_VIDEO_MAX_PLANES;
  std::vector<PlaneRows> planes(std::min(said, GST_VIDEO_INFO_N_PLANES(&info)));
  for (guint p = 0; p < planes.size(); ++p) {
    planes[p].offset =
        static_cast<std::int64_t>(meta != nullptr ? meta->offset[p] : info.offset[p]);
    planes[p].stride = meta != nullptr ? meta->stride[p] : info.stride[p];
  }
  for (guint c = 0; c < GST_VIDEO_INFO_N_COMPONENTS(&info); ++c) {
    const auto p = static_cast<std::size_t>(GST_VIDEO_INFO_COMP_PLANE(&info, c));
    if (p >= planes.size()) continue;
    planes[p].rows = GST_VIDEO_INFO_COMP_HEIGHT(&info, c);
    planes[p].row_bytes = std::max(planes[p].row_bytes, GST_VIDEO_INFO_COMP_WIDTH(&info, c) *
                                                            GST_VIDEO_INFO_COMP_PSTRIDE(&info, c));
  }
  return planes;
}

bool lie_within(const std::vector<PlaneRows>& planes, std::size_t size) {
  for (const PlaneRows& plane : planes) {
    if (std::abs(plane.stride) < plane.row_bytes) return false;
    // Wide enough that no product or sum of a buffer's numbers overflows.
    const __int128 first = plane.offset;
    const __int128 last = first + __int128{plane.stride} * (plane.rows - 1);
    if (std::min(first, last) < 0 ||
        std::max(first, last) + plane.row_bytes > static_cast<__int128>(size))
      return false;
  }
  return true;
}

oracle::Bytes gathered(const oracle::Bytes& bytes, const std::vector<PlaneRows>& planes,
                       const GstVideoInfo& info) {
  oracle::Bytes frame(GST_VIDEO_INFO_SIZE(&info));
  for (std::size_t p = 0; p < planes.size(); ++p)
    for (int y = 0; y < planes[p].rows; ++y)
      std::memcpy(frame.data() + GST_VIDEO_INFO_PLANE_OFFSET(&info, p) +
                      static_cast<std::size_t>(y) * GST_VIDEO_INFO_PLANE_STRIDE(&info, p),
                  bytes.data() + planes[p].offset + y * planes[p].stride,
                  static_cast<std::size_t>(planes[p].row_bytes));
  return frame;
}

oracle::Bytes bytes_of(GstBuffer* buffer) {
  oracle::Bytes bytes(gst_buffer_get_size(buffer));
  gst_buffer_extract(buffer, 0, bytes.data(), bytes.size());
  return bytes;
}

std::string push_and_judge(check::Harness& harness, GstBuffer* buffer, const GstVideoInfo& info,
                           const oracle::Bytes& frame, const Filter& filter, Answer right,
                           bool is_said) {
  const GstFlowReturn flow = harness.push_buffer(buffer);
  GstBuffer* const output = harness.pull_buffer();
  const std::vector<check::Message> errors = harness.errors();
  if (output == nullptr) {
    const std::string fault = judge_refusal(errors, flow, is_said);
    if (!fault.empty()) return fault;
    if (right == Answer::kPicture)
      return "a good picture is refused: " +
             (errors.empty() ? std::string(gst_flow_get_name(flow)) : errors[0].text);
    return "";
  }
  const std::vector<PlaneRows> planes = plane_rows(info, gst_buffer_get_video_meta(output));
  const oracle::Bytes bytes = bytes_of(output);
  gst_buffer_unref(output);
  if (right == Answer::kRefusal) return "a picture from a buffer that holds none";
  if (flow != GST_FLOW_OK) return std::string("a picture and ") + gst_flow_get_name(flow);
  if (!errors.empty()) return "a picture and an error: " + errors[0].text;
  if (!lie_within(planes, bytes.size())) return "an output buffer that does not hold its picture";
  const std::int64_t differing =
      oracle::differing_samples(info, gathered(bytes, planes, info),
                                oracle::expected(info, frame, *filter.mask, filter.options));
  return differing == 0 ? "" : std::to_string(differing) + " samples are wrong";
}

}  // namespace convolve::fuzz
