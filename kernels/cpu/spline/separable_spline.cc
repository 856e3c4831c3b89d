// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/spline/separable_spline.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/core/base/round.h"
#include "kernels/cpu/highway_targets.h"
#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/spline/spline_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/spline/separable_spline.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/accumulate-inl.h"
#include "kernels/cpu/finish_line-inl.h"
#include "kernels/cpu/rows/byte_lines-inl.h"
#include "kernels/cpu/rows/store_lines-inl.h"
#include "kernels/cpu/spline/spline_codes-inl.h"
#include "kernels/cpu/spline/spline_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// What a ghost cell without signal is worth among coefficients, which are mean codes less
/// kMidCode.
float no_signal(const ComponentTask& task) {
  return static_cast<float>(task.black - kMidCode);
}

/// The cross term's splines along row `y`, convolved. `codes`: those of filtered part `f`, from the
/// first pixel of the cross term's splines on.
void analyse_row(const SplineKernel& k, int f, int y, const std::uint8_t* codes) {
  float* const coefficients = k.workspace(f).intermediate.at<float>(0);
  analyse_bytes(k.cross, codes, k.cross.analysis_count(k.width()), coefficients);
  const float* const from[] = {coefficients};
  accumulate<1>(from, k.cross.convolution(), k.cross.synthesis_count(k.width()),
                Lines{k.planes[f].cross_rows.at<std::byte>(y), 0});
}

/// Filters a line of the columns' coefficients along itself by the row's factor. `line`: of
/// filtered part `f`, with room for the cells of line_span().
void filter_line(const SplineKernel& k, int f, float* line, float* out) {
  const SplineTaps& row = k.row;
  const Workspace& workspace = k.workspace(f);
  const int width = k.width();
  const LineSpan span = line_span(row, width);
  float* const coefficients = workspace.intermediate.at<float>(0);
  float* const convolved = workspace.intermediate.at<float>(1);
  fill_float_ghosts(k.border(), width, no_signal(k.component(f)), span.from, span.end, line);
  std::fill_n(line + span.end, kVectorColumns, 0.0f);
  analyse_floats(row, line + row.first_pixel(), row.analysis_count(width), coefficients);
  const float* const cells[] = {coefficients};
  accumulate<1>(cells, row.convolution(), row.synthesis_count(width),
                Lines{reinterpret_cast<std::byte*>(convolved), 0});
  const float* const ends[] = {line + row.end_pixel(0), line + row.end_pixel(1)};
  accumulate<1>(ends, row.ends(), width, Lines{reinterpret_cast<std::byte*>(out), 0});
  synthesise(row, convolved, width, out);
}

/// Lines `first` .. `end` - 1 of the columns' coefficients, filtered along themselves, and the
/// cross term's coefficients of the rows of intervals `first` .. `end` - 1. Each row is
/// read once, and a line is filtered while the cache has it.
void filter_lines(const SplineKernel& k, int first, int end) {
  const int spacing = k.column.spacing(), margin = -k.cross.first_pixel();
  const LineSpan span = line_span(k.row, k.width());
  std::optional<IntervalSums> sums[kMaxComponents];
  for (int f = 0; f < k.filtered; ++f)
    sums[f].emplace(k.column, k.workspace(f).sums, k.width());
  const std::uint8_t* rows[kMaxComponents][kMostSpacing];
  for (int i = first; i < end + kSplineOrder - 1 && !k.stopped(); ++i) {
    for (int t = 0; t < spacing; ++t) {
      const int y = k.column.first_pixel() + i * spacing + t;
      // No row of the picture lies in the intervals behind the last line's first one.
      const bool cross = i < end && y >= 0 && y < k.height();
      std::uint8_t* to[kMaxComponents];
      for (int p = 0; p < k.task.count; ++p) {
        to[p] = k.workspaces[p].source.at<std::uint8_t>(t) + (cross ? 0 : margin);
        rows[p][t] = k.workspaces[p].source.at<std::uint8_t>(t) + margin;
      }
      if (cross)
        load_parts(k.task, y, -margin, k.cross.analysis_span(k.width()), to);
      else
        load_parts(k.task, y, 0, k.width(), to);
      for (int f = 0; f < k.filtered && cross; ++f)
        analyse_row(k, f, y, to[k.part[f]]);
    }
    const int done = i - (kSplineOrder - 1);
    for (int f = 0; f < k.filtered; ++f) {
      float* const line = k.workspace(f).intermediate.at<float>(2) - span.from;
      sums[f]->add(rows[k.part[f]], done < first ? nullptr : line);
      if (done >= first) filter_line(k, f, line, k.planes[f].analysis.at<float>(done));
    }
  }
}

