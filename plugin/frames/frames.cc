// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/frames/frames.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "plugin/frames/cudamemory.h"
#include "plugin/frames/page_locked_allocator.h"

namespace cudaconvolve {
namespace {

using convolve::FrameFormat;
using convolve::FrameView;
using convolve::PlaneFormat;
using convolve::Status;

/// Where a plane lies in its buffer, in bytes.
struct PlaneExtent {
  std::int64_t first_row = 0;  ///< Start of row 0.
  std::int64_t stride = 0;     ///< From row to row; may be negative.
  std::int64_t begin = 0;      ///< All rows lie in [begin, end).
  std::int64_t end = 0;
};

Status bad_plane(int plane, const std::string& what) {
  return convolve::invalid_argument("plane " + std::to_string(plane) + " of the buffer " + what);
}

Status measure_plane(int index, const PlaneFormat& plane, std::int64_t offset, std::int64_t stride,
                     std::int64_t buffer_size, PlaneExtent* extent) {
  const std::int64_t pitch = std::abs(stride);
  if (pitch < plane.row_bytes)
    return bad_plane(index, "has a stride of " + std::to_string(stride) + " bytes for rows of " +
                                std::to_string(plane.row_bytes));
  std::int64_t to_last_row = 0;
  std::int64_t last_row = 0;
  std::int64_t end = 0;
  if (__builtin_mul_overflow(stride, std::int64_t{plane.rows} - 1, &to_last_row) ||
      __builtin_add_overflow(offset, to_last_row, &last_row) ||
      __builtin_add_overflow(std::max(offset, last_row), std::int64_t{plane.row_bytes}, &end))
    return bad_plane(index, "has an extent that overflows");
  const std::int64_t begin = std::min(offset, last_row);
  if (begin < 0 || end > buffer_size)
    return bad_plane(index, "covers the bytes " + std::to_string(begin) + " to " +
                                std::to_string(end) + " of a buffer of " +
                                std::to_string(buffer_size));
  *extent = {offset, stride, begin, end};
  return {};
}

/// True if a byte belongs to rows of both planes. Planes may lie side by side, each row of one next
/// to a row of the other.
bool share_bytes(const PlaneExtent& a, int a_row_bytes, const PlaneExtent& b, int b_row_bytes) {
  if (a.end <= b.begin || b.end <= a.begin) return false;
  const std::int64_t pitch = std::abs(a.stride);
  if (pitch != std::abs(b.stride)) return true;
  const std::int64_t from_a_to_b = ((b.first_row - a.first_row) % pitch + pitch) % pitch;
  return from_a_to_b < a_row_bytes || pitch - from_a_to_b < b_row_bytes;
}

/// Planes of a picture that is written must each have their own bytes.
Status check_apart(const FrameFormat& format, const PlaneExtent* extents) {
  for (int b = 1; b < format.plane_count; ++b)
    for (int a = 0; a < b; ++a)
      if (share_bytes(extents[a], format.planes[a].row_bytes, extents[b],
                      format.planes[b].row_bytes))
        return convolve::invalid_argument("planes " + std::to_string(a) + " and " +
                                          std::to_string(b) + " of the buffer share bytes");
  return {};
}

/// A hostile meta may hold a number that is no value of the enumeration, and loading that as one is
/// undefined: so it is copied as a number.
int format_number(const GstVideoMeta& meta) {
  int number = 0;
  std::memcpy(&number, &meta.format, sizeof number);
  return number;
}

/// GStreamer names only formats that it knows, and from 1.24 on complains when asked for others.
std::string format_text(int number) {
  guint count = 0;
  const GstVideoFormat* const known = gst_video_formats_raw(&count);
  const auto* const found = std::find_if(known, known + count, [number](GstVideoFormat format) {
    return static_cast<int>(format) == number;
  });
  return found != known + count ? gst_video_format_to_string(*found) : std::to_string(number);
}

/// `meta` may describe more than the caps do (decoders' coded sizes), never less or something else.
Status check_meta(const GstVideoMeta& meta, const GstVideoInfo& info) {
  if (format_number(meta) != GST_VIDEO_INFO_FORMAT(&info))
    return convolve::invalid_argument("the buffer's GstVideoMeta says format " +
                                      format_text(format_number(meta)) + ", the caps say " +
                                      format_text(GST_VIDEO_INFO_FORMAT(&info)));
  if (meta.n_planes != GST_VIDEO_INFO_N_PLANES(&info) ||
      meta.width < static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)) ||
      meta.height < static_cast<guint>(GST_VIDEO_INFO_FIELD_HEIGHT(&info)))
    return convolve::invalid_argument(
        "the buffer's GstVideoMeta says " + std::to_string(meta.width) + "x" +
        std::to_string(meta.height) + " in " + std::to_string(meta.n_planes) +
        " planes, the caps say " + std::to_string(GST_VIDEO_INFO_WIDTH(&info)) + "x" +
        std::to_string(GST_VIDEO_INFO_FIELD_HEIGHT(&info)) + " in " +
        std::to_string(GST_VIDEO_INFO_N_PLANES(&info)));
  return {};
}

/// A plane's memory block: the blocks are mapped one by one, for a buffer mapped as a whole is
/// merged into a copy when it has several.
struct Placement {
  guint first_block = 0;
  guint block_count = 0;
  std::int64_t begin_in_block = 0;
};

bool place(GstBuffer* buffer, const PlaneExtent& extent, Placement* placement) {
  gsize skip = 0;
  if (!gst_buffer_find_memory(buffer, static_cast<gsize>(extent.begin),
                              static_cast<gsize>(extent.end - extent.begin),
                              &placement->first_block, &placement->block_count, &skip))
    return false;
  placement->begin_in_block = static_cast<std::int64_t>(skip);
  return true;
}

}  // namespace

