// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/spline/separable_spline.h"

#include <algorithm>
#include <utility>

#include "kernels/core/base/round.h"
#include "kernels/cpu/highway_targets.h"
#include "kernels/cpu/spline/spline_kernel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/spline/separable_spline.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/accumulate-inl.h"
#include "kernels/cpu/bytes/byte_lines-inl.h"
#include "kernels/cpu/finish_line-inl.h"
#include "kernels/cpu/spline/spline_lines-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

/// What a ghost cell without signal is worth among coefficients, which are mean codes less
/// kMidCode.
float no_signal(const ComponentTask& task) {
  return static_cast<float>(task.black - kMidCode);
}

/// The splines down the columns from column `x` on, of one unit.
void analyse_columns(const SplineKernel& k, int x) {
  const ComponentTask& task = k.task;
  const int columns = strip_columns(task, x), spacing = k.column.spacing();
  const int intervals = k.column.analysis_count(task.height) + kSplineOrder - 1;
  ByteTask bytes;
  bytes.add({task, true, {}, {}});
  const bool in_picture = bytes.lies_alone() && columns % kVectorColumns == 0;
  IntervalSums sums(k.column, k.workspace.sums, columns);
  for (int i = 0; i < intervals && !task.stopped(); ++i) {
    const std::uint8_t* rows[kMostSpacing];
    for (int t = 0; t < spacing; ++t) {
      const int y = k.column.first_pixel() + i * spacing + t;
      const int row = border_index(task.border, y, task.height);
      rows[t] = in_picture && row != kNoSignal ? task.src_row(row) + x
                                               : k.workspace.source.at<std::uint8_t>(t);
      std::uint8_t* const to[] = {k.workspace.source.at<std::uint8_t>(t)};
      if (rows[t] == to[0]) load_parts(bytes, y, x, columns, to);
    }
    const int done = i - (kSplineOrder - 1);
    sums.add(rows, done < 0 ? nullptr : k.analysis.at<float>(done) + x);
  }
}

/// The cross term's splines along rows `begin` .. `end` - 1, convolved.
void analyse_rows(const SplineKernel& k, int begin, int end) {
  const ComponentTask& task = k.task;
  ByteTask bytes;
  bytes.add({task, true, {}, {}});
  std::uint8_t* const line[] = {k.workspace.source.at<std::uint8_t>(0)};
  float* const coefficients = k.workspace.intermediate.at<float>(0);
  for (int y = begin; y < end && !task.stopped(); ++y) {
    load_parts(bytes, y, k.cross.first_pixel(), k.cross.analysis_span(task.width), line);
    analyse_bytes(k.cross, line[0], k.cross.analysis_count(task.width), coefficients);
    const float* const from[] = {coefficients};
    accumulate<1>(from, k.cross.convolution(), k.cross.synthesis_count(task.width),
                  Lines{k.cross_rows.at<std::byte>(y), 0});
  }
}

/// Lines `first` .. of the columns' coefficients, each filtered along itself by the row's factor.
void filter_lines(const SplineKernel& k, int first) {
  const SplineTaps& row = k.row;
  const int width = k.task.width;
  const int count = std::min(kUnitLines, k.column.analysis_count(k.task.height) - first);
  const LineSpan span = line_span(row, k.anchor_x, k.mask_width, width);
  float* const coefficients = k.workspace.intermediate.at<float>(0);
  float* const convolved = k.workspace.intermediate.at<float>(1);
  const float* boxed[kUnitLines];
  float* out[kUnitLines];
  for (int r = 0; r < kUnitLines; ++r) {
    // The last unit may have fewer lines. The boxes are always added to kUnitLines of them, so what
    // stands for a missing one is written to scratch memory and not read.
    out[r] = r < count ? k.analysis.at<float>(first + r) : k.workspace.intermediate.at<float>(2);
    float* const line = k.workspace.source.at<float>(r) - span.from;
    boxed[r] = line - k.anchor_x;
    if (r >= count) continue;
    std::copy_n(out[r], width, line);
    fill_float_ghosts(k.task.border, width, no_signal(k.task), span.from, span.end, line);
    std::fill_n(line + span.end, kVectorColumns, 0.0f);
    analyse_floats(row, line + row.first_pixel(), row.analysis_count(width), coefficients);
    const float* const cells[] = {coefficients};
    accumulate<1>(cells, row.convolution(), row.synthesis_count(width),
                  Lines{reinterpret_cast<std::byte*>(convolved), 0});
    synthesise<false>(row, convolved, width, out[r]);
  }
  add_boxes(boxed, k.mask_width, row.box_weight(), width, out);
}

