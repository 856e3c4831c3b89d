// SPDX-License-Identifier: LGPL-2.1-or-later
// Which kernels a test runs on, and what the absence of a GPU means.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "kernels/convolver.h"

namespace convolve::testing {

/// A kernel on a backend: the parameter of tests that every kernel must pass.
struct KernelOn {
  BackendKind backend;
  KernelKind kernel;
};

inline std::ostream& operator<<(std::ostream& out, const KernelOn& which) {
  return out << (which.backend == BackendKind::kCuda ? "cuda " : "cpu ")
             << kernel_info(which.kernel).nick;
}

/// Every kernel of every backend in this build.
std::vector<KernelOn> all_kernels();

/// "cuda_tiled_input", as GoogleTest allows.
std::string test_name(const KernelOn& which);

/// True if a missing GPU is a failure and not a skip: CUDACONVOLVE_REQUIRE_GPU=1.
bool gpu_required();

}  // namespace convolve::testing
