// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/support/layout.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "tests/support/element.h"

namespace check {
namespace {

constexpr std::uint8_t kFiller = 0xA5;

/// Where planes go in one run of bytes.
struct Places {
  gsize offset[GST_VIDEO_MAX_PLANES] = {};  ///< Of the topmost row in memory.
  gint stride[GST_VIDEO_MAX_PLANES] = {};
  gsize size = 0;
};

Places place_in_turn(const GstVideoInfo& info, const Layout& layout) {
  const int planes = static_cast<int>(GST_VIDEO_INFO_N_PLANES(&info));
  Places places;
  for (int i = 0; i < planes; ++i) {
    const int p = layout.last_plane_first ? planes - 1 - i : i;
    places.stride[p] = GST_VIDEO_INFO_PLANE_STRIDE(&info, p) + layout.extra_stride[p];
    places.offset[p] = places.size + static_cast<gsize>(layout.lead);
    places.size = places.offset[p] + static_cast<gsize>(places.stride[p]) * plane_rows(info, p);
  }
  return places;
}

Places place_side_by_side(const GstVideoInfo& info) {
  const guint planes = GST_VIDEO_INFO_N_PLANES(&info);
  Places places;
  gint stride = 0;
  for (guint p = 0; p < planes; ++p) {
    places.offset[p] = static_cast<gsize>(stride);
    stride += GST_VIDEO_INFO_PLANE_STRIDE(&info, p);
  }
  int rows = 0;
  for (guint p = 0; p < planes; ++p) {
    places.stride[p] = stride;
    rows = std::max(rows, plane_rows(info, p));
  }
  places.size = static_cast<gsize>(stride) * rows;
  return places;
}

/// Where one memory ends and the next begins, both ends of the frame included.
std::vector<gsize> cuts(const GstVideoInfo& info, const Places& places, Memories memories) {
  std::vector<gsize> cuts = {0, places.size};
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(&info); ++p) {
    const gsize bytes = static_cast<gsize>(places.stride[p]) * plane_rows(info, p);
    if (memories == Memories::kOneAPlane) cuts.push_back(places.offset[p] + bytes);
    if (memories == Memories::kCutInPlanes) cuts.push_back(places.offset[p] + bytes / 2);
  }
  // A buffer takes no more than 16 memories; more are merged as they are added.
  if (memories == Memories::kOfSevenBytes)
    for (gsize at = 7; at < std::min<gsize>(places.size, 7 * 15); at += 7)
      cuts.push_back(at);
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return cuts;
}

GstMemory* wrap(const std::uint8_t* bytes, gsize size, Holder holder) {
  constexpr gsize kAround = 11;
  const gsize around = holder == Holder::kMemoryShare ? kAround : 0;
  const gsize all = size + 2 * around;
  auto* copy = static_cast<std::uint8_t*>(g_malloc(all));
  std::memset(copy, kFiller, all);
  std::memcpy(copy + around, bytes, size);
  const auto flags =
      holder == Holder::kReadOnly ? GST_MEMORY_FLAG_READONLY : static_cast<GstMemoryFlags>(0);
  GstMemory* memory = gst_memory_new_wrapped(flags, copy, all, 0, all, copy, g_free);
  if (around == 0) return memory;
  GstMemory* middle = gst_memory_share(memory, around, static_cast<gssize>(size));
  gst_memory_unref(memory);
  return middle;
}

/// The buffer itself stays writable, so that only its memories are shared.
void add_second_holder(GstBuffer* buffer) {
  static const GQuark quark = g_quark_from_static_string("second-holder");
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(buffer), quark,
                            gst_buffer_copy_region(buffer, GST_BUFFER_COPY_MEMORY, 0, -1),
                            [](gpointer other) { gst_buffer_unref(GST_BUFFER(other)); });
}

/// A buffer of `bytes` with a memory for each piece between two of `cuts`.
GstBuffer* join(const oracle::Bytes& bytes, const std::vector<gsize>& cuts, Holder holder) {
  GstBuffer* buffer = gst_buffer_new();
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
    gst_buffer_append_memory(buffer, wrap(bytes.data() + cuts[i], cuts[i + 1] - cuts[i], holder));
  return buffer;
}

/// The same as a region of a buffer whose first and last memory are longer.
GstBuffer* join_as_region(oracle::Bytes bytes, std::vector<gsize> cuts, Holder holder) {
  constexpr gsize kAround = 13;
  const gsize size = bytes.size();
  bytes.insert(bytes.begin(), kAround, kFiller);
  bytes.insert(bytes.end(), kAround, kFiller);
  for (std::size_t i = 1; i < cuts.size(); ++i)
    cuts[i] += kAround;
  cuts.back() += kAround;
  GstBuffer* larger = join(bytes, cuts, holder);
  GstBuffer* region = gst_buffer_copy_region(larger, GST_BUFFER_COPY_MEMORY, kAround, size);
  gst_buffer_unref(larger);
  return region;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Layout& layout) {
  return out << layout.name;
}