/// The boxes down the cross term's coefficients of knots `begin` .. `end` - 1.
void box_knots(const SplineKernel& k, int begin, int end) {
  const int height = k.task.height;
  HWY_ALIGN double sums[kUnitKnots] = {};
  HWY_ALIGN float outside[kUnitKnots];
  std::fill_n(outside, kUnitKnots, static_cast<float>(k.cross.sum()) * no_signal(k.task));
  const auto line = [&](int y) {
    const int row = border_index(k.task.border, y - k.anchor_y, height);
    return row == kNoSignal ? outside : k.cross_rows.at<float>(row) + begin;
  };
  const int knots = end - begin;
  for (int i = 0; i < k.mask_height - 1; ++i)
    add_to_sums(line(i), knots, sums);
  for (int y = 0; y < height; ++y) {
    add_to_sums(line(y + k.mask_height - 1), knots, sums);
    float* const out = k.cross_boxes.at<float>(y) + begin;
    for (int j = 0; j < knots; ++j)
      out[j] = static_cast<float>(k.column.box_weight() * sums[j]);
    subtract_from_sums(line(y), knots, sums);
  }
}

/// Rows `begin` .. `end` - 1 of the picture from column `x` on, of one unit. `begin` is at a knot.
void synthesise_rows(const SplineKernel& k, int x, int begin, int end) {
  const ComponentTask& task = k.task;
  const SplineTaps& column = k.column;
  const int columns = strip_columns(task, x), spacing = column.spacing();
  const int last = column.analysis_count(task.height) - 1;
  const auto lines = reinterpret_cast<const float**>(k.workspace.table);
  // A row is made from the coefficients of kSplineOrder knots, and a block of kBlockRows knots is
  // convolved at once, so two blocks always hold all that a row reads.
  static_assert(kBlockRows >= kSplineOrder - 1);
  const auto convolved = [&](int knot) {
    return k.workspace.intermediate.at<float>(knot % (2 * kBlockRows));
  };
  const auto convolve_block = [&](int knot) {
    for (int i = 0; i < kBlockRows + column.convolution().height() - 1; ++i)
      lines[i] = k.analysis.at<float>(std::min(knot + i, last)) + x;
    accumulate<kBlockRows>(
        lines, column.convolution(), columns,
        Lines{reinterpret_cast<std::byte*>(convolved(knot)), k.workspace.intermediate.stride});
  };
  const int first = begin / spacing / kBlockRows * kBlockRows;
  convolve_block(first);
  int ready = first + kBlockRows;
  float* const sums = k.workspace.sums.at<float>(0);
  for (int y = begin; y < end && !task.stopped(); ++y) {
    const int knot = y / spacing, phase = y % spacing;
    for (; ready < knot + kSplineOrder; ready += kBlockRows)
      convolve_block(ready);
    const float* const from[kSplineOrder] = {convolved(knot), convolved(knot + 1),
                                             convolved(knot + 2), convolved(knot + 3)};
    blend_lines(from, column.synthesis().data() + phase, spacing, columns, sums);
    synthesise<true>(k.cross, k.cross_boxes.at<float>(y) + x / k.cross.spacing(), columns, sums);
    finish_line(task, y, x, columns, sums, k.workspace.samples.at<std::uint8_t>(0));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(analyse_columns);
HWY_EXPORT(analyse_rows);
HWY_EXPORT(filter_lines);
HWY_EXPORT(box_knots);
HWY_EXPORT(synthesise_rows);

namespace {

/// Rows of the picture in a unit of the synthesis: whole blocks of knots, and several of them, as
/// each unit convolves one block more than its rows begin.
int band_rows(const ComponentTask& task, const SplineTaps& column, int workers) {
  constexpr int kBlocks = 4;
  const int block = kBlockRows * column.spacing();
  const int wanted = workers == 1 ? 1 : 4 * workers;
  return round_up(std::max(divide_up(task.height, wanted), kBlocks * block), block);
}

}  // namespace

Result<SeparableSpline> SeparableSpline::make(const FrameFormat& format, const Mask& mask,
                                              const SplineMask& spline, int workers) {
  int width = 1, height = 1;
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c) {
      const Component& component = format.planes[p].components[c];
      if (!component.filtered) continue;
      width = std::max(width, component.width);
      height = std::max(height, component.height);
    }
  SeparableSpline made;
  made.workers_ = workers;
  made.mask_width_ = mask.width;
  made.mask_height_ = mask.height;
  made.anchor_x_ = mask.anchor_x;
  made.anchor_y_ = mask.anchor_y;
  made.column_ = SplineTaps(spline.column, Along::kColumn);
  made.row_ = SplineTaps(spline.row, Along::kRow);
  made.cross_ = SplineTaps(spline.cross, Along::kRow);

  WorkspaceShape shape;
  const LineSpan span = line_span(made.row_, mask.anchor_x, mask.width, width);
  const int longest =
      std::max({span.end - span.from, made.cross_.analysis_span(width), kSplineStrip});
  shape.source_width = longest;
  shape.strip_width = longest;
  shape.source_lines = kMostSpacing;
  shape.intermediate_lines = 2 * kBlockRows;
  shape.table_lines = made.column_.convolution().height() + kBlockRows;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());

  // The synthesis writes whole intervals between knots, so a line ends at a multiple of the widest.
  made.analysis_.stride = line_stride(round_up(width, kMostSpacing), sizeof(float));
  made.cross_rows_.stride = made.cross_boxes_.stride =
      line_stride(made.cross_.synthesis_count(width), sizeof(float));
  const std::size_t analysis_bytes =
      made.analysis_.stride * static_cast<std::size_t>(made.column_.analysis_count(height));
  const std::size_t cross_bytes = made.cross_rows_.stride * static_cast<std::size_t>(height);
  auto memory = allocate_lines(analysis_bytes + 2 * cross_bytes);
  if (!memory.ok()) return memory.status();
  made.memory_ = std::move(memory.value());
  made.analysis_.data = made.memory_.get();
  made.cross_rows_.data = made.analysis_.data + analysis_bytes;
  made.cross_boxes_.data = made.cross_rows_.data + cross_bytes;
  return made;
}

