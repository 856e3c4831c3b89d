// SPDX-License-Identifier: LGPL-2.1-or-later
// Forms tensor-octets and tensor-split-octets, for masks up to 9x9 on samples of two bytes, of one
// or two components: products of two output rows x 8 adjacent samples (octets), with the low and
// with the high bytes of the samples.
//
// The tensor cores take bytes, so a sample is two of them: the same weights multiply both, and sums
// of high bytes count 256 times. Real weights on 16 bits need sums that no 32 bits hold: these are
// split (split_digits.h).
//
// Operand A holds the mask as two output rows of eight samples multiply a row group in windows of
// 16 samples; sparse products (mma.sp) take the whole window at once, others a half each. Lane l
// loads 16 bytes of a column in row l % 4 of each row group: eight samples of one component, or
// four of each of two (the chroma of P010), of which it exchanges four of one with the lane beside
// for four of the other. Low and high bytes are deinterleaved as rows come. Of the sums it holds
// sample l / 4 of columns 2 (l % 4) and 2 (l % 4) + 1 in both rows.
//
// What binds: with one digit and sparse products the latency of memory, which the rows of the next
// step in flight hide; with more digits, or without sparse products, the products and the reads of
// weights from shared memory.
#include <type_traits>

#include "kernels/cuda/tensor/octets/tensor_octet_rows.cuh"
#include "kernels/cuda/tensor/octets/tensor_octet_store.cuh"
#include "kernels/cuda/tensor/octets/tensor_octet_sums.cuh"
#include "kernels/cuda/tensor/tensor_launch.cuh"
#include "kernels/cuda/tensor/tensor_sliding.cuh"
#include "kernels/cuda/tensor/tensor_weights.cuh"

namespace convolve {
namespace {

/// The filter of a plane of kComponents components, and where it stores.
template <class Sums, int kComponents>
struct OctetFilter : Sums {
  using Sums::Sums;
  using Output = OctetOutput<kComponents, Sums::kClamped>;
};

/// A tile of 128 bytes x 8 rows at the picture's edge: its words come by way of a patch, and its
/// rows may end within a word.
template <bool kSparse, int kComponents>
struct OctetEdge {
  const TensorArguments& a;
  const TensorPlane& plane;
  WarpOrigin origin;
  std::uint8_t* patch;

