// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/coarsened_dots.h"

#include <algorithm>
#include <utility>

#include "kernels/core/base/round.h"

// The target with VNNI takes compile time, which nothing else makes up for.
#define HWY_WANT_AVX3_DL
#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dots/coarsened_dots.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/bytes/byte_lines-inl.h"
#include "kernels/cpu/bytes/word_lines-inl.h"
#include "kernels/cpu/dots/dot_tile-inl.h"
#include "kernels/cpu/dots/pair_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// The rows of samples of one byte, or of two, as tiles read them.
template <class Stored>
HWY_INLINE auto rows_of(const ByteTask& task, const DotTaps& taps, const Area& area,
                        const Workspace& workspace, std::ptrdiff_t upper, QuadTile<Stored>) {
  const int x = area.x - taps.anchor_x(), cells = area.width + taps.width() - 1;
  if constexpr (sizeof(Stored) == 1)
    return SourceRows(task, x, cells, QuadTile<Stored>::stride(taps));
  else
    return SplitRows(task, x, cells, upper, workspace.samples.at<std::uint16_t>(0));
}

#if CONVOLVE_DOT_PAIRS

/// The last of the source lines is scratch.
template <class Stored>
HWY_INLINE auto rows_of(const ByteTask& task, const DotTaps& taps, const Area& area,
                        const Workspace& workspace, std::ptrdiff_t upper, PairTile<Stored>) {
  const int x = area.x - taps.anchor_x(), cells = area.width + taps.width() - 1;
  if constexpr (sizeof(Stored) == 1) {
    return WidenedRows(task, x, cells, upper);
  } else {
    const int ring = taps.height() + kMostDotRows - 1;
    const int scratch = task.count * ring;
    return JoinedRows(task, x, cells, upper, workspace.source.at<std::uint8_t>(scratch),
                      workspace.samples.at<std::uint16_t>(0));
  }
}

#endif

/// Walks down the area with a ring of lines for each part: each is loaded once per area.
template <class Tile>
void filter_samples(const ByteTask& task, const DotTaps& taps, const Area& area,
                    const Workspace& workspace) {
  using Stored = typename Tile::Stored;
  constexpr int kRows = Tile::kRows;
  const int ring = taps.height() + kMostDotRows - 1;
  const auto line = [&](int part, int index) {
    return workspace.source.at<std::uint8_t>(part * ring + index % ring);
  };
  const bool direct = task.lies_alone();
  const auto lines = reinterpret_cast<const std::uint8_t**>(workspace.table);
  const int top = area.y - taps.anchor_y();
  const std::ptrdiff_t upper = upper_line(area.width + taps.width() - 1);
  const auto source = rows_of(task, taps, area, workspace, upper, Tile());
  RowsAhead ahead(task.parts[0].task, task.count, area);
  int loaded = 0;
  for (int y = 0; y < area.height && !task.parts[0].task.stopped(); y += kRows) {
    const int rows = std::min(kRows, area.height - y);
    const int needed = taps.height() + rows - 1;
    for (; loaded < y + needed; ++loaded) {
      std::uint8_t* to[kMaxComponents];
      for (int k = 0; k < task.count; ++k)
        to[k] = line(k, loaded);
      source.load(top + loaded, to);
    }
    ahead.clear();
    ahead.read(top + loaded, top + loaded + kRows);
    ahead.write(area.y + y + rows, area.y + std::min(y + rows + kRows, area.height));
    const Stored* samples[kMostDotRows][kMaxComponents];
    for (int k = 0; k < task.count; ++k) {
      const ComponentTask& part = task.parts[k].task;
      DotBlock block{lines, upper, {}, rows, part.layout, part.reciprocals, ahead, k};
      for (int r = 0; r < rows; ++r) {
        block.out[r] = direct ? part.dst_row(area.y + y + r) + area.x * part.step
                              : workspace.intermediate.at<std::uint8_t>(k * kMostDotRows + r);
        samples[r][k] = reinterpret_cast<const Stored*>(
            task.parts[k].filtered ? block.out[r]
                                   : line(k, y + r + taps.anchor_y()) + taps.anchor_x());
      }
      if (!task.parts[k].filtered) continue;
      source.for_each_run(area.width, [&](int begin, int end, bool in_picture) HWY_ATTR {
        for (int i = 0; i < taps.height() + kRows - 1; ++i) {
          // Below the last row a tile may read any line: nobody wants what comes of it.
          const int row = y + std::min(i, needed - 1);
          lines[i] = line(k, row);
          if (in_picture) lines[i] = source.in_picture(top + row, lines[i]);
        }
        filter_block<Tile>(taps, task.parts[k].digits, block, begin, end, area.width);
      });
    }
    for (int r = 0; r < rows && !direct; ++r) {
      if constexpr (sizeof(Stored) == 1)
        store_parts(task, area.y + y + r, area.x, area.width, samples[r]);
      else
        store_split(task, area.y + y + r, area.x, area.width, samples[r]);
    }
  }
}

