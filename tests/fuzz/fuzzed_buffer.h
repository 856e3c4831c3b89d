// SPDX-License-Identifier: LGPL-2.1-or-later
// Buffers as a fuzz input describes them: good ones of every layout, and those that lie in their
// GstVideoMeta or hold too little.
#pragma once

#include <gst/video/video.h>

#include <vector>

#include "tests/fuzz/byte_reader.h"
#include "tests/support/oracle.h"

namespace convolve::fuzz {

/// One memory of a buffer: the bytes up to `end` that the memories before do not hold.
struct Piece {
  std::size_t end = 0;
  int around = 0;  ///< Bytes of the memory before and behind what the buffer shows.
  bool read_only = false;
};

/// What a GstVideoMeta says.
struct Layout {
  GstVideoFormat format = GST_VIDEO_FORMAT_UNKNOWN;
  guint width = 0;
  guint height = 0;
  guint n_planes = 0;
  gsize offset[GST_VIDEO_MAX_PLANES] = {};
  gint stride[GST_VIDEO_MAX_PLANES] = {};
};

struct FuzzedBuffer {
  oracle::Bytes bytes;
  std::vector<Piece> pieces;
  bool has_meta = false;
  Layout layout;  ///< Of the meta, if there is one.

  GstBuffer* make() const;
  bool is_read_only() const;
};

/// Of at most 128 KiB, for caps of `info`.
FuzzedBuffer read_buffer(ByteReader& reader, const GstVideoInfo& info);

}  // namespace convolve::fuzz
