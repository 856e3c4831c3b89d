// SPDX-License-Identifier: LGPL-2.1-or-later
// The way down an area: some rows of each group of components are filtered in turn, and then put
// to the picture together.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_WALK_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_WALK_ROWS_INL_H_
#undef CONVOLVE_WALK_ROWS_INL_H_
#else
#define CONVOLVE_WALK_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <optional>

#include "kernels/cpu/rows/store_lines-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// Filters `area`. `Rows` is what a kernel does with the rows of a group, in the memory of a
/// workspace: it is made from the row task, the number of the group, the group's area, its
/// workspace and `arguments`, has the type of samples `Stored` and the number kRows of rows that it
/// filters at once, and
///
///     void filter(int y, int rows, const Stored* (*samples)[kMaxComponents]);
///
/// which filters rows `y` .. `y` + `rows` - 1 of the area, kRows of them but at its end, and leaves
/// in samples[r][k] where row `y` + r of part k lies: in the picture if the part lies alone there.
/// Samples of two bytes that are not filtered lie in the source only. Once the frame is no longer
/// wanted nothing need be left.
template <class Rows, class... Arguments>
HWY_INLINE void walk_rows(const RowTask& task, const Area& area, const Workspace* workspaces,
                          const Arguments&... arguments) {
  using Stored = typename Rows::Stored;
  const GroupTask& first = task.groups[0];
  const Stored *samples[Rows::kRows][kMaxComponents], *chroma[Rows::kRows][kMaxComponents];
  Rows rows_of_first(task, 0, area, workspaces[0], arguments...);
  std::optional<Rows> rows_of_second;
  if (task.count == 2)
    rows_of_second.emplace(task, 1, task.area_of(1, area), workspaces[1], arguments...);
  for (int y = 0; y < area.height && !first.parts[0].task.stopped(); y += Rows::kRows) {
    const int rows = std::min(Rows::kRows, area.height - y);
    rows_of_first.filter(y, rows, samples);
    if (rows_of_second) rows_of_second->filter(y, rows, chroma);
    if (first.parts[0].task.stopped()) return;
    for (int r = 0; r < rows && !first.lies_alone(); ++r)
      if (rows_of_second)
        store_turns(task, area.y + y + r, area, samples[r][0], chroma[r]);
      else
        store_parts(first, area.y + y + r, area.x, area.width, samples[r]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
