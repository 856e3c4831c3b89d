// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks with at most one tap, for kernel shift. Samples are moved and mapped one by one, and
// nothing is summed.
#pragma once

#include <optional>

#include "kernels/core/base/epilogue.h"
#include "kernels/core/base/sample.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/box.h"

namespace convolve {

/// The output at (x, y) comes from the input at (x + this->x, y + this->y).
struct Shift {
  int x = 0;
  int y = 0;
  Mask tap;          ///< 1x1: the weight of that input; 0 if the mask has no tap.
  BoxWeight weight;  ///< Of the tap, for make_box_epilogue().
};

/// The shift that `mask` is. Nothing if two weights are not 0, or the mask is kept as its factors.
std::optional<Shift> shift_of(const Mask& mask);

/// How an epilogue for sums of one difference from `black` maps the codes of a component.
enum class CodeMap {
  kKeep,      ///< Every code stays as it is.
  kConstant,  ///< All codes become the same.
  kLinear,    ///< A multiplication and an addition in float.
  kAny,
};
CodeMap code_map(const Epilogue& epilogue, int black);

/// The code, 0 .. max_code, of a sample that differs from black by `difference`.
int mapped_code(int difference, const Epilogue& epilogue);

/// True if all bits of a stored sample are bits of its code, so that samples may be copied whole.
bool all_bits_count(SampleLayout layout, int sample_bytes);

}  // namespace convolve
