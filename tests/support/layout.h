// SPDX-License-Identifier: LGPL-2.1-or-later
// The same picture in other places: strides, offsets, order of planes, memories and who else holds
// them. A GstVideoMeta says where everything is.
#pragma once

#include <gst/video/video.h>

#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "tests/support/oracle.h"

namespace check {

/// Which GstMemory a plane lies in.
enum class Memories {
  kOne,
  kOneAPlane,
  kCutInPlanes,   ///< One ends in the middle of each plane.
  kOfSevenBytes,  ///< So that samples of two bytes lie in two memories.
};

/// Who else holds the memory, or how the buffer came by it.
enum class Holder {
  kNobody,
  kReadOnly,     ///< The memory may not be written to.
  kShared,       ///< A second buffer has the same memories.
  kRegion,       ///< gst_buffer_copy_region() out of the middle of a larger buffer.
  kMemoryShare,  ///< gst_memory_share() out of the middle of a larger memory.
};

struct Layout {
  std::string name;
  std::array<int, GST_VIDEO_MAX_PLANES> extra_stride = {};  ///< Bytes beyond the default, a plane.
  int lead = 0;                                             ///< Bytes before each plane.
  bool upside_down = false;                                 ///< Negative strides.
  bool last_plane_first = false;
  bool planes_side_by_side = false;  ///< Rows of all planes in turn: one stride for all.
  Memories memories = Memories::kOne;
  Holder holder = Holder::kNobody;
};

/// How GoogleTest shows one.
std::ostream& operator<<(std::ostream& out, const Layout& layout);

/// One format of the element for each kind of planes: their number, and the sizes and distances of
/// samples in them.
const std::vector<GstVideoFormat>& layout_families();

/// Rows of plane `plane` of a buffer.
int plane_rows(const GstVideoInfo& info, guint plane);

/// `frame`, laid out as `info` says, in a buffer laid out as `layout` says.
GstBuffer* lay_out(const GstVideoInfo& info, const oracle::Bytes& frame, const Layout& layout);

/// Layouts that a filter must serve, the plain one first.
const std::vector<Layout>& honest_layouts();

}  // namespace check
