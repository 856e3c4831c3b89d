// SPDX-License-Identifier: LGPL-2.1-or-later
// From a case that fails to a small one that fails alike: fewer tracks and steps, smaller pictures,
// simpler masks, properties at their defaults.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/storm/case.h"
#include "tests/storm/child.h"

namespace storm {

/// Cases that are simpler than `c` in one way, the boldest first.
std::vector<Case> simpler_cases(const Case& c);

/// Masks that are simpler than `text` in one way.
std::vector<std::string> simpler_masks(const std::string& text);

/// True if both faults are of one kind: pictures that differ, frames that do not come, a crash.
bool alike(const std::string& fault, const std::string& other);

/// The smallest case found within `budget` for which `play` says a fault like `fault`.
Case shrink(Case c, const std::string& fault, const std::function<std::string(const Case&)>& play,
            Child::Seconds budget);

}  // namespace storm
