// SPDX-License-Identifier: LGPL-2.1-or-later
// The constant bank of the .cu file that includes this: masks in constant memory (PMPP 7.4), cached
// and broadcast to a warp whose threads all read the same weight.
//
// The book's kernels have one mask, `__constant__ float M[]`. Here many filters run in one process,
// and a constant variable exists once per module (each .cu) and context. So the variable is all
// 64 KB of the bank, each mask lives in a slot of it, and the slot's byte offset is a kernel
// argument. Which slot belongs to whom is the host's business: mask_bank.h.
#pragma once

#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

// File-static: code and upload of one .cu always mean the same variable.
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

/// As select_types, with the mask's storage as third argument.
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
