// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands in for gpu.cu in builds without CUDA.
#include "tests/benchmarks/gpu.h"

namespace convolve::benchmarks {

std::unique_ptr<Gpu> open_gpu(std::string* why) {
  *why = "this build has no CUDA backend";
  return nullptr;
}

}  // namespace convolve::benchmarks
