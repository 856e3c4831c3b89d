// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/component_task.h"

namespace convolve {

ComponentTask make_task(const PlaneFormat& plane, const Component& component,
                        const std::uint8_t* src, std::ptrdiff_t src_pitch, std::uint8_t* dst,
                        std::ptrdiff_t dst_pitch) {
  ComponentTask task;
  task.src = src + component.offset;
  task.dst = dst + component.offset;
  task.src_pitch = src_pitch;
  task.dst_pitch = dst_pitch;
  task.width = component.width;
  task.height = component.height;
  task.step = component.step;
  task.sample_bytes = plane.sample_bytes;
  if (component.step % plane.sample_bytes == 0 && component.offset % plane.sample_bytes == 0) {
    task.channels = component.step / plane.sample_bytes;
    task.channel = component.offset / plane.sample_bytes % task.channels;
  }
  task.layout = sample_layout(plane, component);
  task.black = component.black;
  return task;
}

}  // namespace convolve
