// SPDX-License-Identifier: LGPL-2.1-or-later
// Faults planted on purpose, so that the storm itself can be tested. The environment variable
// STORM_PLANT, which nothing but this program reads, is WHAT:TEXT and strikes at each frame whose
// words contain TEXT: `byte` changes a byte of its result, `hang` never returns, `crash` ends the
// process by a signal.
#pragma once

#include "tests/storm/picture.h"

namespace storm {

/// `words`: all that is in force for the frame. `result` may be empty.
void plant_fault(const Words& words, Bytes& result);

}  // namespace storm
