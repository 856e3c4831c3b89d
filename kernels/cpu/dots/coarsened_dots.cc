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
#include "kernels/cpu/bytes/walk_rows-inl.h"
#include "kernels/cpu/bytes/word_lines-inl.h"
#include "kernels/cpu/dots/dot_tile-inl.h"
#include "kernels/cpu/dots/fir_rows-inl.h"
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

/// The line after those of the parts is scratch.
template <class Stored>
HWY_INLINE auto rows_of(const ByteTask& task, const DotTaps& taps, const Area& area,
                        const Workspace& workspace, std::ptrdiff_t, PairTile<Stored>) {
  const int x = area.x - taps.anchor_x(), cells = area.width + taps.width() - 1;
  const int scratch = task.count * (taps.height() + kMostDotRows - 1);
  return pair_rows_of<Stored>(task, x, cells, workspace, scratch);
}

#endif

/// Rows of an area, each loaded once to a ring of lines for each part.
template <class Tile>
class DotRows {
 public:
  using Stored = typename Tile::Stored;
  static constexpr int kRows = Tile::kRows;

  DotRows(const RowTask& task, int group, const Area& area, const Workspace& workspace,
          const DotTaps& taps)
      : task_(task.groups[group]),
        area_(area),
        workspace_(workspace),
        taps_(taps),
        ring_(taps.height() + kMostDotRows - 1),
        top_(area.y - taps.anchor_y()),
        upper_(upper_line(area.width + taps.width() - 1)),
        source_(rows_of(task_, taps, area_, workspace_, upper_, Tile())),
        ahead_(task, group, area) {}

  void filter(int y, int rows, const Stored* (*samples)[kMaxComponents]) {
    const bool direct = task_.lies_alone();
    const auto lines = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    const int needed = taps_.height() + rows - 1;
    load(y + needed);
    ahead_.next_block(top_ + loaded_, kRows, area_.y + y + rows);
    for (int k = 0; k < task_.count; ++k) {
      const ComponentTask& part = task_.parts[k].task;
      DotBlock block{lines, upper_, {}, rows, part.layout, part.reciprocals, ahead_, k};
      for (int r = 0; r < rows; ++r) {
        block.out[r] = direct ? part.dst_row(area_.y + y + r) + area_.x * part.step
                              : workspace_.intermediate.at<std::uint8_t>(k * kMostDotRows + r);
        samples[r][k] = reinterpret_cast<const Stored*>(
            task_.parts[k].filtered
                ? block.out[r]
                : line(k, (y + r + taps_.anchor_y()) % ring_) + taps_.anchor_x());
      }
      if (!task_.parts[k].filtered) continue;
      source_.for_each_run(area_.width, [&](int begin, int end, bool in_picture) HWY_ATTR {
        set_table(k, y, needed, in_picture);
        filter_block<Tile>(taps_, task_.parts[k].digits, block, begin, end, area_.width);
      });
    }
  }

 private:
  using Source = decltype(rows_of(std::declval<const ByteTask&>(), std::declval<const DotTaps&>(),
                                  std::declval<const Area&>(), std::declval<const Workspace&>(),
                                  std::ptrdiff_t{}, Tile()));

  /// Line `at` of a part's ring.
  HWY_INLINE std::uint8_t* line(int part, int at) const {
    return workspace_.source.at<std::uint8_t>(part * ring_ + at);
  }

  /// Points the table to the lines of part `k` from row `y` on, `needed` of them.
  HWY_INLINE void set_table(int k, int y, int needed, bool in_picture) const {
    const auto table = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    const int lines = taps_.height() + kRows - 1, ring = ring_;
    for (int i = 0, at = y % ring; i < needed; ++i) {
      const std::uint8_t* const loaded = line(k, at);
      table[i] = in_picture ? source_.in_picture(top_ + y + i, loaded) : loaded;
      if (++at == ring) at = 0;
    }
    // Below the last row a tile may read any line: nobody wants what comes of it.
    for (int i = needed; i < lines; ++i)
      table[i] = table[needed - 1];
  }

