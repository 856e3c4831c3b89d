// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/rows/row_task.h"

#include <algorithm>
#include <cstdlib>

namespace convolve {

void GroupTask::add(const GroupPart& part) {
  int k = count++;
  for (; k > 0 && part.task.src < parts[k - 1].task.src; --k)
    parts[k] = parts[k - 1];
  parts[k] = part;
}

bool GroupTask::any_filtered() const {
  return std::any_of(parts, parts + count, [](const GroupPart& part) { return part.filtered; });
}

bool GroupTask::all_filtered() const {
  return std::all_of(parts, parts + count, [](const GroupPart& part) { return part.filtered; });
}

bool GroupTask::one_epilogue_serves() const {
  return std::all_of(parts, parts + count,
                     [](const GroupPart& part) { return part.filtered && part.shares_epilogue; });
}

bool GroupTask::pixels_of_two() const {
  return count == 2 && whole_pixels() && one_epilogue_serves() &&
         parts[0].task.layout == parts[1].task.layout;
}

GroupTask GroupTask::in_turn() const {
  GroupTask line;
  line.add(parts[0]);
  ComponentTask& samples = line.parts[0].task;
  samples.width *= count;
  samples.step = samples.sample_bytes;
  return line;
}

Area RowTask::area_of(int g, const Area& area) const {
  if (g == 0) return area;
  return {area.x / 2, area.y, divide_up(area.width, 2), area.height};
}

GroupTask RowTask::macropixels() const {
  const GroupTask& chroma = groups[1];
  GroupTask pixels;
  for (int k = 0; k < chroma.count; ++k) {
    GroupPart neighbour = groups[0].parts[0];
    neighbour.task.src += k * neighbour.task.step;
    neighbour.task.dst += k * neighbour.task.step;
    neighbour.task.step = chroma.parts[k].task.step;
    neighbour.task.width = chroma.parts[k].task.width;
    pixels.add(neighbour);
    pixels.add(chroma.parts[k]);
  }
  return pixels;
}

bool take_turns(const FrameFormat& format, const ComponentGroup& luma,
                const ComponentGroup& chroma) {
  if (luma.plane != chroma.plane || luma.height != chroma.height) return false;
  const PlaneFormat& plane = format.planes[luma.plane];
  const int bytes = plane.sample_bytes;
  if (luma.count != 1 || luma.step != 2 * bytes) return false;
  if (chroma.count != 2 || chroma.step != 4 * bytes || chroma.width != divide_up(luma.width, 2))
    return false;
  const auto offset = [&](const ComponentGroup& group, int k) {
    return plane.components[group.component[k]].offset;
  };
  const int first = std::min(offset(chroma, 0), offset(chroma, 1));
  return std::abs(offset(chroma, 1) - offset(chroma, 0)) == 2 * bytes &&
         offset(luma, 0) + first == bytes;
}

GroupExtent largest_group(const FrameFormat& format) {
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format, groups);
  GroupExtent largest;
  const auto add = [&](const ComponentGroup& group) {
    largest.width = std::max(largest.width, group.width);
    largest.parts = std::max(largest.parts, group.count);
    largest.sample_bytes = std::max(largest.sample_bytes, format.planes[group.plane].sample_bytes);
  };
  for (int g = 0; g < count; ++g) {
    if (groups[g].any_filtered) add(groups[g]);
    if (g == 0 || !take_turns(format, groups[g - 1], groups[g])) continue;
    add(groups[g - 1]);
    add(groups[g]);
    largest.groups = 2;
  }
  return largest;
}

}  // namespace convolve
