// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/filter_dots.h"

#include <cstdint>

// The target with VNNI takes compile time, which nothing else makes up for.
#define HWY_WANT_AVX3_DL
#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dots/filter_quads.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/dots/dot_rows-inl.h"
#include "kernels/cpu/dots/dot_tile-inl.h"
#include "kernels/cpu/rows/walk_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

bool multiply_pairs(int sample_bytes, bool wide) {
  return CONVOLVE_DOT_PAIRS && (sample_bytes == 1 ? !CONVOLVE_DOT_INSTRUCTION : !wide);
}

void quads(const RowTask& task, const DotTaps& taps, const Area& area,
           const Workspace* workspaces) {
  const bool bytes = task.groups[0].parts[0].task.sample_bytes == 1;
  // Instruction sets where bytes meet their weights in pairs need no code for their quads.
#if CONVOLVE_DOT_INSTRUCTION || !CONVOLVE_DOT_PAIRS
  if (bytes) return walk_rows<DotRows<QuadTile<std::uint8_t>>>(task, area, workspaces, taps);
#endif
  if (!bytes) walk_rows<DotRows<QuadTile<std::uint16_t>>>(task, area, workspaces, taps);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(multiply_pairs);
HWY_EXPORT(quads);

bool dots_multiply_pairs(int sample_bytes, bool wide) {
  return HWY_DYNAMIC_DISPATCH(multiply_pairs)(sample_bytes, wide);
}

void filter_quads(const RowTask& task, const DotTaps& taps, const Area& area,
                  const Workspace* workspaces) {
  HWY_DYNAMIC_DISPATCH(quads)(task, taps, area, workspaces);
}

}  // namespace convolve
#endif
