// SPDX-License-Identifier: LGPL-2.1-or-later
// The obvious truth: exact results of the arithmetic of convolver.h, slowly. Tests and benchmarks
// compare every kernel with it. It shares masks, border rule and sample layout with the engine, but
// no accumulator, no epilogue and no tiling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/core/base/border.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/plan/backend.h"

namespace convolve {

/// One component as a picture of its own: codes, row-major, without padding.
struct Picture {
  int width = 0;
  int height = 0;
  std::vector<int> codes;
};

/// What a kernel may answer for one sample.
struct Truth {
  std::uint16_t code = 0;   ///< The correctly rounded result.
  bool lower_too = false;   ///< code - 1 keeps the contract as well (real masks, inside the zone),
  bool higher_too = false;  ///< code + 1 likewise.
};

/// True if `given` keeps the contract.
inline bool allows(Truth truth, int given) {
  return given == truth.code || (truth.lower_too && given == truth.code - 1) ||
         (truth.higher_too && given == truth.code + 1);
}

struct ReferenceResult {
  bool rational = false;  ///< The class of the arithmetic: if true, only `code` is allowed.
  std::vector<Truth> samples;
};

/// Rows of a picture: by default all.
struct RowRange {
  int first = 0;
  int count = std::numeric_limits<int>::max();  ///< Or as many as there are.

  int end(int height) const { return count < height - first ? first + count : height; }
};

/// Filters `rows` of `input`, the codes of a component with the depth, role, black level and range
/// of `rule` (its size and place in memory do not matter). Rational masks in integers; real ones as
/// sums of whole digits, so that nothing is lost where huge weights cancel.
ReferenceResult reference_filter(const Picture& input, const Component& rule, const Mask& mask,
                                 const RunArguments& arguments, RowRange rows = {});

/// The codes of component `component` of plane `plane`.
Picture decode_component(const FrameView& frame, int plane, int component);

/// Writes `picture` there; bits outside the depth become zero.
void encode_component(const Picture& picture, const FrameView& frame, int plane, int component);

/// A whole frame: filtered components get their correctly rounded codes, the others the bits of
/// `src`. Both views are of the same format, in host memory.
void reference_run(const FrameView& src, const FrameView& dst, const Mask& mask,
                   const RunArguments& arguments);

}  // namespace convolve
