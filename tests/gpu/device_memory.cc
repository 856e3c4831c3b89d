// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/gpu/device_memory.h"

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <vector>

namespace cudaconvolve::gpu {
namespace {

void expect_success(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::printf("FAIL %s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// The driver's management library, which is looked up at run time: NVML's header is no part of the
/// packages that the build needs.
class Management {
 public:
  Management() {
    void* const library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (library == nullptr) return;
    const auto find = [library](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    };
    int (*initialise)() = nullptr;
    find(initialise, "nvmlInit_v2");
    find(by_bus_id_, "nvmlDeviceGetHandleByPciBusId_v2");
    find(processes_, "nvmlDeviceGetComputeRunningProcesses_v3");
    usable_ = initialise != nullptr && by_bus_id_ != nullptr && processes_ != nullptr &&
              initialise() == 0;
  }

  /// Bytes that this process has on the device; -1 if that is not known.
  long long bytes_of_process(const char* bus_id) const {
    void* device = nullptr;
    if (!usable_ || by_bus_id_(bus_id, &device) != 0) return -1;
    std::vector<Process> all(256);
    unsigned count = static_cast<unsigned>(all.size());
    if (processes_(device, &count, all.data()) != 0) return -1;
    for (unsigned i = 0; i < count; ++i)
      if (all[i].pid == static_cast<unsigned>(getpid()) && all[i].bytes != kUnknown)
        return static_cast<long long>(all[i].bytes);
    return -1;
  }

 private:
  /// nvmlProcessInfo_v2_t.
  struct Process {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
  };
  static constexpr unsigned long long kUnknown = ~0ull;

  bool usable_ = false;
  int (*by_bus_id_)(const char*, void**) = nullptr;
  int (*processes_)(void*, unsigned*, Process*) = nullptr;
};

}  // namespace

long long device_bytes_used() {
  static const Management management;
  int device = 0;
  char bus_id[32] = "";
  expect_success(cudaGetDevice(&device), "cudaGetDevice");
  expect_success(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device), "cudaDeviceGetPCIBusId");
  if (const long long own = management.bytes_of_process(bus_id); own >= 0) return own;
  std::size_t free_bytes = 0, total = 0;
  expect_success(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
  return static_cast<long long>(total - free_bytes);
}

}  // namespace cudaconvolve::gpu
