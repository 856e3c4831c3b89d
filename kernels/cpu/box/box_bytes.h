// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks whose weights are all equal, for samples of 8 bits: sums of codes in whole numbers, each
// made of those above, many columns at a time. The time of a row hardly depends on the
// mask's size.
#pragma once

#include <cstdint>
#include "kernels/core/base/round.h"
#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"

#include "kernels/cpu/box/box.h"
#include "kernels/cpu/rows/row_filter.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Rows that windows are changed by together.
inline constexpr int kBoxRows = 4;

/// Mask and scratch memory of a job.
class BoxBytes final : public RowFilter {
 public:
  /// True if all filtered components have 8 bits and their sums fit 31, so that differences from
  /// black fit 32.
  static bool serves(const FrameFormat& format, const Mask& mask);

  /// `format`: the largest frames. kOutOfMemory.
  static Result<BoxBytes> make(const FrameFormat& format, const BoxMask& mask, int workers);

  /// Bytes from line to line of `cells` codes, of which kBoxRows share a line of a workspace: a
  /// vector may be read behind each.
  static constexpr int code_line_bytes(int cells) { return round_up(cells, 64) + 64; }

  int strip_width() const override { return strip_width_; }

  void filter(const RowTask& task, const Area& area, int worker) const override;

 private:
  BoxMask mask_;
  int strip_width_ = kStripStep;
  Workspaces workspaces_;
};

}  // namespace convolve
