// SPDX-License-Identifier: LGPL-2.1-or-later
// Where the lines of a fast FIR algorithm lie among the source lines of a workspace.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/core/base/round.h"
#include "kernels/core/weights/fast_fir.h"
#include "kernels/cpu/dots/fir/fast_fir.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Whole lines come first: for each part the rows of the source, one for scratch, and the rows as
/// bytes if sums are approximate. Then come smaller_lines(): those of the subfilters, and what a
/// level of columns makes of rows, which with that level have half as many cells.
class FirLines {
 public:
  FirLines(const FastFir& fir, int parts)
      : parts_(parts),
        source_rows_(fir.source_rows()),
        whole_lines_((fir.approximate() ? 2 : 1) * parts * source_rows_ + 1),
        rows_(fir.lines()),
        subfilter_lines_(fir_subfilters(fir.levels()) * rows_),
        columns_(fir_splits_columns(fir.levels())) {}

  /// Lines of the workspace.
  int count() const {
    return whole_lines_ + divide_up(parts_ * (subfilter_lines_ + half_lines()), smaller_in_one());
  }

  int source(int part, int row) const { return part * source_rows_ + row; }
  int scratch() const { return parts_ * source_rows_; }
  int bytes(int part, int row) const { return scratch() + 1 + part * source_rows_ + row; }

  /// The smaller lines that follow the whole ones in `lines`.
  Lines smaller_lines(const Lines& lines) const {
    constexpr std::size_t kCacheLine = 64;
    const auto in_one_line = static_cast<std::size_t>(smaller_in_one());
    return {lines.data + static_cast<std::size_t>(whole_lines_) * lines.stride,
            lines.stride / kCacheLine / in_one_line * kCacheLine};
  }

  /// Row `row` of subfilter `n`, of smaller lines.
  int subfilter(int part, int n, int row) const {
    return part * subfilter_lines_ + n * rows_ + row;
  }
  /// Line `n` of the three that a level of columns makes of row `row`, of smaller lines: of as many
  /// rows as a line of each subfilter takes, and one.
  int half(int part, int n, int row) const {
    return parts_ * subfilter_lines_ + part * half_lines() + 3 * (row % kHalfRows) + n;
  }

 private:
  static constexpr int kHalfRows = 2 << kMostFirRowLevels;

  int smaller_in_one() const { return columns_ ? 2 : 1; }
  int half_lines() const { return columns_ ? 3 * kHalfRows : 0; }

  int parts_;
  int source_rows_;
  int whole_lines_;
  int rows_;  ///< Of a subfilter's ring.
  int subfilter_lines_;
  bool columns_;
};

}  // namespace convolve
