// SPDX-License-Identifier: LGPL-2.1-or-later
// The two passes over a mask of rank 1, in sums of floats or doubles: a line of row sums, and a
// block of rows of column sums. Factors that are symmetric are folded.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_PASSES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_PASSES_INL_H_
#undef CONVOLVE_PASSES_INL_H_
#else
#define CONVOLVE_PASSES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/accumulate-inl.h"
#include "kernels/cpu/mask_taps.h"
#include "kernels/cpu/separable/fold-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// Fills `sums` with `width` sums of the line `cells`, which has width + kTurns * (row.width() - 1)
/// cells, a strip of columns at a time. kTurns components take turns in it: if there are two the
/// row is folded. `fetch` is called with the first column and the width of each strip just before
/// its sums are made: the rows that come next shall arrive in the cache meanwhile.
template <int kTurns = 1, class Real, class Fetch>
HWY_INLINE void sum_row(const Real* cells, const MaskTaps& row, int width, Real* sums,
                        const Fetch& fetch) {
  for (int x = 0; x < width; x += kStripStep) {
    const int end = std::min(x + kStripStep, width);
    fetch(x, end - x);
    if (kTurns > 1 || row.folded())
      fold_row<kTurns>(cells + x, row, end - x, sums + x);
    else
      accumulate_columns<1>(&cells, row, x, end, Lines{reinterpret_cast<std::byte*>(sums), 0});
  }
}

/// The column sums of kBlockRows rows, `width` in each: row r reads the lines line(r), line(r + 1),
/// ... Where fewer rows are wanted the last lines may be any. Calls `finish` with the first column
/// and the width of each strip while its sums, kBlockRows lines that begin at this column, are in
/// the first cache. The workspace's table has column.height() + kBlockRows - 1 places.
template <class Real, class LineOf, class Finish>
HWY_INLINE void sum_block(const MaskTaps& column, int width, const Workspace& workspace,
                          const LineOf& line, const Finish& finish) {
  const auto lines = reinterpret_cast<const Real**>(workspace.table);
  const int line_count = column.height() + kBlockRows - 1;
  for (int i = 0; i < line_count; ++i)
    lines[i] = line(i);
  for (int x = 0; x < width; x += kStripStep) {
    const int count = std::min(kStripStep, width - x);
    if (column.folded())
      fold_columns(lines, column, count, workspace.sums);
    else
      accumulate<kBlockRows>(lines, column, count, workspace.sums);
    finish(x, count);
    for (int i = 0; i < line_count; ++i)
      lines[i] += count;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
