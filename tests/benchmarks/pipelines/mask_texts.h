// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks for launch lines, by names.
#pragma once

#include <string>

namespace cudaconvolve::pipelines {

/// `reals-K`: K x K random reals 0 .. 1 with the sum 1, the same ones on every machine.
/// `integers-K`: K x K random integers up to 127, few of them negative, over their sum. `3x3`: the
/// binomial one. Any other text is a mask in the element's own grammar, as `gaussian:10` is. Empty
/// for a K that is none.
std::string mask_text(const std::string& name);

}  // namespace cudaconvolve::pipelines
