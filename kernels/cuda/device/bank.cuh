// SPDX-License-Identifier: LGPL-2.1-or-later
// The constant bank of the .cu file that includes this: masks in constant memory (PMPP 7.4), where
// a weight that all threads of a warp read at once is cached and broadcast.
//
// The kernels of the book have one mask, `__constant__ float M[]`. Here many filters run in one
// process, and a constant variable exists once for each module (each .cu) and context. So the
// variable is all 64 KB of the bank, each mask lives in a slot of it, and the byte offset of the
// slot is a kernel argument. The host decides which filter has which slot: mask_bank.h.
#pragma once

#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

// File-static, so that the kernels and upload_mask() of a .cu refer to the same variable.
__constant__ __align__(256) unsigned char constant_bank[kConstantBankBytes];

/// Reads the mask from its slot.
struct ConstantStorage {
  template <class Weight>
  static __device__ const Weight* weights(const MaskArguments& mask) {
    return reinterpret_cast<const Weight*>(constant_bank + mask.slot);
  }
};

/// Variant::upload of this .cu.
cudaError_t upload_mask(const void* weights, std::size_t bytes, int slot, cudaStream_t stream) {
  return cudaMemcpyToSymbolAsync(constant_bank, weights, bytes, static_cast<std::size_t>(slot),
                                 cudaMemcpyHostToDevice, stream);
}

/// As select_types(), with the storage of the mask as third argument.
template <class Select>
auto select_types_and_storage(const LaunchArguments& arguments, Select&& select) {
  return select_types(arguments, [&](auto arithmetic, auto stored) {
    return arguments.storage == MaskStorage::kConstantMemory
               ? select(arithmetic, stored, ConstantStorage{})
               : select(arithmetic, stored, GlobalStorage{});
  });
}

}  // namespace
}  // namespace convolve