int SeparableSpline::units(const ComponentTask& task, Stage stage) const {
  const int strips = divide_up(task.width, kSplineStrip);
  switch (stage) {
    case Stage::kAnalysis:
      return strips + divide_up(task.height, kCrossRows);
    case Stage::kLines:
      return divide_up(column_.analysis_count(task.height), kUnitLines) +
             divide_up(cross_.synthesis_count(task.width), kUnitKnots);
    case Stage::kSynthesis:
      return strips * divide_up(task.height, band_rows(task, column_, workers_));
  }
  return 0;
}

void SeparableSpline::run(const ComponentTask& task, Stage stage, int unit, int worker) const {
  const SplineKernel kernel(*this, task, worker);
  const int strips = divide_up(task.width, kSplineStrip);
  switch (stage) {
    case Stage::kAnalysis: {
      if (unit < strips) return HWY_DYNAMIC_DISPATCH(analyse_columns)(kernel, unit * kSplineStrip);
      const int begin = (unit - strips) * kCrossRows;
      return HWY_DYNAMIC_DISPATCH(analyse_rows)(kernel, begin,
                                                std::min(begin + kCrossRows, task.height));
    }
    case Stage::kLines: {
      const int groups = divide_up(column_.analysis_count(task.height), kUnitLines);
      if (unit < groups) return HWY_DYNAMIC_DISPATCH(filter_lines)(kernel, unit * kUnitLines);
      const int begin = (unit - groups) * kUnitKnots;
      const int knots = cross_.synthesis_count(task.width);
      return HWY_DYNAMIC_DISPATCH(box_knots)(kernel, begin, std::min(begin + kUnitKnots, knots));
    }
    case Stage::kSynthesis: {
      const int rows = band_rows(task, column_, workers_);
      const int begin = unit / strips * rows;
      return HWY_DYNAMIC_DISPATCH(synthesise_rows)(kernel, unit % strips * kSplineStrip, begin,
                                                   std::min(begin + rows, task.height));
    }
  }
}

}  // namespace convolve
#endif
