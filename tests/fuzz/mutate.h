// SPDX-License-Identifier: LGPL-2.1-or-later
// Inputs for the fuzz test: a corpus, and random changes of its members.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convolve::fuzz {

struct Input {
  std::string bytes;
  bool file = false;  ///< Contents of a file, not a property's value.
};

/// The files of `folder` in the order of their names; *.mask are values of the property, without a
/// line break at their end. Empty if there are none.
std::vector<Input> read_corpus(const std::string& folder);

/// A member of `corpus` after one to six changes, all of which follow from `seed`: bytes flipped,
/// parts removed, repeated, swapped or taken from other members, and words of the grammar put in.
Input mutated(const std::vector<Input>& corpus, std::uint64_t seed);

}  // namespace convolve::fuzz
