// SPDX-License-Identifier: LGPL-2.1-or-later
// A fuzz target: what libfuzzer.cc gives inputs to that it finds by coverage, and replay.cc those
// of the corpus.
#pragma once

#include <string>

namespace convolve::fuzz {

/// Called once, before the first input.
void prepare();

/// What is wrong with the answer to this input, or "". The same input gets the same answer,
/// whatever was tried before.
std::string try_input(const std::string& bytes);

}  // namespace convolve::fuzz