  /// Loads the rows before row `end` of the area and its halo.
  void load(int end) {
    for (; loaded_ < end; ++loaded_) {
      std::uint8_t* to[kMaxComponents];
      for (int k = 0; k < task_.count; ++k)
        to[k] = line(k, loaded_ % ring_);
      source_.load(top_ + loaded_, to);
    }
  }

  const ByteTask& task_;
  const Area area_;
  const Workspace& workspace_;
  const DotTaps& taps_;
  int ring_;
  int top_;  ///< Picture row of the first line.
  std::ptrdiff_t upper_;
  Source source_;
  RowsAhead ahead_;
  int loaded_ = 0;  ///< Lines.
};

#if CONVOLVE_DOT_PAIRS

template <class Tile>
HWY_INLINE void filter_pairs(const RowTask& task, const DotTaps& taps, const Area& area,
                             const Workspace* workspaces) {
  static_assert(kFewestFirLevels == 2 && kMostFirLevels == 4, "a case for each");
  switch (taps.fir().levels()) {
    case 2:
      return walk_rows<FirRows<Tile, 2>>(task, area, workspaces, taps);
    case 3:
      return walk_rows<FirRows<Tile, 3>>(task, area, workspaces, taps);
    case 4:
      return walk_rows<FirRows<Tile, 4>>(task, area, workspaces, taps);
    default:
      return walk_rows<DotRows<Tile>>(task, area, workspaces, taps);
  }
}

#endif

void filter_dots(const RowTask& task, const DotTaps& taps, const Area& area,
                 const Workspace* workspaces) {
  const bool bytes = task.groups[0].parts[0].task.sample_bytes == 1;
#if CONVOLVE_DOT_PAIRS
  if (!bytes && !taps.wide())
    return filter_pairs<PairTile<std::uint16_t>>(task, taps, area, workspaces);
#endif
#if CONVOLVE_DOT_PAIRS && !CONVOLVE_DOT_INSTRUCTION
  if (bytes) return filter_pairs<PairTile<std::uint8_t>>(task, taps, area, workspaces);
#else
  if (bytes) return walk_rows<DotRows<QuadTile<std::uint8_t>>>(task, area, workspaces, taps);
#endif
  return walk_rows<DotRows<QuadTile<std::uint16_t>>>(task, area, workspaces, taps);
}

const char* instruction_set() {
  return hwy::TargetName(HWY_TARGET);
}

bool has_pairs_for(int sample_bytes) {
  return CONVOLVE_DOT_PAIRS && (sample_bytes == 2 || !CONVOLVE_DOT_INSTRUCTION);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(filter_dots);
HWY_EXPORT(instruction_set);
HWY_EXPORT(has_pairs_for);

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
  const bool pairs = HWY_DYNAMIC_DISPATCH(has_pairs_for)(extent.sample_bytes);
  CoarsenedDots made;
  made.taps_ =
      DotTaps(mask, weights, pairs ? FastFir(mask, weights, largest_code(format)) : FastFir());
  const FastFir& fir = made.taps_.fir();
  int rows = kMostDotRows, ring = mask.height + rows - 1;
  int lines = ring, table = ring;  // Of a part.
  if (fir.levels() > 0) {
    rows = fir.rows();
    table = fir_subfilters(fir.levels()) * fir.lines();
    lines = fir.source_rows() + table;
  }
  WorkspaceShape shape;
  // Pairs lie in lines of 16 bits.
  shape.cell_bytes = static_cast<std::size_t>(pairs ? 2 : extent.sample_bytes);
  const int halo = mask.width - 1;
  made.strip_width_ =
      choose_strip_width(extent.width, halo, extent.parts * lines, shape.cell_bytes);
  shape.strip_width = std::min(made.strip_width_, round_up(extent.width, kStripStep));
  shape.source_width = upper_line(shape.strip_width + halo);
  shape.source_lines = extent.parts * lines + 1;  // See rows_of().
  shape.intermediate_lines = extent.parts * rows;
  shape.table_lines = table;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers, extent.groups);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  return made;
}

void CoarsenedDots::filter(const RowTask& task, const Area& area, int worker) const {
  HWY_DYNAMIC_DISPATCH(filter_dots)(task, taps_, area, workspaces_.of(worker));
}

}  // namespace convolve
#endif
