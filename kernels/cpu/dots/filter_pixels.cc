// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <cstdint>

#include "kernels/cpu/dots/filter_dots.h"

// The target with VNNI takes compile time, which nothing else makes up for.
#define HWY_WANT_AVX3_DL
#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dots/filter_pixels.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/dots/dot_pixels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

bool pixels([[maybe_unused]] const GroupTask& task, [[maybe_unused]] const DotTaps& taps,
            [[maybe_unused]] const Area& area, [[maybe_unused]] const Workspace& workspace) {
#if CONVOLVE_DOT_INSTRUCTION
  if (task.count == 2) filter_pixels_of<2>(task, taps, area, workspace);
  if (task.count == 3) filter_pixels_of<3>(task, taps, area, workspace);
  if (task.count == 4) filter_pixels_of<4>(task, taps, area, workspace);
  return true;
#else
  return false;
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(pixels);

namespace {

template <class Real>
bool same(const EpilogueOf<Real>& a, const EpilogueOf<Real>& b) {
  return a.divide == b.divide && a.scale == b.scale && a.base == b.base &&
         a.numerator == b.numerator && a.offset == b.offset && a.divisor == b.divisor;
}

bool same(const DigitEpilogue& a, const DigitEpilogue& b) {
  return a.start == b.start && a.wide == b.wide && a.wide_start == b.wide_start &&
         a.quantiser == b.quantiser && a.scale == b.scale && a.base == b.base &&
         a.general.in_float == b.general.in_float && a.general.max_code == b.general.max_code &&
         same(a.general.narrow, b.general.narrow) && same(a.general.wide, b.general.wide);
}

/// A pixel that is filtered where it lies has its copied bytes filtered, too, and put back. Up to
/// so many quads of weights this takes less time than parting pixels and putting them together.
constexpr int kMostQuadsWithCopies = 10;

/// True if the bytes of a pixel have the same sums and epilogue, but for some that are copied.
bool share_epilogue(const GroupTask& task, const DotTaps& taps) {
  if (!task.whole_pixels()) return false;
  const GroupPart* filtered = nullptr;
  for (int k = 0; k < task.count; ++k) {
    const GroupPart& part = task.parts[k];
    if (!part.filtered) continue;
    if (filtered != nullptr && !same(part.digits, filtered->digits)) return false;
    filtered = &part;
  }
  if (filtered == nullptr) return false;
  return task.all_filtered() ||
         (task.count == 4 && taps.digits() * taps.height() * taps.quads() <= kMostQuadsWithCopies);
}

}  // namespace

bool filter_pixels(const RowTask& task, const DotTaps& taps, const Area& area,
                   const Workspace* workspaces) {
  const GroupTask& group = task.groups[0];
  if (task.count != 1 || group.parts[0].task.sample_bytes != 1) return false;
  return share_epilogue(group, taps) &&
         HWY_DYNAMIC_DISPATCH(pixels)(group, taps, area, workspaces[0]);
}

}  // namespace convolve
#endif
