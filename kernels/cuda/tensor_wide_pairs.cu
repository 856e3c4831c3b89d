// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `tensor` for small masks on samples of two bytes: pairs or quads (tensor_pairs.cu) of
// their low and of their high bytes, which a lane parts as they come.
//
// The tensor cores take bytes, so a sample is two of them: the same weights times both, and the
// sums of the high ones count 256 times. A lane has 16 bytes of a column: eight samples of one
// component, or four of each of two (the chroma of P010), and ends up with as many codes, which
// again are 16 bytes of two columns. Real weights on 16 bits need sums that no 32 bits hold: these
// are split (split_digits.h).
#include <algorithm>
#include <type_traits>

#include "kernels/cuda/tensor_march.cuh"
#include "kernels/cuda/tensor_quad.cuh"
#include "kernels/cuda/tensor_wide_rows.cuh"
#include "kernels/cuda/tensor_wide_sums.cuh"

namespace convolve {
namespace {

/// Codes of a plane: a lane's sixteen bytes, twice, of words[part] of the rows that it sees.
template <class Window, WideCodes kCodes, bool kOne, int kComponents>
class WideFilter {
  static constexpr int kParts = kWideParts<kComponents>;
  static constexpr bool kQuads = std::is_same_v<Window, WideQuads>;

 public:
  using Place = std::conditional_t<kQuads, QuadPlace, PairPlace>;
  static constexpr int kGroups = Window::kGroups;

  __device__ WideFilter(const TensorArguments& a, const TensorPlane& plane, const uint4* weights)
      : sums_(a, plane, weights), layout_(plane.layout) {}

  __device__ __forceinline__ void codes(
      const unsigned (&words)[kParts][kGroups][kWordsOfPart<kParts>], uint4 (&sixteen)[2]) const {
    constexpr int kSums = kColumnSamples<kComponents> / 2;
    int values[kComponents][kSums][4];
    sums_.sum_up(words, values);
    // Two codes of one component, or of both: a product has two samples, of two columns.
    const auto word = [&](int product, int sample, int column) {
      const int low = values[0][product][column + (kComponents == 1 ? 0 : 2 * sample)];
      const int high =
          values[kComponents - 1][product][column + 2 * (kComponents == 1 ? 1 : sample)];
      return encode_two(sums_.codes_of(low, high), layout_);
    };
    constexpr int kEach = kComponents;  // Words of a product.
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      unsigned made[4];
      if constexpr (kQuads) {
        // The lanes of a column, and of the one four further, have made two samples of each quad:
        // the upper half of the warp gets the second column's.
        const bool upper = threadIdx.x >= 16;
#pragma unroll
        for (int n = 0; n < 4 / 2; ++n) {
          const int product = half * (kSums / 2) + n / kEach, sample = n % kEach;
          const unsigned near = word(product, sample, 0), far = word(product, sample, 1);
          const unsigned other = __shfl_xor_sync(~0u, upper ? near : far, 16);
          const int first = n / kEach * 2 * kEach + sample;
          made[first] = upper ? other : near;
          made[first + kEach] = upper ? far : other;
        }
      } else {
#pragma unroll
        for (int n = 0; n < 4; ++n)
          made[n] = word(n / kEach, n % kEach, half);
      }
      sixteen[half] = make_uint4(made[0], made[1], made[2], made[3]);
    }
  }

 private:
  WideSums<Window, kCodes, kOne> sums_;
  const SampleLayout& layout_;
};

/// Inner columns.
template <class Filter, int kComponents>
__device__ __forceinline__ void filter_inner(const TensorArguments& a, const TensorPlane& plane,
                                             WarpPlace place, const uint4* weights) {
  fetch_rows(plane, place.x, place.y - a.anchor_y,
             kGroupRows * Filter::kGroups + kRows * (a.early_steps - 1));
  const Filter filter(a, plane, weights);
  WideColumns<kComponents> columns(a, plane, place.x);
  march(a, plane, columns, filter, place);
}

/// 128 bytes x 8 rows of a column at the picture's edge.
template <class Filter, int kComponents>
__device__ __forceinline__ void filter_edge(const TensorArguments& a, const TensorPlane& plane,
                                            WarpPlace place, const uint4* weights,
                                            std::uint8_t* patch) {
  await_previous_launch();
  constexpr int kParts = kWideParts<kComponents>;
  unsigned words[kParts][Filter::kGroups][kWordsOfPart<kParts>];
  fill_wide_patch<kComponents>(a, plane, place.x, place.y - a.anchor_y, patch);
  take_wide_patch<kComponents>(patch, words);
  uint4 sixteen[2];
  Filter(a, plane, weights).codes(words, sixteen);
  using Place = typename Filter::Place;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = place.y + Place::row() + half * Place::kNextRow;
    if (row < plane.rows)
      store_wide_edge(plane, place.x + Place::x() + half * Place::kNextX, row, sixteen[half]);
  }
}

