// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `tensor` for small masks on samples of two bytes: products of two output rows x 8 samples
// with their low and with their high bytes, which a lane parts as they come.
//
// The tensor cores take bytes, so a sample is two of them: the same weights times both, and the
// sums of the high ones count 256 times. A lane has 16 bytes of a column: eight samples of one
// component, or four of each of two (the chroma of P010), of which it gives one to the lane beside
// for four more of the other. Real weights on 16 bits need sums that no 32 bits hold: these are
// split (split_digits.h).
#include <algorithm>
#include <type_traits>

#include "kernels/cuda/tensor/octets/tensor_octet_rows.cuh"
#include "kernels/cuda/tensor/octets/tensor_octet_store.cuh"
#include "kernels/cuda/tensor/octets/tensor_octet_sums.cuh"
#include "kernels/cuda/tensor/tensor_march.cuh"
#include "kernels/cuda/tensor/tensor_weights.cuh"

namespace convolve {
namespace {

/// Codes of a plane.
template <class Sums, int kComponents>
struct OctetFilter : Sums {
  using Sums::Sums;
  using Output = OctetOutput<kComponents, Sums::kClamped>;
};

/// Inner columns.
template <class Filter, int kComponents>
__device__ __forceinline__ void filter_inner(const TensorArguments& a, const TensorPlane& plane,
                                             WarpPlace place, const uint4* weights) {
  const Filter filter(plane, weights);
  OctetColumns<Filter::kSparse, kComponents> columns(a, plane, place.x);
  march(a, plane, columns, filter, place);
}

/// 128 bytes x 8 rows of a column at the picture's edge.
template <class Filter, int kComponents>
__device__ __forceinline__ void filter_edge(const TensorArguments& a, const TensorPlane& plane,
                                            WarpPlace place, const uint4* weights,
                                            std::uint8_t* patch) {
  await_previous_launch();
  OctetWords<Filter::kGroups> words;
  fill_wide_patch<kComponents>(a, plane, place.x, place.y - a.anchor_y, patch);
  take_wide_patch<Filter::kSparse, kComponents, Filter::kGroups>(patch, words);
  typename Filter::Output::Made made;
  Filter(plane, weights).codes(words, made);
  typename Filter::Output(plane, place.x, place.y).store_edge(made);
}

/// kMostComponents: of any plane.
template <class Sums, int kMostComponents>
__global__ void __launch_bounds__(32 * kWarps, 4)
    tensor_octets_kernel(const __grid_constant__ TensorArguments a) {
  __shared__ __align__(16) std::uint8_t patches[kWarps][kWidePatchBytes];
  __shared__ uint4 shared_weights[Sums::kShared ? Sums::kWeights : 1];
  admit_next_launch();
  const TensorPlane& plane = plane_of_block(a);
  const WarpPlace place(a, plane);
  if (place.inner && place.y < plane.rows)
    fetch_rows(plane, place.x, place.y - a.anchor_y,
               kGroupRows * Sums::kGroups + kRows * (a.early_steps - 1));
  const uint4* weights = a.plane[0].fragments;
  if constexpr (Sums::kShared) {
    bring_weights(weights, Sums::kWeights, shared_weights);
    weights = shared_weights;
  }
  if (place.y >= plane.rows) return;
  const auto filter = [&](auto components) {
    constexpr int kComponents = decltype(components)::value;
    using Filter = OctetFilter<Sums, kComponents>;
    if (place.inner)
      filter_inner<Filter, kComponents>(a, plane, place, weights);
    else
      filter_edge<Filter, kComponents>(a, plane, place, weights, patches[threadIdx.y]);
  };
  if (plane.period < kMostComponents)
    filter(std::integral_constant<int, 1>{});
  else
    filter(std::integral_constant<int, kMostComponents>{});
}

using OctetsKernel = void (*)(TensorArguments);

template <class Sums>
OctetsKernel select_components(const TensorArguments& a) {
  int components = 1;
  for (int p = 0; p < a.plane_count; ++p)
    components = std::max(components, a.plane[p].period);
  return components == 1 ? tensor_octets_kernel<Sums, 1> : tensor_octets_kernel<Sums, 2>;
}

template <int kSeen, int kGroups, bool kSparse, WideQuantiser kCodes>
OctetsKernel select_digits(const TensorArguments& a) {
  switch (a.digits) {
    case 1:
      return select_components<OctetSums<kSeen, kGroups, kSparse, kCodes, 1>>(a);
    case 2:
      return select_components<OctetSums<kSeen, kGroups, kSparse, kCodes, 2>>(a);
    default:
      return select_components<OctetSums<kSeen, kGroups, kSparse, kCodes, 3>>(a);
  }
}

template <int kSeen, int kGroups, bool kSparse>
OctetsKernel select_codes(const TensorArguments& a, WideQuantiser codes) {
  switch (codes) {
    case WideQuantiser::kFloat:
      return select_digits<kSeen, kGroups, kSparse, WideQuantiser::kFloat>(a);
    case WideQuantiser::kDouble:
      return select_digits<kSeen, kGroups, kSparse, WideQuantiser::kDouble>(a);
    case WideQuantiser::kSplit:
      return select_components<
          OctetSums<kSeen, kGroups, kSparse, WideQuantiser::kSplit, kMostDigits>>(a);
    case WideQuantiser::kGeneral:
      break;
  }
  return select_digits<kSeen, kGroups, kSparse, WideQuantiser::kGeneral>(a);
}

OctetsKernel select_kernel(const TensorArguments& a, WideQuantiser codes) {
  const OctetWindow& window = a.octets;
  if (!window.sparse) return select_codes<3, 4, false>(a, codes);
  if (window.seen == 1) return select_codes<1, 3, true>(a, codes);
  if (window.seen == 3) return select_codes<3, 4, true>(a, codes);
  return window.groups == 3 ? select_codes<2, 3, true>(a, codes)
                            : select_codes<2, 4, true>(a, codes);
}

cudaError_t load(const TensorArguments& arguments) {
  const bool split = arguments.form == Form::kTensorSplitOctets;
  for (const WideQuantiser codes : {WideQuantiser::kFloat, WideQuantiser::kDouble,
                                    WideQuantiser::kGeneral, WideQuantiser::kSplit}) {
    if (split != (codes == WideQuantiser::kSplit)) continue;
    if (const cudaError_t error = load_kernel(select_kernel(arguments, codes), 0);
        error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

cudaError_t resident(const TensorArguments& arguments, int* blocks) {
  const bool split = arguments.form == Form::kTensorSplitOctets;
  return resident_blocks(
      select_kernel(arguments, split ? WideQuantiser::kSplit : WideQuantiser::kFloat), 32 * kWarps,
      blocks);
}

cudaError_t launch(const TensorArguments& arguments, cudaStream_t stream) {
  return launch_overlapping(select_kernel(arguments, arguments.wide_quantiser),
                            dim3(static_cast<unsigned>(arguments.blocks)), dim3(32, kWarps), 0,
                            stream, arguments);
}

}  // namespace

const TensorLauncher kTensorOctetsLauncher = {load, resident, launch};

}  // namespace convolve
