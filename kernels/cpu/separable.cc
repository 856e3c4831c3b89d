// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/separable.h"

#include <algorithm>

#include "kernels/core/base/round.h"
#include "kernels/cpu/bytes/rows_ahead.h"
#include "kernels/cpu/highway_targets.h"
#include "kernels/cpu/run_typed.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/separable.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/accumulate-inl.h"
#include "kernels/cpu/finish_line-inl.h"
#include "kernels/cpu/load_line-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// Row sums of picture row `y`, which may lie outside, to `sums`. `fetch` is called before each
/// strip of columns, as accumulate_strips() says.
template <class Real, class Stored, class Fetch>
HWY_INLINE void sum_row(const ComponentTask& task, const MaskTaps& row, const Area& area, int y,
                        const Workspace& workspace, Real* sums, const Fetch& fetch) {
  Real* line = workspace.source.at<Real>(0);
  load_line(task, y, area.x - row.anchor_x(), area.width + row.width() - 1, line,
            workspace.samples.at<Stored>(0));
  const Real* lines[] = {line};
  accumulate_strips<1>(lines, row, area.width, Lines{reinterpret_cast<std::byte*>(sums), 0}, fetch);
}

/// Column sums of the lines in the table, for one block of `rows` rows, and out.
template <class Real, class Stored>
HWY_INLINE void finish_block(const ComponentTask& task, const MaskTaps& column, const Area& area,
                             int y, int rows, const Workspace& workspace) {
  const auto lines = reinterpret_cast<const Real**>(workspace.table);
  if (rows == kBlockRows)
    accumulate<kBlockRows>(lines, column, area.width, workspace.sums);
  else
    accumulate<1>(lines, column, area.width, workspace.sums);
  for (int r = 0; r < rows; ++r)
    finish_line(task, y + r, area.x, area.width, workspace.sums.at<Real>(r),
                workspace.samples.at<Stored>(0));
}

template <class Real, class Stored>
struct FusedPasses {
  static void run(const ComponentTask& task, const MaskTaps& row, const MaskTaps& column,
                  const Area& area, const Workspace& workspace) {
    const int ring = column.height() + kBlockRows - 1;
    const Lines& sums = workspace.intermediate;
    const int top = area.y - column.anchor_y();
    RowsAhead ahead(task, 1, area);
    int loaded = 0;
    for (int y = 0, rows = 0; y < area.height; y += rows) {
      rows = area.height - y >= kBlockRows ? kBlockRows : 1;
      const int needed = y + column.height() + rows - 1;
      ahead.next_block(top + needed, rows, area.y + y + rows);
      for (; loaded < needed && !task.stopped(); ++loaded) {
        // Only the first block loads more rows than it makes: its share ahead is fetched by the
        // last of them.
        const int share = loaded - needed + rows;
        sum_row<Real, Stored>(task, row, area, top + loaded, workspace,
                              sums.at<Real>(loaded % ring), [&](int x, int count) HWY_ATTR {
                                if (share < 0) return;
                                const int begin = (area.width * share + x) / rows;
                                ahead.fetch(0, area.width, begin,
                                            (area.width * share + x + count) / rows - begin);
                              });
      }
      if (task.stopped()) return;
      for (int i = 0; i < needed - y; ++i)
        workspace.table[i] = sums.at<Real>((y + i) % ring);
      finish_block<Real, Stored>(task, column, area, area.y + y, rows, workspace);
    }
  }
};

template <class Real, class Stored>
struct RowPass {
  static void run(const ComponentTask& task, const MaskTaps& row, const Area& area,
                  const Workspace& workspace, const Lines& plane) {
    for (int y = area.y; y < area.y + area.height && !task.stopped(); ++y)
      sum_row<Real, Stored>(task, row, area, y, workspace, plane.at<Real>(y) + area.x,
                            [](int, int) {});
  }
};

/// Columns of a block of rows that are done between two looks for a stop: with thousands of taps,
/// each in a line of its own far off in memory, a whole block takes a tenth of a second.
constexpr int kTapsBetweenLooks = 1 << 20;
inline int piece_width(const MaskTaps& column) {
  return round_up(std::max(1, kTapsBetweenLooks / column.height()), kStripStep);
}

template <class Real, class Stored>
struct ColumnPass {
  static void run(const ComponentTask& task, const MaskTaps& column, const Area& area,
                  const Workspace& workspace, const Lines& plane) {
    const int step = piece_width(column);
    for (int y = area.y, rows = 0; y < area.y + area.height; y += rows) {
      rows = area.y + area.height - y >= kBlockRows ? kBlockRows : 1;
      Area piece = area;
      for (; piece.x < area.x + area.width; piece.x += step) {
        if (task.stopped()) return;
        piece.width = std::min(step, area.x + area.width - piece.x);
        for (int i = 0; i < column.height() + rows - 1; ++i) {
          const int line = border_index(task.border, y + i - column.anchor_y(), task.height);
          workspace.table[i] =
              line == kNoSignal ? workspace.zeros.at<Real>(0) : plane.at<Real>(line) + piece.x;
        }
        finish_block<Real, Stored>(task, column, piece, y, rows, workspace);
      }
    }
  }
};

void fused(const ComponentTask& task, const MaskTaps& row, const MaskTaps& column, const Area& area,
           const Workspace& workspace) {
  run_typed<FusedPasses>(row.accumulator(), task, row, column, area, workspace);
}

void rows(const ComponentTask& task, const MaskTaps& row, const Area& area,
          const Workspace& workspace, const Lines& plane) {
  run_typed<RowPass>(row.accumulator(), task, row, area, workspace, plane);
}

void columns(const ComponentTask& task, const MaskTaps& column, const Area& area,
             const Workspace& workspace, const Lines& plane) {
  run_typed<ColumnPass>(column.accumulator(), task, column, area, workspace, plane);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(fused);
HWY_EXPORT(rows);
HWY_EXPORT(columns);

void filter_separable_fused(const ComponentTask& task, const MaskTaps& row, const MaskTaps& column,
                            const Area& area, const Workspace& workspace) {
  HWY_DYNAMIC_DISPATCH(fused)(task, row, column, area, workspace);
}

void filter_separable_rows(const ComponentTask& task, const MaskTaps& row, const Area& area,
                           const Workspace& workspace, const Lines& plane) {
  HWY_DYNAMIC_DISPATCH(rows)(task, row, area, workspace, plane);
}

void filter_separable_columns(const ComponentTask& task, const MaskTaps& column, const Area& area,
                              const Workspace& workspace, const Lines& plane) {
  HWY_DYNAMIC_DISPATCH(columns)(task, column, area, workspace, plane);
}

}  // namespace convolve
#endif
