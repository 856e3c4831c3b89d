// SPDX-License-Identifier: LGPL-2.1-or-later
// The host side of kernel `tensor` that its forms share: loading, counting and launching kernels
// whose blocks are kWarps warps and which come once for each Quantiser.
#pragma once

#include <cstddef>
#include <type_traits>

#include "kernels/cuda/device/kernel.cuh"
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/tensor/tensor_load.cuh"

namespace convolve {
namespace {

using TensorKernel = void (*)(TensorArguments);

/// The kernel of a form for these arguments and this quantiser.
using SelectKernel = TensorKernel(const TensorArguments&, Quantiser);

/// The dynamic shared memory of a block, in bytes.
using SharedBytes = std::size_t(const TensorArguments&);
inline std::size_t no_shared_bytes(const TensorArguments&) {
  return 0;
}

/// A number that is known when code is compiled.
template <auto kValue>
using Constant = std::integral_constant<decltype(kValue), kValue>;

/// Calls select(quantiser) with the quantiser as a Constant and returns its result. This is the one
/// place where a quantiser chooses code, for the host that selects a kernel and for a kernel that
/// has the code of all quantisers.
#pragma nv_exec_check_disable
template <class Select>
CONVOLVE_HD auto with_quantiser(Quantiser quantiser, const Select& select) {
  if (quantiser == Quantiser::kBits) return select(Constant<Quantiser::kBits>{});
  if (quantiser == Quantiser::kFloat) return select(Constant<Quantiser::kFloat>{});
  return select(Constant<Quantiser::kGeneral>{});
}

/// Calls select(shift) with PairWindow::shift as a Constant and returns its kernel.
template <class Select>
TensorKernel with_pair_shift(const TensorArguments& a, const Select& select) {
  return a.pairs.shift == 0 ? select(Constant<0>{}) : select(Constant<1>{});
}

/// Calls select(row_groups, shift) with both numbers of the window of pairs as Constants and
/// returns its kernel.
template <class Select>
TensorKernel with_pair_window(const TensorArguments& a, const Select& select) {
  return with_pair_shift(a, [&](auto shift) {
    return a.pairs.row_groups == kPairRowGroups[0] ? select(Constant<kPairRowGroups[0]>{}, shift)
                                                   : select(Constant<kPairRowGroups[1]>{}, shift);
  });
}

/// Forces the kernels of all quantisers to load: which of them a frame needs depends on scale and
/// bias, and a kernel that loads while frames play would hold one of them up.
template <SelectKernel* kSelect, SharedBytes* kShared = no_shared_bytes>
cudaError_t load_quantisers(const TensorArguments& arguments) {
  const std::size_t shared_bytes = kShared(arguments);
  for (const Quantiser quantiser : {Quantiser::kBits, Quantiser::kFloat, Quantiser::kGeneral})
    if (const cudaError_t error = load_kernel(kSelect(arguments, quantiser), shared_bytes);
        error != cudaSuccess)
      return error;
  return cudaSuccess;
}

/// The blocks of `kernel` that the device holds at once, without dynamic shared memory.
inline cudaError_t resident_warps(TensorKernel kernel, int* blocks) {
  return resident_blocks(kernel, 32 * kWarps, blocks);
}

/// Enqueues arguments.launch.blocks blocks of `kernel`.
inline cudaError_t launch_warps(TensorKernel kernel, const TensorArguments& arguments,
                                std::size_t shared_bytes, cudaStream_t stream) {
  return launch_overlapping(kernel, dim3(static_cast<unsigned>(arguments.launch.blocks)),
                            dim3(32, kWarps), shared_bytes, stream, arguments);
}

template <SelectKernel* kSelect>
cudaError_t resident_of_float(const TensorArguments& arguments, int* blocks) {
  return resident_warps(kSelect(arguments, Quantiser::kFloat), blocks);
}

template <SelectKernel* kSelect, SharedBytes* kShared>
cudaError_t launch_quantiser(const TensorArguments& arguments, cudaStream_t stream) {
  return launch_warps(kSelect(arguments, arguments.quantiser), arguments, kShared(arguments),
                      stream);
}

/// The launcher of a form whose launches differ from those of others in the kernel and its shared
/// memory only.
template <SelectKernel* kSelect, SharedBytes* kShared = no_shared_bytes>
constexpr TensorLauncher kLauncherOf = {load_quantisers<kSelect, kShared>,
                                        resident_of_float<kSelect>,
                                        launch_quantiser<kSelect, kShared>};

}  // namespace
}  // namespace convolve