/// kOne: weights have one digit. kMostComponents: of any plane.
template <class Window, WideCodes kCodes, bool kOne, int kMostComponents>
__global__ void __launch_bounds__(32 * kWarps, 4)
    tensor_wide_pairs_kernel(const __grid_constant__ TensorArguments a) {
  __shared__ __align__(16) std::uint8_t patches[kWarps][kWidePatchBytes];
  constexpr int kMostWeights = kOne ? 1 : kMostDigits * Window::kFragments * 32;
  __shared__ uint4 weights[kMostWeights];
  admit_next_launch();
  if constexpr (!kOne)
    bring_weights(a.plane[0].fragments, a.digits * Window::kFragments * 32, weights);
  const TensorPlane& plane = plane_of_block(a);
  const WarpPlace place(a, plane);
  if (place.y >= plane.rows) return;
  const auto filter = [&](auto components) {
    constexpr int kComponents = decltype(components)::value;
    using Filter = WideFilter<Window, kCodes, kOne, kComponents>;
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

using WidePairsKernel = void (*)(TensorArguments);

/// Pairs of kPairSteps[1] groups are for weights of one digit alone, and so for no split sums:
/// wide_window() takes quads else.
using PairsOfMore = WidePairs<kPairSteps[1], 1>;
template <class Window>
constexpr bool kOneDigit = std::is_same_v<Window, PairsOfMore>;

template <class Window, int kMostComponents>
WidePairsKernel select_codes(const TensorArguments& a, WideCodes codes) {
  constexpr bool kAlwaysOne = kOneDigit<Window>;
  const bool one = a.digits == 1;
  switch (codes) {
    case WideCodes::kFloat:
      return one ? tensor_wide_pairs_kernel<Window, WideCodes::kFloat, true, kMostComponents>
                 : tensor_wide_pairs_kernel<Window, WideCodes::kFloat, kAlwaysOne, kMostComponents>;
    case WideCodes::kDouble:
      return one ? tensor_wide_pairs_kernel<Window, WideCodes::kDouble, true, kMostComponents>
                 : tensor_wide_pairs_kernel<Window, WideCodes::kDouble, kAlwaysOne,
                                            kMostComponents>;
    case WideCodes::kSplit:
      if constexpr (!kAlwaysOne)
        return tensor_wide_pairs_kernel<Window, WideCodes::kSplit, false, kMostComponents>;
      break;
    case WideCodes::kGeneral:
      break;
  }
  return tensor_wide_pairs_kernel<Window, WideCodes::kGeneral, kAlwaysOne, kMostComponents>;
}

template <class Window>
WidePairsKernel select_components(const TensorArguments& a, WideCodes codes) {
  int components = 1;
  for (int p = 0; p < a.plane_count; ++p)
    components = std::max(components, a.plane[p].period);
  return components == 1 ? select_codes<Window, 1>(a, codes) : select_codes<Window, 2>(a, codes);
}

WidePairsKernel select_kernel(const TensorArguments& a, WideCodes codes) {
  if (a.quads) return select_components<WideQuads>(a, codes);
  return a.pair_shift == 0 ? select_components<WidePairs<kPairSteps[0], 0>>(a, codes)
                           : select_components<PairsOfMore>(a, codes);
}

}  // namespace

cudaError_t load_tensor_wide_pairs(const TensorArguments& arguments, bool split) {
  for (const WideCodes codes :
       {WideCodes::kFloat, WideCodes::kDouble, WideCodes::kGeneral, WideCodes::kSplit}) {
    if (split != (codes == WideCodes::kSplit)) continue;
    if (const cudaError_t error = load_kernel(select_kernel(arguments, codes), 0);
        error != cudaSuccess)
      return error;
  }
  return cudaSuccess;
}

cudaError_t resident_tensor_wide_pairs_blocks(const TensorArguments& arguments, int* blocks) {
  return resident_blocks(select_kernel(arguments, WideCodes::kFloat), 32 * kWarps, blocks);
}

cudaError_t launch_tensor_wide_pairs(const TensorArguments& arguments, cudaStream_t stream) {
  return launch_overlapping(select_kernel(arguments, arguments.wide_codes),
                            dim3(static_cast<unsigned>(arguments.blocks)), dim3(32, kWarps), 0,
                            stream, arguments);
}

}  // namespace convolve