/// The column's end taps down the cross term's coefficients of filtered part `f`, of rows `begin`
/// .. `end` - 1 and of those up to the next block.
void filter_ends(const SplineKernel& k, int f, int begin, int end) {
  const SplineTaps& column = k.column;
  const Workspace& workspace = k.workspace(f);
  const Lines &from = k.planes[f].cross_rows, &to = k.planes[f].cross_ends;
  const int knots = k.cross.synthesis_count(k.width());
  float* const outside = workspace.intermediate.at<float>(0);
  std::fill_n(outside, knots, static_cast<float>(k.cross.sum()) * no_signal(k.component(f)));
  const auto lines = reinterpret_cast<const float**>(workspace.table);
  const int lines_of_run = column.end_length() + kBlockRows - 1;
  for (int y = begin; y < end && !k.stopped(); y += kBlockRows) {
    for (int run = 0; run < 2; ++run)
      for (int i = 0; i < lines_of_run; ++i) {
        const int row = border_index(k.border(), y + column.end_pixel(run) + i, k.height());
        lines[run * lines_of_run + i] = row == kNoSignal ? outside : from.at<float>(row);
      }
    accumulate<kBlockRows>(lines, column.ends(), knots, Lines{to.at<std::byte>(y), to.stride});
  }
}

/// Asks for the cache lines of `count` floats.
HWY_INLINE void fetch_floats(const float* from, int count) {
  constexpr int kCacheLine = 64 / static_cast<int>(sizeof(float));
  // GCC leaves out calls of a function that does nothing but prefetch: it takes it for a pure one.
  asm volatile("");
  for (int i = 0; i < count; i += kCacheLine)
    __builtin_prefetch(from + i);
}

/// The columns' convolution for a strip of filtered part `f`, as the synthesis comes to need it: of
/// the last two blocks of kBlockRows knots. A row is made from the coefficients of kSplineOrder
/// knots, which two blocks always hold.
class ConvolvedStrip {
 public:
  /// `knot`: the first one that is needed.
  ConvolvedStrip(const SplineKernel& k, int f, int x, int knot)
      : taps_(k.column),
        workspace_(k.workspace(f)),
        analysis_(k.planes[f].analysis),
        x_(x),
        columns_(strip_columns(k.width(), x)),
        last_(k.column.analysis_count(k.height()) - 1),
        ready_(knot / kBlockRows * kBlockRows) {
    static_assert(kBlockRows >= kSplineOrder - 1);
  }

  /// The lines around row `y`.
  GridLines around(int y) {
    const int spacing = taps_.spacing(), knot = y / spacing, phase = y % spacing;
    for (; ready_ < knot + kSplineOrder; ready_ += kBlockRows)
      convolve_block();
    fetch_for_next_block(knot % kBlockRows, phase);
    GridLines grid;
    for (int m = 0; m < kSplineOrder; ++m) {
      grid.line[m] = at(knot + m);
      grid.weight[m] = taps_.synthesis()[static_cast<std::size_t>(m * kMostSpacing + phase)];
    }
    return grid;
  }

 private:
  float* at(int knot) const { return workspace_.intermediate.at<float>(knot % (2 * kBlockRows)); }

  /// The next block reads kBlockRows more lines: a share of them for each row until then.
  void fetch_for_next_block(int line, int phase) const {
    const int index = std::min(ready_ + taps_.convolution().height() - 1 + line, last_);
    const float* const from = analysis_.at<float>(index) + x_;
    const int spacing = taps_.spacing();
    fetch_floats(from + phase * columns_ / spacing, divide_up(columns_, spacing));
  }

