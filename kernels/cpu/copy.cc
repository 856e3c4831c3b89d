// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/copy.h"

#include <cstring>

namespace convolve {
namespace {

template <class Stored>
void copy_samples(const std::uint8_t* src, std::uint8_t* dst, int step, int count) {
  for (int i = 0; i < count; ++i, src += step, dst += step)
    write_sample(dst, read_sample<Stored>(src));
}

}  // namespace

void copy_area(const ComponentTask& task, const Area& area) {
  const std::ptrdiff_t first = static_cast<std::ptrdiff_t>(area.x) * task.step;
  for (int y = area.y; y < area.y + area.height; ++y) {
    const std::uint8_t* src = task.src_row(y) + first;
    std::uint8_t* dst = task.dst_row(y) + first;
    if (task.step == task.sample_bytes)
      std::memcpy(dst, src, static_cast<std::size_t>(area.width) * task.sample_bytes);
    else if (task.sample_bytes == 1)
      copy_samples<std::uint8_t>(src, dst, task.step, area.width);
    else
      copy_samples<std::uint16_t>(src, dst, task.step, area.width);
  }
}

}  // namespace convolve
