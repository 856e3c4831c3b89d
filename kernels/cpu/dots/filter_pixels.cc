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
            [[maybe_unused]] const Area& area, [[maybe_unused]] const Workspace& workspace,
            [[maybe_unused]] const MacropixelQuads* macropixels) {
#if CONVOLVE_DOT_INSTRUCTION
  if (macropixels != nullptr)
    filter_pixels_of<4, kMacropixelStep>(task, taps, area, workspace, macropixels);
  else if (task.count == 2)
    filter_pixels_of<2>(task, taps, area, workspace);
  else if (task.count == 3)
    filter_pixels_of<3>(task, taps, area, workspace);
  else
    filter_pixels_of<4>(task, taps, area, workspace);
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

/// A pixel that is filtered where it lies has its copied bytes filtered, too, and put back. Up to
/// so many quads of weights this takes less time than parting pixels and putting them together.
constexpr int kMostQuadsWithCopies = 10;

/// True if the bytes of a pixel share an epilogue, but for some that are copied.
bool serves(const GroupTask& task, const DotTaps& taps) {
  if (!task.whole_pixels() || !task.any_filtered()) return false;
  const bool shared = std::all_of(task.parts, task.parts + task.count, [](const GroupPart& part) {
    return !part.filtered || part.shares_epilogue;
  });
  return shared &&
         (task.all_filtered() || (task.count == 4 && taps.digits() * taps.height() * taps.quads() <=
                                                         kMostQuadsWithCopies));
}

}  // namespace

bool filter_pixels(const RowTask& task, const DotTaps& taps, const Area& area,
                   const Workspace* workspaces) {
  const GroupTask& first = task.groups[0];
  if (first.parts[0].task.sample_bytes != 1) return false;
  if (task.count == 1)
    return serves(first, taps) &&
           HWY_DYNAMIC_DISPATCH(pixels)(first, taps, area, workspaces[0], nullptr);
  // The last byte of luma in an odd row is no sample.
  if (first.parts[0].task.width % 2 != 0) return false;
  const GroupTask macropixels = task.macropixels();
  const int luma_byte = macropixels.parts[0].task.src == first.parts[0].task.src ? 0 : 1;
  const auto quads = MacropixelQuads::make(taps, luma_byte);
  return quads.has_value() && serves(macropixels, taps) &&
         HWY_DYNAMIC_DISPATCH(pixels)(macropixels, taps, task.area_of(1, area), workspaces[0],
                                      &*quads);
}

}  // namespace convolve
#endif
