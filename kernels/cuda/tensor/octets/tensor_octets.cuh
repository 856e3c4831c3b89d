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
//
// The two forms, and of the first one the kernels that make codes in doubles, have sources of their
// own, as kernels take long to compile.
#pragma once

#include <type_traits>

#include "kernels/cuda/tensor/octets/tensor_octet_rows.cuh"
#include "kernels/cuda/tensor/octets/tensor_octet_store.cuh"
#include "kernels/cuda/tensor/octets/tensor_octet_sums.cuh"
#include "kernels/cuda/tensor/tensor_launch.cuh"
#include "kernels/cuda/tensor/tensor_row_groups.cuh"
#include "kernels/cuda/tensor/tensor_weights.cuh"

namespace convolve {
namespace {

/// The filter of a plane of kComponents components, and where it stores.
template <class Sums, int kComponents>
struct OctetFilter : Sums {
  using Sums::Sums;
  using Output = OctetOutput<kComponents, Sums::kClamped>;
};

/// Filters the tiles of a warp in an inner tile column.
template <class Filter, int kComponents>
__device__ __forceinline__ void filter_inner(const TensorArguments& a, const TensorPlane& plane,
                                             WarpOrigin origin, const uint4* weights) {
  const Filter filter(plane, weights);
  OctetColumns<Filter::kSparse, kComponents> columns(a, plane, origin.x);
  slide_down(a, plane, columns, filter, origin);
}

/// Filters one tile of 128 bytes x 8 rows at the picture's edge, by way of a patch.
template <class Filter, int kComponents>
__device__ __forceinline__ void filter_edge(const TensorArguments& a, const TensorPlane& plane,
                                            WarpOrigin origin, const uint4* weights,
                                            std::uint8_t* patch) {
  await_previous_launch();
  OctetWords<Filter::kRowGroups> words;
  fill_octet_patch<kComponents>(a, plane, origin.x, origin.y - a.anchor_y, patch);
  unpack_octet_patch<Filter::kSparse, kComponents, Filter::kRowGroups>(patch, words);
  typename Filter::Output::Made made;
  Filter(plane, weights).apply(words, made);
  typename Filter::Output(plane, origin.x, origin.y).store_edge(made);
}

/// kMostComponents: the most components of any plane.
template <class Sums, int kMostComponents>
__global__ void __launch_bounds__(32 * kWarps, 4)
    tensor_octets_kernel(const __grid_constant__ TensorArguments a) {
  __shared__ __align__(16) std::uint8_t patches[kWarps][kOctetPatchBytes];
  __shared__ uint4 shared_weights[Sums::kShared ? Sums::kWeights : 1];
  admit_next_launch();
  const TensorPlane& plane = plane_of_block(a);
  const WarpOrigin origin(a, plane);
  if (origin.inner && origin.y < plane.rows)
    prefetch_rows(plane, origin.x, origin.y - a.anchor_y,
                  kRowGroupRows * Sums::kRowGroups + kRows * (a.launch.prefetched_steps - 1));
  const uint4* weights = a.plane[0].fragments;
  if constexpr (Sums::kShared) {
    copy_weights_to_shared(weights, Sums::kWeights, shared_weights);
    weights = shared_weights;
  }
  if (origin.y >= plane.rows) return;
  const auto filter = [&](auto components) {
    constexpr int kComponents = decltype(components)::value;
    using Filter = OctetFilter<Sums, kComponents>;
    if (origin.inner)
      filter_inner<Filter, kComponents>(a, plane, origin, weights);
    else
      filter_edge<Filter, kComponents>(a, plane, origin, weights, patches[threadIdx.y]);
  };
  if (plane.period < kMostComponents)
    filter(std::integral_constant<int, 1>{});
  else
    filter(std::integral_constant<int, kMostComponents>{});
}

/// The products of a window, for OctetSums.
template <int kProductRowGroups, int kRowGroups, bool kSparse>
struct OctetProducts {
  template <WideQuantiser kQuantiser, int kDigits>
  using Sums = OctetSums<kProductRowGroups, kRowGroups, kSparse, kQuantiser, kDigits>;
};

/// What `select` returns for the OctetProducts of the launch's window.
template <class Select>
TensorKernel select_window(const TensorArguments& a, const Select& select) {
  const OctetWindow& window = a.octets;
  if (!window.sparse) return select(OctetProducts<3, 4, false>{});
  if (window.product_row_groups == 1) return select(OctetProducts<1, 3, true>{});
  if (window.product_row_groups == 3) return select(OctetProducts<3, 4, true>{});
  return window.row_groups == 3 ? select(OctetProducts<2, 3, true>{})
                                : select(OctetProducts<2, 4, true>{});
}

/// The kernel of form tensor-octets for these products by kFloat or kDouble.
template <class Products, WideQuantiser kQuantiser>
TensorKernel select_octet_digits(const TensorArguments& a) {
  // Planes of two components come with planes of one (P010), which take the same kernel. A kernel
  // for planes of one alone would be no faster.
  switch (a.digits) {
    case 1:
      return tensor_octets_kernel<typename Products::template Sums<kQuantiser, 1>, 2>;
    case 2:
      return tensor_octets_kernel<typename Products::template Sums<kQuantiser, 2>, 2>;
    default:
      return tensor_octets_kernel<typename Products::template Sums<kQuantiser, 3>, 2>;
  }
}

}  // namespace
}  // namespace convolve
