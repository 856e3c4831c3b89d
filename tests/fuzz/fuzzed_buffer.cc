// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fuzz/fuzzed_buffer.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/fuzz/picture_judge.h"

namespace convolve::fuzz {
namespace {

constexpr std::int64_t kMostBytes = std::int64_t{1} << 17;

GstMemory* wrapped(const std::uint8_t* bytes, std::size_t size, const Piece& piece) {
  const std::size_t around = static_cast<std::size_t>(piece.around);
  const std::size_t all = size + 2 * around;
  // Of this size and no larger: a sanitizer sees whatever reaches beyond.
  auto* copy = static_cast<std::uint8_t*>(g_malloc0(std::max<std::size_t>(all, 1)));
  if (size > 0) std::memcpy(copy + around, bytes, size);
  const auto flags = piece.read_only ? GST_MEMORY_FLAG_READONLY : static_cast<GstMemoryFlags>(0);
  return gst_memory_new_wrapped(flags, copy, all, around, size, copy, g_free);
}

/// A good layout: gaps before planes, padding, planes from below. Returns the bytes that it needs.
std::int64_t read_good_layout(ByteReader& reader, const GstVideoInfo& info, Layout& layout) {
  layout.format = GST_VIDEO_INFO_FORMAT(&info);
  layout.width = static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info));
  layout.height = static_cast<guint>(GST_VIDEO_INFO_FIELD_HEIGHT(&info));
  layout.n_planes = GST_VIDEO_INFO_N_PLANES(&info);
  const std::vector<PlaneRows> planes = plane_rows(info, nullptr);
  const bool last_first = reader.below(2) == 1;
  std::int64_t size = 0;
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const std::size_t p = last_first ? planes.size() - 1 - i : i;
    const bool upside_down = reader.below(4) == 1;
    const std::int64_t stride = planes[p].row_bytes + reader.below(20);
    const std::int64_t begin = size + reader.below(9);
    const std::int64_t last = begin + stride * (planes[p].rows - 1);
    layout.offset[p] = static_cast<gsize>(upside_down ? last : begin);
    layout.stride[p] = static_cast<gint>(upside_down ? -stride : stride);
    size = last + planes[p].row_bytes;
  }
  return size;
}

/// Another number in one place of the layout.
void spoil(ByteReader& reader, Layout& layout) {
  const int plane = reader.below(GST_VIDEO_MAX_PLANES);
  switch (reader.below(6)) {
    case 0:
      layout.offset[plane] =
          static_cast<gsize>(reader.number(static_cast<std::int64_t>(layout.offset[plane])));
      break;
    case 1:
      layout.stride[plane] = static_cast<gint>(reader.number(layout.stride[plane]));
      break;
    case 2:
      layout.width = static_cast<guint>(reader.number(layout.width));
      break;
    case 3:
      layout.height = static_cast<guint>(reader.number(layout.height));
      break;
    case 4:
      layout.n_planes = static_cast<guint>(reader.number(layout.n_planes));
      break;
    default:
      // Beyond 127, which needs more bits than the enumeration's values, C++ knows no such value.
      layout.format = static_cast<GstVideoFormat>(reader.below(128));
  }
}

std::vector<Piece> read_pieces(ByteReader& reader, std::size_t size) {
  std::vector<std::size_t> ends;
  for (int cuts = reader.below(5); cuts > 0; --cuts) {
    const std::size_t part = (std::size_t{reader.byte()} << 8) | reader.byte();
    ends.push_back(size == 0 ? 0 : part % size);
  }
  std::sort(ends.begin(), ends.end());
  ends.push_back(size);
  std::vector<Piece> pieces;
  for (const std::size_t end : ends) {
    const int kind = reader.byte();
    pieces.push_back({end, kind % 4 == 1 ? kind / 8 : 0, kind % 8 == 2});
  }
  return pieces;
}

}  // namespace

GstBuffer* FuzzedBuffer::make() const {
  GstBuffer* buffer = gst_buffer_new();
  std::size_t begin = 0;
  for (const Piece& piece : pieces) {
    gst_buffer_append_memory(buffer, wrapped(bytes.data() + begin, piece.end - begin, piece));
    begin = piece.end;
  }
  if (!has_meta) return buffer;
  // GStreamer's own function looks at some of the numbers: they are put in behind its back.
  GstVideoMeta* meta =
      gst_buffer_add_video_meta(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 1, 1);
  meta->format = layout.format;
  meta->width = layout.width;
  meta->height = layout.height;
  meta->n_planes = layout.n_planes;
  std::copy(std::begin(layout.offset), std::end(layout.offset), meta->offset);
  std::copy(std::begin(layout.stride), std::end(layout.stride), meta->stride);
  return buffer;
}

bool FuzzedBuffer::is_read_only() const {
  return std::any_of(pieces.begin(), pieces.end(), [](const Piece& p) { return p.read_only; });
}

FuzzedBuffer read_buffer(ByteReader& reader, const GstVideoInfo& info) {
  FuzzedBuffer buffer;
  std::int64_t size = static_cast<std::int64_t>(GST_VIDEO_INFO_SIZE(&info));
  buffer.has_meta = reader.below(4) != 0;
  if (buffer.has_meta) {
    size = read_good_layout(reader, info, buffer.layout);
    for (int changes = std::max(0, reader.below(8) - 4); changes > 0; --changes)
      spoil(reader, buffer.layout);
  }
  if (reader.below(4) == 1) size = reader.number(size);
  size = std::clamp<std::int64_t>(size, 0, kMostBytes);
  std::minstd_rand random(reader.byte() + 1u);
  buffer.bytes.resize(static_cast<std::size_t>(size));
  for (std::uint8_t& byte : buffer.bytes)
    byte = static_cast<std::uint8_t>(random() >> 8);
  buffer.pieces = read_pieces(reader, buffer.bytes.size());
  return buffer;
}

}  // namespace convolve::fuzz
