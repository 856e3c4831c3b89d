// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands in for npp.cu in builds without CUDA.
#include "tests/benchmarks/npp.h"

namespace convolve::benchmarks {

std::unique_ptr<Npp> open_npp(std::string* why) {
  *why = "this build has no CUDA backend";
  return nullptr;
}

}  // namespace convolve::benchmarks
