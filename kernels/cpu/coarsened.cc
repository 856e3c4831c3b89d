// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/coarsened.h"

#include "kernels/cpu/highway_targets.h"
#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/run_typed.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/coarsened.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/accumulate-inl.h"
#include "kernels/cpu/finish_line-inl.h"
#include "kernels/cpu/load_line-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// Walks down the area with a ring of converted source lines: each is loaded once per area.
template <class Real, class Stored>
struct CoarsenedArea {
  static void run(const ComponentTask& task, const MaskTaps& taps, const Area& area,
                  const Workspace& workspace) {
    const int ring = taps.height() + kBlockRows - 1;
    const int cells = area.width + taps.width() - 1;
    const auto lines = reinterpret_cast<const Real**>(workspace.table);
    Stored* samples = workspace.samples.at<Stored>(0);
    RowsAhead ahead(task, area);
    int loaded = 0;
    for (int y = 0, rows = 0; y < area.height && !task.stopped(); y += rows) {
      rows = area.height - y >= kBlockRows ? kBlockRows : 1;
      const int needed = taps.height() + rows - 1;
      for (; loaded < y + needed; ++loaded)
        load_line(task, area.y + loaded - taps.anchor_y(), area.x - taps.anchor_x(), cells,
                  workspace.source.at<Real>(loaded % ring), samples);
      for (int i = 0; i < needed; ++i)
        lines[i] = workspace.source.at<Real>((y + i) % ring);
      ahead.next_block(area.y - taps.anchor_y() + loaded, rows, area.y + y);
      const auto fetch = [&](int x, int count) HWY_ATTR { ahead.fetch(0, area.width, x, count); };
      if (rows == kBlockRows)
        accumulate_strips<kBlockRows>(lines, taps, area.width, workspace.sums, fetch);
      else
        accumulate_strips<1>(lines, taps, area.width, workspace.sums, fetch);
      for (int r = 0; r < rows; ++r)
        finish_line(task, area.y + y + r, area.x, area.width, workspace.sums.at<Real>(r), samples);
    }
  }
};

void filter(const ComponentTask& task, const MaskTaps& taps, const Area& area,
            const Workspace& workspace) {
  run_typed<CoarsenedArea>(taps.accumulator(), task, taps, area, workspace);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(filter);

void filter_coarsened(const ComponentTask& task, const MaskTaps& taps, const Area& area,
                      const Workspace& workspace) {
  HWY_DYNAMIC_DISPATCH(filter)(task, taps, area, workspace);
}

}  // namespace convolve
#endif
