// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches that begin while the one before them on the stream still ends (compute capability 9.0
// and up; CUDA Programming Guide, programmatic dependent launch). Without it every launch adds its
// start-up latency, about a microsecond, to kernels that take only some microseconds.
//
// Such a kernel calls admit_next_launch() first, and await_previous_launch() before it touches a
// picture or anything else that a launch writes; only prefetch_l2() is allowed before. Memory that
// only copies write may be read before, as a launch that follows a copy begins when the copy has
// ended. A source that no launch still running can write may be read before, too
// (LaunchArguments::settled). box_checkpoint_kernel waits first, unless its source is settled, and
// admits then: so the launch behind it begins when everything before box_checkpoint_kernel is over,
// and may read the picture at once.
//
// Every such kernel must wait for the launch before it at some point: work that follows on the
// stream waits only for the last kernel, and must thereby have waited for all.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace convolve {

/// Lets the next launch start blocks where there is room, as soon as all blocks of this one have
/// called it.
static __device__ __forceinline__ void admit_next_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits until the launch before is over and its writes are visible.
static __device__ __forceinline__ void await_previous_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// Bytes that the L2 cache loads as a unit.
inline constexpr int kSectorBytes = 32;

/// Prefetches the sector at `address` to the L2 cache, so that a picture is loaded while the launch
/// before still ends. This is not a read: what that launch still writes goes to the same cache, so
/// a read after await_previous_launch() gets it.
static __device__ __forceinline__ void prefetch_l2([[maybe_unused]] const void* address) {
#if __CUDA_ARCH__ >= 900
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

/// Prefetches `bytes` from `address` on; both are multiples of 16.
static __device__ __forceinline__ void prefetch_l2([[maybe_unused]] const void* address,
                                                   [[maybe_unused]] int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(address), "r"(bytes) : "memory");
#endif
}

/// Enqueues a kernel that calls both functions.
template <class... Arguments>
cudaError_t launch_overlapping(void (*kernel)(Arguments...), dim3 grid, dim3 block,
                               std::size_t shared_bytes, cudaStream_t stream,
                               const Arguments&... arguments) {
  int device = 0, major = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error != cudaSuccess) return error;
  cudaLaunchAttribute overlap = {};
  overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlap.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &overlap;
  config.numAttrs = major >= 9 ? 1 : 0;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace convolve
