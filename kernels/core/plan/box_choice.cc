// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/box_choice.h"

#include <algorithm>

#include "kernels/core/shape/box_bands.h"
#include "kernels/core/shape/box_strip.h"
#include "kernels/core/weights/box.h"

namespace convolve {

BoxWork box_work(const FrameFormat& format, const ComponentGroup& group, const Mask& mask,
                 const DeviceCapabilities& device) {
  BoxWork work;
  work.width = group.width;
  work.height = group.height;
  work.mask_width = mask.width;
  work.mask_height = mask.height;
  work.channels = group.count;
  work.packed = box_packed(format.planes[group.plane], mask);
  work.processors = std::max(1, device.processors);
  work.shared_bytes = device.shared_bytes;
  return work;
}

std::optional<BoxTile> choose_box_form(const FrameFormat& format, const ComponentGroup& group,
                                       const Mask& mask, Form form,
                                       const DeviceCapabilities& device) {
  const PlaneFormat& plane = format.planes[group.plane];
  const BoxWork work = box_work(format, group, mask, device);
  if (form == Form::kBoxBands) return choose_box_bands(work, mask.anchor_x);
  if (form == Form::kBoxStrips || (form == Form::kBoxStripsRuns && box_strips_serve(plane, mask)))
    return choose_box_strip(work, mask.anchor_x);
  return choose_box_tile(work);
}

BandMemory band_memory(const FrameFormat& format, const Mask& mask, bool weighting,
                       const BoxTile (&tiles)[kMaxGroups]) {
  BandMemory memory;
  if (!band_has_checkpoints(mask.height)) return memory;
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format, groups, weighting);
  for (int g = 0; g < count; ++g) {
    if (tiles[g].form != BoxForm::kBands) continue;
    memory.pitch = std::max(memory.pitch, band_checkpoint_pitch(groups[g].width));
    memory.rows = std::max(memory.rows, static_cast<std::size_t>(band_intervals(groups[g].height)));
  }
  return memory;
}

}  // namespace convolve
