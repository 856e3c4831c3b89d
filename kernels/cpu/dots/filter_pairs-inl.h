// SPDX-License-Identifier: LGPL-2.1-or-later
// Areas by products of pairs, row by row or by a fast FIR algorithm.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_FILTER_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_FILTER_PAIRS_INL_H_
#undef CONVOLVE_FILTER_PAIRS_INL_H_
#else
#define CONVOLVE_FILTER_PAIRS_INL_H_
#endif

#include <hwy/highway.h>

#include "kernels/cpu/dots/dot_rows-inl.h"
#include "kernels/cpu/dots/fir/fir_rows-inl.h"
#include "kernels/cpu/rows/walk_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

#if CONVOLVE_DOT_PAIRS

template <class Tile>
HWY_INLINE void filter_pairs(const RowTask& task, const DotTaps& taps, const Area& area,
                             const Workspace* workspaces) {
  static_assert(kFewestFirLevels == 2 && kMostFirLevels == 4, "a case for each");
  const FastFir& fir = taps.fir();
  switch (fir.approximate() && !approximates(task, taps) ? 0 : fir.levels()) {
    case 2:
      return walk_rows<FirRows<Tile, 2>>(task, area, workspaces, taps);
    case 3:
      return walk_rows<FirRows<Tile, 3>>(task, area, workspaces, taps);
    case 4:
      return walk_rows<FirRows<Tile, 4>>(task, area, workspaces, taps);
    default:
      return walk_rows<DotRows<Tile>>(task, area, workspaces, taps);
  }
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
