// SPDX-License-Identifier: LGPL-2.1-or-later
// What the forms that read lines of bytes have in common: they filter all components of a group at
// once.
#pragma once

#include "kernels/cpu/bytes/byte_task.h"
#include "kernels/cpu/component_task.h"

namespace convolve {

/// Mask and scratch memory of a job. Used by several workers at once.
class ByteFilter {
 public:
  virtual ~ByteFilter() = default;

  /// Columns of an area at most.
  virtual int strip_width() const = 0;

  /// Filters `area` as worker `worker`, with the epilogues of the parts.
  virtual void filter(const ByteTask& task, const Area& area, int worker) const = 0;
};

}  // namespace convolve