  /// False if the warp is not at the edge.
  template <int kRowGroups>
  __device__ __forceinline__ bool unpack(unsigned (&words)[2][kRowGroups][kOctetWords]) const {
    if (origin.inner) return false;
    fill_octet_patch<kComponents>(a, plane, origin.x, origin.y - a.anchor_y, patch);
    unpack_octet_patch<kSparse, kComponents, kRowGroups>(patch, words);
    return true;
  }
  template <class Output>
  __device__ __forceinline__ bool store(const Output& output,
                                        const typename Output::Made& made) const {
    if (origin.inner) return false;
    output.store_edge(made);
    return true;
  }
};

template <class Sums>
__global__ void __launch_bounds__(32 * kWarps, 4)
    tensor_octets_kernel(const __grid_constant__ TensorArguments a) {
  __shared__ __align__(16) std::uint8_t patches[kWarps][kOctetPatchBytes];
  __shared__ uint4 shared_weights[Sums::kShared ? Sums::kWeights : 1];
  admit_next_launch();
  const TensorPlane& plane = plane_of_block(a);
  const WarpOrigin origin(a, plane);
  if (origin.inner && origin.y < plane.rows)
    prefetch_rows(plane, origin.x, origin.y - a.anchor_y,
                  kRowGroupRows * Sums::kRowGroups + kRows * (a.prefetched_steps - 1));
  const uint4* weights = a.plane[0].fragments;
  if constexpr (Sums::kShared) {
    copy_weights_to_shared(weights, Sums::kWeights, shared_weights);
    weights = shared_weights;
  }
  if (origin.y >= plane.rows) return;
  const auto slide = [&](auto components) {
    constexpr int kComponents = decltype(components)::value;
    using Filter = OctetFilter<Sums, kComponents>;
    const Filter filter(plane, weights);
    OctetColumns<Filter::kSparse, kComponents> columns(a, plane, origin.x);
    const OctetEdge<Filter::kSparse, kComponents> edge{a, plane, origin, patches[threadIdx.y]};
    slide_down(a, plane, columns, filter, origin, edge);
  };
  if (plane.period == 1)
    slide(std::integral_constant<int, 1>{});
  else
    slide(std::integral_constant<int, 2>{});
}

template <int kProductRowGroups, int kRowGroups, bool kSparse, WideQuantiser kQuantiser>
TensorKernel select_digits(const TensorArguments& a) {
  switch (a.digits) {
    case 1:
      return tensor_octets_kernel<OctetSums<kProductRowGroups, kRowGroups, kSparse, kQuantiser, 1>>;
    case 2:
      return tensor_octets_kernel<OctetSums<kProductRowGroups, kRowGroups, kSparse, kQuantiser, 2>>;
    default:
      return tensor_octets_kernel<OctetSums<kProductRowGroups, kRowGroups, kSparse, kQuantiser, 3>>;
  }
}

template <int kProductRowGroups, int kRowGroups, bool kSparse>
TensorKernel select_codes(const TensorArguments& a, WideQuantiser quantiser) {
  switch (quantiser) {
    case WideQuantiser::kFloat:
      return select_digits<kProductRowGroups, kRowGroups, kSparse, WideQuantiser::kFloat>(a);
    case WideQuantiser::kDouble:
      return select_digits<kProductRowGroups, kRowGroups, kSparse, WideQuantiser::kDouble>(a);
    case WideQuantiser::kSplit:
      return tensor_octets_kernel<
          OctetSums<kProductRowGroups, kRowGroups, kSparse, WideQuantiser::kSplit, kMostDigits>>;
    case WideQuantiser::kGeneral:
      break;
  }
  // The rarest way takes any weights as three digits, of which the higher may be 0.
  return tensor_octets_kernel<
      OctetSums<kProductRowGroups, kRowGroups, kSparse, WideQuantiser::kGeneral, kMostDigits>>;
}

TensorKernel select_kernel(const TensorArguments& a, WideQuantiser quantiser) {
  const OctetWindow& window = a.octets;
  if (!window.sparse) return select_codes<3, 4, false>(a, quantiser);
  if (window.product_row_groups == 1) return select_codes<1, 3, true>(a, quantiser);
  if (window.product_row_groups == 3) return select_codes<3, 4, true>(a, quantiser);
  return window.row_groups == 3 ? select_codes<2, 3, true>(a, quantiser)
                                : select_codes<2, 4, true>(a, quantiser);
}

cudaError_t load(const TensorArguments& arguments) {
  const bool split = arguments.form == Form::kTensorSplitOctets;
  for (const WideQuantiser quantiser : {WideQuantiser::kFloat, WideQuantiser::kDouble,
                                        WideQuantiser::kGeneral, WideQuantiser::kSplit}) {
    if (split != (quantiser == WideQuantiser::kSplit)) continue;
    if (const cudaError_t error = load_kernel(select_kernel(arguments, quantiser), 0);
        error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

cudaError_t resident(const TensorArguments& arguments, int* blocks) {
  const bool split = arguments.form == Form::kTensorSplitOctets;
  return resident_warps(
      select_kernel(arguments, split ? WideQuantiser::kSplit : WideQuantiser::kFloat), blocks);
}

cudaError_t launch(const TensorArguments& arguments, cudaStream_t stream) {
  return launch_warps(select_kernel(arguments, arguments.wide_quantiser), arguments, 0, stream);
}

}  // namespace

const TensorLauncher kTensorOctetsLauncher = {load, resident, launch};

}  // namespace convolve
