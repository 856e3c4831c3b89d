// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/coarsened_dots.h"

#include <algorithm>
#include <utility>

#include "kernels/core/base/round.h"
#include "kernels/cpu/dots/fir/fir_lines.h"

namespace convolve {

Result<CoarsenedDots> CoarsenedDots::make(const FrameFormat& format, const Mask& mask,
                                          const DigitWeights& weights, int workers) {
  const GroupExtent extent = largest_group(format);
  const bool pairs = dots_multiply_pairs(extent.sample_bytes, weights.wide);
  CoarsenedDots made;
  made.taps_ = DotTaps(
      mask, weights,
      pairs ? FastFir(mask, weights, largest_code(format), extent.sample_bytes == 1) : FastFir());
  const FastFir& fir = made.taps_.fir();
  int rows = kMostDotRows, ring = mask.height + rows - 1;
  int lines = ring, table = ring;  // Of a part.
  if (fir.levels() > 0) {
    rows = fir.rows();
    table = fir_subfilters(fir.levels()) * fir.lines();
    lines = FirLines(fir, 1).count();
    if (fir.approximate()) table += 2 * (rows + mask.height - 1) + kDotPairRows - 1;
  }
  WorkspaceShape shape;
  // Pairs lie in lines of 16 bits.
  shape.cell_bytes = static_cast<std::size_t>(pairs ? 2 : extent.sample_bytes);
  const int halo = mask.width - 1;
  made.strip_width_ =
      choose_strip_width(extent.width, halo, extent.parts * lines, shape.cell_bytes);
  shape.strip_width = std::min(made.strip_width_, round_up(extent.width, kStripStep));
  // A row of macropixels (packed 4:2:2) lies in two lines of luma's length. Its halo is as many
  // macropixels as the mask has columns beside the anchor, each of which is two bytes in either
  // line.
  shape.source_width = upper_line(shape.strip_width + extent.groups * halo);
  // One more is scratch. Those of a fast FIR algorithm are enough for rows of whole weights, too,
  // which go by DotRows where a frame's scale is large.
  shape.source_lines =
      fir.levels() > 0 ? FirLines(fir, extent.parts).count() : extent.parts * lines + 1;
  shape.intermediate_lines = extent.parts * rows;
  shape.table_lines = table;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers, extent.groups);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  return made;
}

void CoarsenedDots::filter(const RowTask& task, const Area& area, int worker) const {
  if (filter_pixels(task, taps_, area, workspaces_.of(worker))) return;
  const int sample_bytes = task.groups[0].parts[0].task.sample_bytes;
  DotFilter* filter_area = sample_bytes == 1 ? filter_byte_pairs : filter_word_pairs;
  if (!dots_multiply_pairs(sample_bytes, taps_.wide())) filter_area = filter_quads;
  filter_area(task, taps_, area, workspaces_.of(worker));
}

}  // namespace convolve