  void convolve_block() {
    const auto lines = reinterpret_cast<const float**>(workspace_.table);
    for (int i = 0; i < kBlockRows + taps_.convolution().height() - 1; ++i)
      lines[i] = analysis_.at<float>(std::min(ready_ + i, last_)) + x_;
    accumulate<kBlockRows>(
        lines, taps_.convolution(), columns_,
        Lines{reinterpret_cast<std::byte*>(at(ready_)), workspace_.intermediate.stride});
  }

  const SplineTaps& taps_;
  const Workspace& workspace_;
  const Lines& analysis_;
  int x_, columns_;
  int last_;   ///< The last line of the analysis.
  int ready_;  ///< Knots before this one are convolved, as far as they are needed.
};

/// So many rows before it is drawn, the coefficients of a row and its place in the picture are
/// asked for.
constexpr int kRowsAhead = 4;

/// Puts the codes of row `y` from column `x` on to the picture, unless they are there.
void store_row(const GroupTask& task, int y, int x, int columns, std::uint8_t* const* codes) {
  if (task.lies_alone()) return;
  if (task.whole_pixels()) return store_parts(task, y, x, columns, codes);
  for (int p = 0; p < task.count; ++p)
    scatter_samples(task.parts[p].task, y, x, columns, codes[p]);
}

