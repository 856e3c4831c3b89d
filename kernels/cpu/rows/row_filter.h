// SPDX-License-Identifier: LGPL-2.1-or-later
// The interface of the forms that filter all components of a row at once.
#pragma once

#include "kernels/cpu/component_task.h"
#include "kernels/cpu/rows/row_task.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// Mask and scratch memory of a job. Used by several workers at once.
class RowFilter {
 public:
  virtual ~RowFilter() = default;

  /// Columns of an area at most.
  virtual int strip_width() const = 0;

  /// Rows of an area are a multiple of this, but of the last ones.
  virtual int row_step() const { return kBlockRows; }

  /// Filters `area` of the first group, and what lies beside it of the second, as worker `worker`,
  /// with the epilogues of the parts.
  virtual void filter(const RowTask& task, const Area& area, int worker) const = 0;
};

}  // namespace convolve
