// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks as they are asked for: what is allowed, and the rotation that turns one operation into the
// other.
#pragma once

#include "kernels/core/base/status.h"
#include "kernels/core/mask/mask.h"

namespace convolve {

/// Sizes, counts, anchor, divisor and every value within the limits of mask.h.
Status check_source(const MaskSource& source);

/// Weights and anchor turned by 180 degrees: correlating with it convolves with `source`.
MaskSource rotated(MaskSource source);

}  // namespace convolve
