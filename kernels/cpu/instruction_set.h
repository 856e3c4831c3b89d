// SPDX-License-Identifier: LGPL-2.1-or-later
// Which instruction set the vector kernels run with.
#pragma once

#include <string>

#include "kernels/core/base/status.h"

namespace convolve {

/// The best instruction set that vector kernels use on this machine: "AVX2". Only sources that want
/// it are compiled for the one with VNNI (AVX3_DL).
const char* vector_instruction_set();

/// From now on they use none better than `name`, or than what every machine has if that is
/// "baseline": for tests, before anything else is called. kUnsupported if the machine has none of
/// that name.
Status limit_instruction_set(const std::string& name);

}  // namespace convolve
