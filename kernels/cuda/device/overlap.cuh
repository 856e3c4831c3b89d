// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches that begin while the one before them on the stream still ends (compute capability 9.0
// and up; CUDA Programming Guide, programmatic dependent launch): a kernel of some microseconds
// takes one of them to start.
//
// Such a kernel calls admit_next_launch() first, and await_previous_launch() before it touches a
// picture or anything else that a launch writes, but for fetch_ahead(). What only copies write may
// be read before: behind a copy a launch begins when all is done. So may a source that none of the
// launches writes which may still run (LaunchArguments::settled). box_checkpoint_kernel otherwise
// waits first and admits then: so the launch behind it, which begins when all before it is over,
// may read the picture at once, too.
//
// Every such kernel awaits the one before, somewhere: what follows it on the stream, and waits for
// it, has waited for all.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace convolve {

/// The next launch may bring its blocks to where there is room, once all blocks have said so.
static __device__ __forceinline__ void admit_next_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/// Waits until the launch before is over, and all it has written can be read.
static __device__ __forceinline__ void await_previous_launch() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/// What the L2 cache fetches at once.
inline constexpr int kSectorBytes = 32;

/// Has the L2 cache fetch the sector at `address`, so that a picture comes while the launch before
/// ends. This is no read: what that launch still writes there meets the sector in the same cache,
/// and whoever reads after await_previous_launch() gets it.
static __device__ __forceinline__ void fetch_ahead([[maybe_unused]] const void* address) {
#if __CUDA_ARCH__ >= 900
  asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
#endif
}

/// The same for `bytes` from `address` on, both multiples of 16.
static __device__ __forceinline__ void fetch_ahead([[maybe_unused]] const void* address,
                                                   [[maybe_unused]] int bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(address), "r"(bytes) : "memory");
#endif
}

/// Enqueues a kernel that calls both.
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
