// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/filter_dots.h"

#include <cstdint>

// The target with VNNI takes compile time, which nothing else makes up for.
#define HWY_WANT_AVX3_DL
#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dots/filter_byte_pairs.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/dots/filter_pairs-inl.h"
#include "kernels/cpu/dots/pair_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

#if CONVOLVE_DOT_PAIRS && !CONVOLVE_DOT_INSTRUCTION

void byte_pairs(const RowTask& task, const DotTaps& taps, const Area& area,
                const Workspace* workspaces) {
  filter_pairs<PairTile<std::uint8_t>>(task, taps, area, workspaces);
}

#else

void byte_pairs(const RowTask&, const DotTaps&, const Area&, const Workspace*) {}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(byte_pairs);

void filter_byte_pairs(const RowTask& task, const DotTaps& taps, const Area& area,
                       const Workspace* workspaces) {
  HWY_DYNAMIC_DISPATCH(byte_pairs)(task, taps, area, workspaces);
}

}  // namespace convolve
#endif