MappedFrame::~MappedFrame() {
  for (int m = 0; m < map_count_; ++m)
    gst_buffer_unmap(buffer_, &maps_[m]);
}

Status MappedFrame::map(GstBuffer* buffer, const GstVideoInfo& info, const FrameFormat& format,
                        GstMapFlags flags, bool on_device) {
  const GstVideoMeta* meta = gst_buffer_get_video_meta(buffer);
  if (meta != nullptr)
    if (Status status = check_meta(*meta, info); !status.ok()) return status;
  const bool in_cuda_memory = is_in_cuda_memory(buffer);
  const GstVideoInfo& layout = in_cuda_memory ? cuda_memory_layout(buffer) : info;
  if (meta == nullptr && GST_VIDEO_INFO_FORMAT(&layout) != GST_VIDEO_INFO_FORMAT(&info))
    return convolve::invalid_argument(
        "the buffer's CUDA memory is of format " + format_text(GST_VIDEO_INFO_FORMAT(&layout)) +
        ", the caps say " + format_text(GST_VIDEO_INFO_FORMAT(&info)));

  const std::int64_t buffer_size = static_cast<std::int64_t>(gst_buffer_get_size(buffer));
  PlaneExtent extents[convolve::kMaxPlanes];
  Placement placements[convolve::kMaxPlanes];
  bool whole_planes = true;
  for (int p = 0; p < format.plane_count; ++p) {
    const gsize offset = meta ? meta->offset[p] : GST_VIDEO_INFO_PLANE_OFFSET(&layout, p);
    const gint stride = meta ? meta->stride[p] : GST_VIDEO_INFO_PLANE_STRIDE(&layout, p);
    if (offset > static_cast<gsize>(buffer_size))
      return bad_plane(p, "starts at byte " + std::to_string(offset) + " of a buffer of " +
                              std::to_string(buffer_size));
    if (Status status = measure_plane(p, format.planes[p], static_cast<std::int64_t>(offset),
                                      stride, buffer_size, &extents[p]);
        !status.ok())
      return status;
    if (!place(buffer, extents[p], &placements[p])) return bad_plane(p, "lies outside its memory");
    whole_planes = whole_planes && placements[p].block_count == 1;
  }
  if ((flags & GST_MAP_WRITE) != 0)
    if (Status status = check_apart(format, extents); !status.ok()) return status;

  // Planes that reach across blocks are merged, in system memory.
  on_device = on_device && in_cuda_memory && whole_planes;
  if (on_device) flags = on_the_device(flags);
  buffer_ = buffer;
  view_.format = format;
  guint blocks[GST_VIDEO_MAX_PLANES] = {};
  // A buffer of several blocks that is mapped as a whole is a copy.
  bool page_locked = format.plane_count > 0;
  for (int p = 0; p < format.plane_count; ++p) {
    const guint block = whole_planes ? placements[p].first_block : 0;
    int m = 0;
    while (m < map_count_ && blocks[m] != block)
      ++m;
    if (m == map_count_) {
      if (on_device && is_written_by_cpu(buffer, block)) view_.owner_may_wait = false;
      if (!gst_buffer_map_range(buffer, block, whole_planes ? 1 : -1, &maps_[m], flags))
        return Status(convolve::Code::kDeviceError,
                      on_device ? "the buffer's CUDA memory cannot be mapped"
                                : "the buffer's memory cannot be mapped into system memory");
      blocks[map_count_++] = block;
    }
    const GstMapInfo& mapped = maps_[m];
    const std::int64_t begin = whole_planes ? placements[p].begin_in_block : extents[p].begin;
    if (begin + (extents[p].end - extents[p].begin) > static_cast<std::int64_t>(mapped.size))
      return bad_plane(
          p, "is larger than its mapped memory of " + std::to_string(mapped.size) + " bytes");
    view_.data[p] = mapped.data + begin + (extents[p].first_row - extents[p].begin);
    view_.pitch[p] = static_cast<std::ptrdiff_t>(extents[p].stride);
    page_locked = page_locked && is_page_locked(mapped.memory);
  }
  if (page_locked) view_.memory = convolve::Memory::kPageLocked;
  if (on_device) {
    view_.memory = convolve::Memory::kCuda;
    view_.owner_stream = cuda_memory_stream(buffer);
  }
  return {};
}

int alignment_of(const FrameView& frame) {
  int alignment = convolve::kPlaneAlignment;
  if (frame.memory != convolve::Memory::kCuda) return alignment;
  for (int p = 0; p < frame.format.plane_count; ++p)
    while (!convolve::rows_lie_on(reinterpret_cast<std::uintptr_t>(frame.data[p]), frame.pitch[p],
                                  frame.format.planes[p].rows, alignment))
      alignment /= 2;
  return alignment;
}

FrameView field_view(const FrameView& frame, int parity) {
  FrameView field = frame;
  const auto rows_of_parity = [parity](int rows) { return (rows + 1 - parity) / 2; };
  for (int p = 0; p < field.format.plane_count; ++p) {
    PlaneFormat& plane = field.format.planes[p];
    // A plane without rows of this parity keeps its pointer: nothing beyond its end is formed.
    if (plane.rows > parity) field.data[p] += parity * frame.pitch[p];
    field.pitch[p] = 2 * frame.pitch[p];
    plane.rows = rows_of_parity(plane.rows);
    for (int c = 0; c < plane.component_count; ++c)
      plane.components[c].height = rows_of_parity(plane.components[c].height);
  }
  return field;
}

}  // namespace cudaconvolve
