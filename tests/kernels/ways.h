// SPDX-License-Identifier: LGPL-2.1-or-later
// The ways in which kernels filter: each kernel, and where one has several, each of these. Tests of
// a whole class of faults run through all of them.
#pragma once

#include <string>
#include <vector>

#include "kernels/convolver.h"

namespace convolve::testing {

struct Way {
  std::string name;              ///< "tensor-pairs"
  Options options;               ///< What asks for it.
  bool (*planned)(const Plan&);  ///< True if a plan is of this way.
  bool on_cpu = false;           ///< The CPU has it,
  bool on_cuda = true;           ///< and CUDA.

  /// False if it asks for a form and `plan` has another one.
  bool has_form(const Plan& plan) const { return !options.form || plan.form == *options.form; }
};

/// All of them.
const std::vector<Way>& all_ways();

/// Those whose names begin with one of `prefixes`. Ends the program if there is none.
std::vector<Way> ways_of(const std::vector<std::string>& prefixes);

/// What an H100 can do, for plans of machines without one.
DeviceCapabilities h100();

}  // namespace convolve::testing
