// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/bytes/byte_task.h"

#include <algorithm>

namespace convolve {

void ByteTask::add(const BytePart& part) {
  int k = count++;
  for (; k > 0 && part.task.src < parts[k - 1].task.src; --k)
    parts[k] = parts[k - 1];
  parts[k] = part;
}

GroupExtent largest_group(const FrameFormat& format) {
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format, groups);
  GroupExtent largest;
  for (int g = 0; g < count; ++g) {
    if (!groups[g].any_filtered) continue;
    largest.width = std::max(largest.width, groups[g].width);
    largest.parts = std::max(largest.parts, groups[g].count);
    largest.sample_bytes =
        std::max(largest.sample_bytes, format.planes[groups[g].plane].sample_bytes);
  }
  return largest;
}

}  // namespace convolve
