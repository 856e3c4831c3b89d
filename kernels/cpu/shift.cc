// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/shift.h"

#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/shift.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include <algorithm>

#include "kernels/cpu/copy.h"
#include "kernels/cpu/finish_line-inl.h"
#include "kernels/cpu/load_line-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// A float holds the difference of any two codes.
template <class Stored>
HWY_INLINE void filter(const ComponentTask& task, const Shift& shift, const Area& area,
                       const Workspace& workspace) {
  float* line = workspace.source.at<float>(0);
  Stored* samples = workspace.samples.at<Stored>(0);
  for (int y = area.y; y < area.y + area.height && !task.stopped(); ++y) {
    load_line(task, y + shift.y, area.x + shift.x, area.width, line, samples);
    finish_line(task, y, area.x, area.width, line, samples);
  }
}

void shift(const ComponentTask& task, const Shift& shift, const Area& area,
           const Workspace& workspace) {
  task.sample_bytes == 1 ? filter<std::uint8_t>(task, shift, area, workspace)
                         : filter<std::uint16_t>(task, shift, area, workspace);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {
namespace {

/// Samples may be copied as they are: no code changes, and there are no bits to clear.
bool copies(const ComponentTask& task) {
  return code_map(task.epilogue, task.black) == CodeMap::kKeep &&
         all_bits_count(task.layout, task.sample_bytes);
}

}  // namespace

HWY_EXPORT(shift);

void filter_shift(const ComponentTask& task, const Shift& shift, const Area& area,
                  const Workspace& workspace) {
  if (!copies(task)) {
    HWY_DYNAMIC_DISPATCH(shift)(task, shift, area, workspace);
    return;
  }
  // What comes from inside the picture is copied, and what is around it made as above.
  const int left = std::clamp(-shift.x, area.x, area.x + area.width);
  const int right = std::clamp(task.width - shift.x, left, area.x + area.width);
  const int top = std::clamp(-shift.y, area.y, area.y + area.height);
  const int bottom = std::clamp(task.height - shift.y, top, area.y + area.height);
  const auto make = [&](int x0, int y0, int x1, int y1) {
    if (x0 < x1 && y0 < y1)
      HWY_DYNAMIC_DISPATCH(shift)(task, shift, {x0, y0, x1 - x0, y1 - y0}, workspace);
  };
  ComponentTask moved = task;
  moved.src += shift.y * task.src_pitch + static_cast<std::ptrdiff_t>(shift.x) * task.step;
  copy_area(moved, {left, top, right - left, bottom - top});
  make(area.x, area.y, area.x + area.width, top);
  make(area.x, bottom, area.x + area.width, area.y + area.height);
  make(area.x, top, left, bottom);
  make(right, top, area.x + area.width, bottom);
}

}  // namespace convolve
#endif