/// Rows `begin` .. `end` - 1 of the picture from column `x` on, of one unit.
void synthesise_rows(const SplineKernel& k, int x, int begin, int end) {
  const int columns = strip_columns(k.width(), x);
  std::optional<ConvolvedStrip> strips[kMaxComponents];
  for (int f = 0; f < k.filtered; ++f)
    strips[f].emplace(k, f, x, begin / k.column.spacing());
  const bool copies = k.filtered < k.task.count;
  RowsAhead ahead(k.task.parts[0].task, {x, begin, columns, end - begin});
  for (int y = begin; y < end && !k.stopped(); ++y) {
    // The source is read only for what is copied; below the picture there is nothing to fetch.
    ahead.next_block(copies ? y + kRowsAhead : k.height(), 1, y + kRowsAhead);
    ahead.fetch(0, columns, 0, columns);
    std::uint8_t* codes[kMaxComponents];
    for (int p = 0; p < k.task.count; ++p)
      codes[p] = k.task.lies_alone() ? k.task.parts[0].task.dst_row(y) + x
                                     : k.workspaces[p].samples.at<std::uint8_t>(0);
    // Parts that are not filtered are copied.
    if (copies) load_parts(k.task, y, x, columns, codes);
    for (int f = 0; f < k.filtered; ++f) {
      const auto coefficients = [&](int row) {
        return k.planes[f].cross_ends.at<float>(row) + x / k.cross.spacing();
      };
      fetch_floats(coefficients(std::min(y + kRowsAhead, k.height() - 1)),
                   columns / k.cross.spacing() + kSplineOrder);
      draw_codes(k.component(f), strips[f]->around(y), k.cross, coefficients(y), columns,
                 codes[k.part[f]]);
    }
    store_row(k.task, y, x, columns, codes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(filter_lines);
HWY_EXPORT(filter_ends);
HWY_EXPORT(synthesise_rows);

namespace {

/// Rows of the picture in a unit of the synthesis: whole blocks of knots, and several of them, as
/// each unit convolves one block more than its rows begin.
int band_rows(int height, const SplineTaps& column, int workers) {
  constexpr int kBlocks = 4;
  const int block = kBlockRows * column.spacing();
  const int wanted = workers == 1 ? 1 : 4 * workers;
  return round_up(std::max(divide_up(height, wanted), kBlocks * block), block);
}

/// Lines in a unit of the first stage: each unit reads kSplineOrder - 1 intervals more than it
/// makes lines.
int unit_lines(int lines, int workers) {
  constexpr int kLeastLines = 16;
  const int wanted = workers == 1 ? 1 : 4 * workers;
  return std::max(divide_up(lines, wanted), kLeastLines);
}

/// Floats behind the last that a line of coefficients has: those that pixels up to a vector of
/// codes, or an interval, behind the last pixel would be made from.
constexpr int kFloatsBehind = 64;

}  // namespace

Result<SeparableSpline> SeparableSpline::make(const FrameFormat& format, const SplineMask& spline,
                                              int workers) {
  int width = 1, height = 1, parts = 1, planes = 1;
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format, groups);
  for (int g = 0; g < count; ++g) {
    if (!groups[g].any_filtered) continue;
    const PlaneFormat& plane = format.planes[groups[g].plane];
    width = std::max(width, groups[g].width);
    height = std::max(height, groups[g].height);
    parts = std::max(parts, groups[g].count);
    const auto filtered = [&](int c) { return plane.components[c].filtered; };
    const int* const first = groups[g].component;
    planes =
        std::max(planes, static_cast<int>(std::count_if(first, first + groups[g].count, filtered)));
  }
  SeparableSpline made;
  made.workers_ = workers;
  made.column_ = SplineTaps(spline.column, Along::kColumn);
  made.row_ = SplineTaps(spline.row, Along::kRow);
  made.cross_ = SplineTaps(spline.cross, Along::kRow);

  WorkspaceShape shape;
  const LineSpan span = line_span(made.row_, width);
  const int longest =
      std::max({span.end - span.from, made.cross_.analysis_span(width), kSplineStrip});
  shape.source_width = longest;
  shape.strip_width = longest;
  shape.source_lines = kMostSpacing;
  shape.intermediate_lines = 2 * kBlockRows;
  // A block of rows reads as many lines as the taps and kBlockRows - 1 more.
  shape.table_lines =
      std::max(made.column_.convolution().height(), made.column_.ends().height()) + kBlockRows;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers, parts);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  if (Status status = made.allocate(width, height, planes); !status.ok()) return status;
  return made;
}

Status SeparableSpline::allocate(int width, int height, int planes) {
  const auto stride_of = [](int cells) {
    return line_stride(cells + kFloatsBehind, sizeof(float));
  };
  const std::size_t stride = stride_of(width);
  const std::size_t cross_stride = stride_of(cross_.synthesis_count(width));
  const std::size_t bytes = stride * static_cast<std::size_t>(column_.analysis_count(height));
  // End taps are added up for whole blocks of rows.
  const std::size_t cross_bytes =
      cross_stride * static_cast<std::size_t>(round_up(height, kBlockRows));
  auto memory = allocate_lines(static_cast<std::size_t>(planes) * (bytes + 2 * cross_bytes));
  if (!memory.ok()) return memory.status();
  memory_ = std::move(memory.value());
  std::byte* at = memory_.get();
  for (int p = 0; p < planes; ++p) {
    planes_[p] = {
        {at, stride}, {at + bytes, cross_stride}, {at + bytes + cross_bytes, cross_stride}};
    at += bytes + 2 * cross_bytes;
  }
  return {};
}

int SeparableSpline::units(const GroupTask& task, Stage stage) const {
  const SplineKernel kernel(*this, task, 0);
  const int height = kernel.height(), lines = column_.analysis_count(height);
  switch (stage) {
    case Stage::kLines:
      return divide_up(lines, unit_lines(lines, workers_));
    case Stage::kEnds:
      return kernel.filtered * divide_up(height, kEndRows);
    case Stage::kSynthesis:
      return divide_up(kernel.width(), kSplineStrip) *
             divide_up(height, band_rows(height, column_, workers_));
  }
  return 0;
}

void SeparableSpline::run(const GroupTask& task, Stage stage, int unit, int worker) const {
  const SplineKernel kernel(*this, task, worker);
  const int height = kernel.height();
  switch (stage) {
    case Stage::kLines: {
      const int lines = column_.analysis_count(height), each = unit_lines(lines, workers_);
      const int first = unit * each, end = std::min(first + each, lines);
      return HWY_DYNAMIC_DISPATCH(filter_lines)(kernel, first, end);
    }
    case Stage::kEnds: {
      const int bands = divide_up(height, kEndRows), begin = unit % bands * kEndRows;
      return HWY_DYNAMIC_DISPATCH(filter_ends)(kernel, unit / bands, begin,
                                               std::min(begin + kEndRows, height));
    }
    case Stage::kSynthesis: {
      const int strips = divide_up(kernel.width(), kSplineStrip);
      const int rows = band_rows(height, column_, workers_);
      const int begin = unit / strips * rows;
      return HWY_DYNAMIC_DISPATCH(synthesise_rows)(kernel, unit % strips * kSplineStrip, begin,
                                                   std::min(begin + rows, height));
    }
  }
}

}  // namespace convolve
#endif
