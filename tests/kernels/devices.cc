// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/devices.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace convolve::testing {

std::vector<KernelOn> all_kernels() {
  std::vector<KernelOn> all;
  for (const BackendKind backend : {BackendKind::kCpu, BackendKind::kCuda})
    for (const KernelInfo& info : kKernels) {
      if (info.kind != KernelKind::kAuto && has_kernel(backend, info.kind) && has_backend(backend))
        all.push_back({backend, info.kind});
    }
  return all;
}

std::string test_name(const KernelOn& which) {
  std::string name = which.backend == BackendKind::kCuda ? "cuda_" : "cpu_";
  name += kernel_info(which.kernel).nick;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

bool gpu_required() {
  const char* required = std::getenv("CUDACONVOLVE_REQUIRE_GPU");
  return required != nullptr && std::strcmp(required, "1") == 0;
}

}  // namespace convolve::testing
