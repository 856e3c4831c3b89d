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

#include "kernels/cuda/overlap.cuh"
#include "kernels/cuda/tensor_wide_rows.cuh"
#include "kernels/cuda/tensor_wide_sums.cuh"

namespace convolve {
namespace {

/// Where a lane's codes belong: twice sixteen bytes, of two columns of one row, or with quads of
/// one column in two rows.
template <class Window>
struct WidePlace {
  static constexpr bool kQuads = std::is_same_v<Window, WideQuads>;
  static constexpr int kDown = kQuads ? kRows / 2 : 0, kAside = kQuads ? 0 : 4 * kColumnBytes;

  static __device__ __forceinline__ int row() { return threadIdx.x / 4 % (kQuads ? 4 : 8); }
  static __device__ __forceinline__ int byte() {
    return kColumnBytes * (threadIdx.x % 4 + (kQuads ? threadIdx.x / 16 * 4 : 0));
  }
};

/// Sixteen bytes for both of WidePlace.
template <int kComponents, class Window, WideCodes kCodes, bool kOne, int kParts, int kWords>
__device__ __forceinline__ void make_codes(const WideSums<Window, kCodes, kOne>& sums,
                                           const unsigned (&words)[kParts][Window::kGroups][kWords],
                                           const SampleLayout& layout, uint4 (&sixteen)[2]) {
  constexpr int kSums = kColumnSamples<kComponents> / 2;
  int values[kComponents][kSums][4];
  sums.sum_up(words, values);
  // Two codes of one component, or of both: a product has two samples, of two columns.
  const auto word = [&](int product, int sample, int column) {
    const int low = values[0][product][column + (kComponents == 1 ? 0 : 2 * sample)];
    const int high = values[kComponents - 1][product][column + 2 * (kComponents == 1 ? 1 : sample)];
    return encode_two(sums.codes_of(low, high), layout);
  };
  constexpr int kEach = kComponents;  // Words of a product.
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    unsigned made[4];
    if constexpr (WidePlace<Window>::kQuads) {
      // The lanes of a column, and of the one four further, have made two samples of each quad: the
      // upper half of the warp gets the second column's.
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

/// TensorArguments::steps times 128 bytes x 8 rows, one below the other.
template <class Window, WideCodes kCodes, bool kOne, int kComponents>
__device__ __forceinline__ void march_wide(const TensorArguments& a, const TensorPlane& plane,
                                           int x, int y, const uint4* weights) {
  constexpr int kGroups = Window::kGroups;
  fetch_rows(plane, x, y - a.anchor_y, kGroupRows * kGroups + kRows * (a.early_steps - 1));
  const WideSums<Window, kCodes, kOne> sums(a, plane, weights);
  WideColumns<kComponents> columns(a, plane, x);
  int steps = a.steps;
  await_previous_launch();
  constexpr int kParts = kWideParts<kComponents>, kWords = kWordsOfPart<kParts>;
  unsigned words[kParts][kGroups][kWords];
  {
    WidePiece<kComponents> pieces[kGroups];
    columns.load(y - a.anchor_y, pieces);
#pragma unroll
    for (int s = 0; s < kGroups; ++s)
      columns.take(pieces[s], s, words);
  }
  using Place = WidePlace<Window>;
  const int own_x = x + Place::byte();
  const bool near_inside = own_x < plane.row_bytes;
  const bool far_inside = own_x + Place::kAside < plane.row_bytes;
  int row = y + Place::row();
  std::uint8_t* to = plane.dst + row * plane.dst_pitch + own_x;
#pragma unroll 1
  for (;;) {
    y += kRows;
    const bool more = --steps > 0 && y < plane.rows;
    WidePiece<kComponents> pieces[kNewGroups];
    if (more) columns.load(y - a.anchor_y + kGroupRows * (kGroups - kNewGroups), pieces);
    uint4 sixteen[2];
    make_codes<kComponents>(sums, words, plane.layout, sixteen);
    if (row < plane.rows && near_inside) *reinterpret_cast<uint4*>(to) = sixteen[0];
    if (row + Place::kDown < plane.rows && far_inside)
      *reinterpret_cast<uint4*>(to + Place::kDown * plane.dst_pitch + Place::kAside) = sixteen[1];
    if (!more) return;
    row += kRows;
    to += kRows * plane.dst_pitch;
#pragma unroll
    for (int c = 0; c < kParts; ++c)
#pragma unroll
      for (int s = 0; s + kNewGroups < kGroups; ++s)
#pragma unroll
        for (int w = 0; w < kWords; ++w)
          words[c][s][w] = words[c][s + kNewGroups][w];
#pragma unroll
    for (int s = 0; s < kNewGroups; ++s)
      columns.take(pieces[s], kGroups - kNewGroups + s, words);
  }
}

/// 128 bytes x 8 rows of a column at the picture's edge.
template <class Window, WideCodes kCodes, bool kOne, int kComponents>
__device__ __forceinline__ void filter_edge(const TensorArguments& a, const TensorPlane& plane,
                                            int x, int y, const uint4* weights,
                                            std::uint8_t* patch) {
  await_previous_launch();
  constexpr int kParts = kWideParts<kComponents>;
  unsigned words[kParts][Window::kGroups][kWordsOfPart<kParts>];
  fill_wide_patch<kComponents>(a, plane, x, y - a.anchor_y, patch);
  take_wide_patch<kComponents>(patch, words);
  uint4 sixteen[2];
  make_codes<kComponents>(WideSums<Window, kCodes, kOne>(a, plane, weights), words, plane.layout,
                          sixteen);
  using Place = WidePlace<Window>;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = y + Place::row() + half * Place::kDown;
    if (row < plane.rows)
      store_wide_edge(plane, x + Place::byte() + half * Place::kAside, row, sixteen[half]);
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
  int p = 0;
  while (p + 1 < a.plane_count && static_cast<int>(blockIdx.x) >= a.plane[p + 1].first_block)
    ++p;
  const TensorPlane& plane = a.plane[p];
  int block = static_cast<int>(blockIdx.x) - plane.first_block;
  const bool inner = block >= plane.edge_blocks;
  if (inner) block -= plane.edge_blocks;
  const int columns = inner ? plane.inner_columns : plane.columns - plane.inner_columns;
  const unsigned item = static_cast<unsigned>(block * kWarps) + threadIdx.y;
  const int row = static_cast<int>(
      columns == 1 ? item : __umulhi(item, inner ? plane.inner_reciprocal : plane.edge_reciprocal));
  const int n = static_cast<int>(item) - row * columns;
  const int y = row * kRows * (inner ? a.steps : 1);
  if (y >= plane.rows) return;
  const int x = kTensorTileBytes * (inner                   ? plane.inner_first + n
                                    : n < plane.inner_first ? n
                                                            : n + plane.inner_columns);
  const auto filter = [&](auto components) {
    constexpr int kComponents = decltype(components)::value;
    if (inner)
      march_wide<Window, kCodes, kOne, kComponents>(a, plane, x, y, weights);
    else
      filter_edge<Window, kCodes, kOne, kComponents>(a, plane, x, y, weights, patches[threadIdx.y]);
  };
  if (plane.period < kMostComponents)
    filter(std::integral_constant<int, 1>{});
  else
    filter(std::integral_constant<int, kMostComponents>{});
}

using WidePairsKernel = void (*)(TensorArguments);

template <class Window, int kMostComponents>
WidePairsKernel select_codes(const TensorArguments& a, WideCodes codes) {
  const bool one = a.digits == 1;
  switch (codes) {
    case WideCodes::kFloat:
      return one ? tensor_wide_pairs_kernel<Window, WideCodes::kFloat, true, kMostComponents>
                 : tensor_wide_pairs_kernel<Window, WideCodes::kFloat, false, kMostComponents>;
    case WideCodes::kDouble:
      return one ? tensor_wide_pairs_kernel<Window, WideCodes::kDouble, true, kMostComponents>
                 : tensor_wide_pairs_kernel<Window, WideCodes::kDouble, false, kMostComponents>;
    case WideCodes::kSplit:
      return tensor_wide_pairs_kernel<Window, WideCodes::kSplit, false, kMostComponents>;
    case WideCodes::kGeneral:
      break;
  }
  return tensor_wide_pairs_kernel<Window, WideCodes::kGeneral, false, kMostComponents>;
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
                           : select_components<WidePairs<kPairSteps[1], 1>>(a, codes);
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