const std::vector<GstVideoFormat>& layout_families() {
  static const std::vector<GstVideoFormat> families = [] {
    std::set<std::vector<int>> seen;
    std::vector<GstVideoFormat> found;
    for (const GstVideoFormat format : template_formats()) {
      const GstVideoFormatInfo* info = gst_video_format_get_info(format);
      std::vector<int> kind;
      for (guint c = 0; c < GST_VIDEO_FORMAT_INFO_N_COMPONENTS(info); ++c) {
        kind.push_back(static_cast<int>(GST_VIDEO_FORMAT_INFO_PLANE(info, c)));
        kind.push_back(GST_VIDEO_FORMAT_INFO_PSTRIDE(info, c));
        kind.push_back(static_cast<int>(GST_VIDEO_FORMAT_INFO_W_SUB(info, c)));
        kind.push_back(static_cast<int>(GST_VIDEO_FORMAT_INFO_H_SUB(info, c)));
      }
      if (seen.insert(std::move(kind)).second) found.push_back(format);
    }
    return found;
  }();
  return families;
}

int plane_rows(const GstVideoInfo& info, guint plane) {
  gint components[GST_VIDEO_MAX_COMPONENTS];
  gst_video_format_info_component(info.finfo, plane, components);
  return GST_VIDEO_INFO_COMP_HEIGHT(&info, components[0]);
}

GstBuffer* lay_out(const GstVideoInfo& info, const oracle::Bytes& frame, const Layout& layout) {
  const guint planes = GST_VIDEO_INFO_N_PLANES(&info);
  Places places =
      layout.planes_side_by_side ? place_side_by_side(info) : place_in_turn(info, layout);
  oracle::Bytes bytes(places.size, kFiller);
  const std::vector<gsize> ends = cuts(info, places, layout.memories);
  for (guint p = 0; p < planes; ++p) {
    const int rows = plane_rows(info, p);
    const gsize tight = static_cast<gsize>(GST_VIDEO_INFO_PLANE_STRIDE(&info, p));
    if (layout.upside_down) {
      places.offset[p] += static_cast<gsize>(places.stride[p]) * (rows - 1);
      places.stride[p] = -places.stride[p];
    }
    for (int y = 0; y < rows; ++y)
      std::memcpy(bytes.data() + places.offset[p] + std::ptrdiff_t{y} * places.stride[p],
                  frame.data() + GST_VIDEO_INFO_PLANE_OFFSET(&info, p) + y * tight, tight);
  }

  GstBuffer* buffer = layout.holder == Holder::kRegion ? join_as_region(bytes, ends, layout.holder)
                                                       : join(bytes, ends, layout.holder);
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 GST_VIDEO_INFO_WIDTH(&info), GST_VIDEO_INFO_HEIGHT(&info), planes,
                                 places.offset, places.stride);
  if (layout.holder == Holder::kShared) add_second_holder(buffer);
  return buffer;
}

const std::vector<Layout>& honest_layouts() {
  static const std::vector<Layout> all = [] {
    const auto like = [](const char* name, auto&& change) {
      Layout layout;
      layout.name = name;
      change(layout);
      return layout;
    };
    return std::vector<Layout>{
        like("Plain", [](Layout&) {}),
        like("StridePlus1",
             [](Layout& l) {
               l.extra_stride = {1, 1, 1, 1};
             }),
        like("StridesUnequal",
             [](Layout& l) {
               l.extra_stride = {13, 0, 7, 64};
             }),
        like("StridePlus4096",
             [](Layout& l) {
               l.extra_stride = {4096, 4096, 4096, 4096};
             }),
        like("OddStartAndStride",
             [](Layout& l) {
               l.lead = 7;
               l.extra_stride = {3, 5, 1, 9};
             }),
        like("UpsideDown",
             [](Layout& l) {
               l.upside_down = true;
               l.lead = 5;
               l.extra_stride = {3, 1, 2, 0};
             }),
        like("LastPlaneFirst",
             [](Layout& l) {
               l.last_plane_first = true;
               l.lead = 3;
             }),
        like("LastPlaneFirstUpsideDownInMemories",
             [](Layout& l) {
               l.last_plane_first = true;
               l.upside_down = true;
               l.memories = Memories::kOneAPlane;
             }),
        like("PlanesSideBySide", [](Layout& l) { l.planes_side_by_side = true; }),
        like("MemoryPerPlane",
             [](Layout& l) {
               l.memories = Memories::kOneAPlane;
               l.extra_stride = {2, 2, 2, 2};
             }),
        like("MemoriesCutInPlanes", [](Layout& l) { l.memories = Memories::kCutInPlanes; }),
        like("MemoriesOfSevenBytes", [](Layout& l) { l.memories = Memories::kOfSevenBytes; }),
        like("ReadOnly", [](Layout& l) { l.holder = Holder::kReadOnly; }),
        like("ReadOnlyCutInPlanes",
             [](Layout& l) {
               l.holder = Holder::kReadOnly;
               l.memories = Memories::kCutInPlanes;
             }),
        like("Shared", [](Layout& l) { l.holder = Holder::kShared; }),
        like("SharedMemoryPerPlane",
             [](Layout& l) {
               l.holder = Holder::kShared;
               l.memories = Memories::kOneAPlane;
             }),
        like("RegionOfLarger",
             [](Layout& l) {
               l.holder = Holder::kRegion;
               l.extra_stride = {5, 5, 5, 5};
             }),
        like("RegionOfLargerMemoryPerPlane",
             [](Layout& l) {
               l.holder = Holder::kRegion;
               l.memories = Memories::kOneAPlane;
             }),
        like("MemoryShare",
             [](Layout& l) {
               l.holder = Holder::kMemoryShare;
               l.lead = 1;
             }),
        like("MemorySharePerPlane",
             [](Layout& l) {
               l.holder = Holder::kMemoryShare;
               l.memories = Memories::kOneAPlane;
             }),
    };
  }();
  return all;
}

}  // namespace check