void filter_dots(const ByteTask& task, const DotTaps& taps, const Area& area,
                 const Workspace& workspace) {
  const bool bytes = task.parts[0].task.sample_bytes == 1;
#if CONVOLVE_DOT_PAIRS
  if (!bytes && !taps.wide())
    return filter_samples<PairTile<std::uint16_t>>(task, taps, area, workspace);
#endif
#if CONVOLVE_DOT_PAIRS && !CONVOLVE_DOT_INSTRUCTION
  if (bytes) return filter_samples<PairTile<std::uint8_t>>(task, taps, area, workspace);
#else
  if (bytes) return filter_samples<QuadTile<std::uint8_t>>(task, taps, area, workspace);
#endif
  return filter_samples<QuadTile<std::uint16_t>>(task, taps, area, workspace);
}

const char* instruction_set() {
  return hwy::TargetName(HWY_TARGET);
}

bool widens_bytes() {
  return CONVOLVE_DOT_PAIRS && !CONVOLVE_DOT_INSTRUCTION;
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(filter_dots);
HWY_EXPORT(instruction_set);
HWY_EXPORT(widens_bytes);

const char* vector_instruction_set() {
  return HWY_DYNAMIC_DISPATCH(instruction_set)();
}

Status limit_instruction_set(const std::string& name) {
  const std::int64_t usable = (hwy::SupportedTargets() & HWY_TARGETS) | HWY_STATIC_TARGET;
  // The better a target is, the lower is its bit.
  for (std::int64_t rest = usable; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    if (name != (target == HWY_STATIC_TARGET ? "baseline" : hwy::TargetName(target))) continue;
    hwy::SetSupportedTargetsForTest(rest);
    return {};
  }
  return unsupported("this machine, or this build, has no instruction set " + name);
}

Result<CoarsenedDots> CoarsenedDots::make(const FrameFormat& format, const Mask& mask,
                                          const DigitWeights& weights, int workers) {
  const GroupExtent extent = largest_group(format);
  const int ring = mask.height + kMostDotRows - 1;
  const int halo = mask.width - 1;
  CoarsenedDots made;
  made.taps_ = DotTaps(mask, weights);
  WorkspaceShape shape;
  // Without products of bytes they lie in lines of 16 bits.
  shape.cell_bytes =
      static_cast<std::size_t>(HWY_DYNAMIC_DISPATCH(widens_bytes)() ? 2 : extent.sample_bytes);
  made.strip_width_ = choose_strip_width(extent.width, halo, extent.parts * ring, shape.cell_bytes);
  shape.strip_width = std::min(made.strip_width_, round_up(extent.width, kStripStep));
  shape.source_width = upper_line(shape.strip_width + halo);
  shape.source_lines = extent.parts * ring + 1;  // See rows_of().
  shape.intermediate_lines = extent.parts * kMostDotRows;
  shape.table_lines = ring;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  return made;
}

void CoarsenedDots::filter(const ByteTask& task, const Area& area, int worker) const {
  HWY_DYNAMIC_DISPATCH(filter_dots)(task, taps_, area, workspaces_[worker]);
}

}  // namespace convolve
#endif
