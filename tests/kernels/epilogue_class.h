// SPDX-License-Identifier: LGPL-2.1-or-later
// In what way sums become codes, said from outside: as the epilogues that a plan leads to are made.
#pragma once

#include <string>

#include "kernels/convolver.h"

namespace convolve::testing {

/// "general", "bits" and the like: the way in which the filtered components of `format` come to
/// codes under `plan`. ", mixed" follows if components of one plane differ in black level or bias,
/// and, where kernel tensor sees that in nothing but the general epilogue, ", of one start".
std::string epilogue_class(const FrameFormat& format, const Mask& mask, const Plan& plan,
                           double scale, double bias);

}  // namespace convolve::testing
