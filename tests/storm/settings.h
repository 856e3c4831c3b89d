// SPDX-License-Identifier: LGPL-2.1-or-later
// What the properties of a case mean to the engine: the mask, the options and the arguments that
// the element must arrive at.
#pragma once

#include <string>
#include <string_view>

#include "kernels/convolver.h"
#include "tests/storm/case.h"

namespace storm {

struct Settings {
  convolve::Mask mask;
  convolve::Options options;
  convolve::RunArguments arguments;
  unsigned channels = 0;  ///< Bits of cudaconvolve::Channels.
};

/// True for the name of a property of the element that changes while it plays.
bool is_property(std::string_view name);

/// What the word does to the settings: a mask-matrix is a mask in another dress, written as rows.
Words::Word meaning(const Words::Word& word);

/// The value as the element's property takes it.
std::string property_text(const Words::Word& word);

/// True if the element must take the value: only masks can be refused as they are set.
bool takes(const Words::Word& word);

/// What the properties in `words` mean, those that are not there at their defaults. An error if
/// they contradict each other: the element must then keep its last plan.
convolve::Result<Settings> resolve(const Words& words);

/// "ground" of a refusal: size, memory, rank, device or alpha; empty if its message names none.
std::string ground_of(const std::string& message);

}  // namespace storm
