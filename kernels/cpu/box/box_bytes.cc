// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/box/box_bytes.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "kernels/core/base/round.h"
#include "kernels/core/weights/box.h"
#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/box/box_bytes.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/box/box_lines-inl.h"
#include "kernels/cpu/box/box_narrow-inl.h"
#include "kernels/cpu/box/box_windows-inl.h"
#include "kernels/cpu/bytes/rows_ahead.h"
#include "kernels/cpu/bytes/source_rows-inl.h"
#include "kernels/cpu/bytes/walk_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds the codes of a line to the sums of columns `begin` .. `end` - 1; both are read in whole
/// vectors.
HWY_INLINE void add_line(const std::uint8_t* line, int begin, int end, std::int32_t* columns) {
  const Words d;
  const hn::Rebind<std::uint8_t, Words> d_codes;
  for (int i = begin; i < end; i += static_cast<int>(hn::Lanes(d)))
    hn::Store(hn::Add(hn::Load(d, columns + i), hn::PromoteTo(d, hn::LoadU(d_codes, line + i))), d,
              columns + i);
}

/// Rows of an area.
template <class Windows>
class BoxRows {
 public:
  using Stored = std::uint8_t;
  using Sum = typename Windows::Sum;
  static constexpr int kRows = 1;

  BoxRows(const RowTask& task, int group, const Area& area, const Workspace& workspace,
          const BoxMask& mask)
      : task_(task.groups[group]),
        area_(area),
        lines_(workspace),
        mask_(mask),
        cells_(area.width + mask.width),
        top_(area.y - mask.anchor_y),
        source_(task_, area.x - mask.anchor_x - 1, cells_, {kWindowStep, mask.width + kWindowStep}),
        ahead_(task, group, area) {}

  void filter(int y, int, const std::uint8_t* (*codes)[kMaxComponents]) {
    if (y == 0 && !start()) return;
    const int gained = top_ + y + mask_.height - 1;
    source_.load(gained, lines_.line);
    if (y > 0) source_.load(top_ + y - 1, lines_.above);
    ahead_.next_block(gained + kRowsAhead, 1, area_.y + y + kRowsAhead);
    for (int k = 0; k < task_.count; ++k) {
      std::uint8_t* const out =
          task_.lies_alone() ? task_.parts[k].task.dst_row(area_.y + y) + area_.x : lines_.codes[k];
      codes[0][k] = out;
      if (task_.parts[k].filtered) finish_row(k, y, out);
    }
    copy_others(task_, area_, y, lines_.line, codes[0]);
  }

 private:
  /// Makes windows of the rows below the mask but its last one, which the first row then gains
  /// while it loses nothing. False if the frame is no longer wanted.
  bool start() {
    for (int k = 0; k < task_.count; ++k)
      std::fill_n(lines_.columns[k], cells_, 0);
    for (int i = 0; i < mask_.height - 1; ++i) {
      if (task_.parts[0].task.stopped()) return false;
      source_.load(top_ + i, lines_.line);
      for (int k = 0; k < task_.count; ++k)
        if (task_.parts[k].filtered)
          source_.for_each_run(cells_, [&](int begin, int end, bool in_picture) HWY_ATTR {
            const std::uint8_t* const line = lines_.line[k];
            add_line(in_picture ? source_.in_picture(top_ + i, line) : line, begin, end,
                     lines_.columns[k]);
          });
    }
    for (int k = 0; k < task_.count; ++k) {
      std::memset(lines_.above[k], 0, static_cast<std::size_t>(cells_));
      if (!task_.parts[k].filtered) continue;
      const std::int32_t* const columns = lines_.columns[k];
      std::int32_t window = std::accumulate(columns, columns + mask_.width, 0) -
                            Windows::black(task_.parts[k]) * mask_.width * mask_.height;
      for (int i = 0; i < area_.width; ++i) {
        window += columns[i + mask_.width] - columns[i];
        lines_.windows[k][window_place<Sum>(i)] = static_cast<Sum>(window);
      }
    }
    return true;
  }

  /// Changes the windows of part `k` to those of row `y`, and makes their codes.
  void finish_row(int k, int y, std::uint8_t* out) {
    std::int32_t change = 0;
    source_.for_each_run(area_.width, [&](int begin, int end, bool in_picture) HWY_ATTR {
      WindowRow<Sum> row = {lines_.line[k], lines_.above[k], mask_.width, lines_.windows[k], out};
      if (in_picture) row.gained = source_.in_picture(top_ + y + mask_.height - 1, row.gained);
      if (in_picture && y > 0) row.lost = source_.in_picture(top_ + y - 1, row.lost);
      if (begin == 0) change = first_change(row);
      change = Windows::finish(task_.parts[k], row, begin, end, change, [&](int i) {
        ahead_.fetch(k, area_.width, i, std::min(kPrefetched, end - i));
      });
    });
  }

  const ByteTask& task_;
  const Area area_;
  BoxLines<Sum> lines_;
  const BoxMask& mask_;
  int cells_;  ///< Of a row: those below all windows, and one before them.
  int top_;    ///< Picture row of the first row that is added.
  SourceRows source_;
  RowsAhead ahead_;
};

void box_bytes(const RowTask& task, const BoxMask& mask, const Area& area,
               const Workspace* workspaces) {
#if HWY_TARGET != HWY_SCALAR
  if (divides_narrowly(task)) {
    if (!is_narrow_box(mask.width, mask.height))
      return walk_rows<BoxRows<NarrowWindows>>(task, area, workspaces, mask);
    return mask.width == 3 ? walk_rows<NarrowBoxRows<3>>(task, area, workspaces, mask)
                           : walk_rows<NarrowBoxRows<5>>(task, area, workspaces, mask);
  }
#endif
  walk_rows<BoxRows<WideWindows>>(task, area, workspaces, mask);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(box_bytes);

namespace {

/// Lines of a worker beside the codes that rows become, which lie where other kernels have sums.
constexpr int kLines = 4 * kMaxComponents;
static_assert(kMaxComponents <= kBlockRows);

}  // namespace

bool BoxBytes::serves(const FrameFormat& format, const Mask& mask) {
  constexpr std::int64_t kMostTaps = INT32_MAX / 255;
  return mask.taps() <= kMostTaps && all_filtered(format, [](const Component& c) {
           return c.max_code() == 255 && c.shift == 0;
         });
}

Result<BoxBytes> BoxBytes::make(const FrameFormat& format, const BoxMask& mask, int workers) {
  const GroupExtent extent = largest_group(format);
  const int widest = extent.width, parts = extent.parts;
  BoxBytes made;
  made.mask_ = mask;
  const int ring = is_narrow_box(mask.width, mask.height) ? parts * mask.height : 0;
  made.strip_width_ =
      choose_strip_width(widest, mask.width, 2 * parts + ring / 2, sizeof(std::int32_t));
  WorkspaceShape shape;
  shape.intermediate_lines = ring;
  shape.cell_bytes = sizeof(std::int32_t);
  shape.strip_width = std::min(made.strip_width_, round_up(widest, kStripStep));
  shape.source_width = shape.strip_width + mask.width;
  shape.source_lines = kLines;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers, extent.groups);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  return made;
}

void BoxBytes::filter(const RowTask& task, const Area& area, int worker) const {
  HWY_DYNAMIC_DISPATCH(box_bytes)(task, mask_, area, workspaces_.of(worker));
}

}  // namespace convolve
#endif
