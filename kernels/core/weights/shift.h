// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks with one tap, or none: what kernel shift makes of them. Samples move and are mapped one by
// one, so that nothing is summed.
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
  Mask tap;          ///< 1x1: the weight of that input; 0 if the mask has none.
  BoxWeight weight;  ///< Of the tap, for make_box_epilogue().
};

/// Nothing if two weights are not 0, or the mask is kept as its factors.
std::optional<Shift> shift_of(const Mask& mask);

/// What becomes of a component's codes under an epilogue for sums of one difference from `black`.
enum class CodeMap {
  kKeep,      ///< Every code stays as it is.
  kConstant,  ///< All become one.
  kLinear,    ///< A multiplication and an addition in float.
  kAny,
};
CodeMap code_map(const Epilogue& epilogue, int black);

/// The code that a sample of `difference` from black becomes, 0 .. max_code.
int mapped_code(int difference, const Epilogue& epilogue);

/// True if samples have no bits but those of the code, so that they may be copied as they are.
bool all_bits_count(SampleLayout layout, int sample_bytes);

}  // namespace convolve
