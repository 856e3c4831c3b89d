// SPDX-License-Identifier: LGPL-2.1-or-later
// Forms tensor-pairs, tensor-quads and tensor-large-quads, for small masks on 8-bit samples of one
// or two components: products of 8 rows x 2 adjacent bytes (pairs) or of 4 rows x 4 (quads), with
// both operands in registers.
//
// Operand A holds the mask as eight output rows x two adjacent output bytes multiply a row group in
// windows of 8 bytes (tensor_fragments.h). Operand B of product i is the window of bytes 2 i and 2
// i + 1 of each of eight columns, so that eight products make a tile of 128 bytes x 8 rows from one
// row group: at 5x5 three row groups, 24 products, where a product for each mask row takes 40.
// Which column and row a lane holds is said in tensor_pair_rows.cuh. It loads the 24 bytes from
// which it cuts its windows once, for all products, and of the sums it holds 16 adjacent bytes of
// two columns, which it stores as they are.
//
// Masks up to 9x9 are for quads (tensor_quad.cuh), whose windows are cut from nothing: half as many
// products again as 7x7 takes in pairs take no longer. Larger masks, up to 17x13, are for large
// quads, whose lanes hold two words to either side of their column, and load the weights anew for
// each step: all of them in registers would leave room for 12 warps on a processor, which take 14.2
// us where 16 take 11.6 (13x13, 4K, H100).
//
// Two interleaved components (the chroma of NV12) reach twice as many bytes. Where a window does
// not hold these, a lane deinterleaves them as they come: 16 samples of each make the windows of
// four products, and their samples are interleaved again. Pixels of three and four bytes have
// kernels of their own (tensor_pixels.cu).
//
// What binds is the latency of memory: a frame is read and written once (H100: 24 products of 6
// clocks against some 1,000 clocks of latency). So no load waits for another: all rows of a warp's
// first step are in flight at once, those of the next step while this one multiplies, and while the
// launch before still ends, the L2 cache fetches what a warp will read first. Instructions bind
// next: what does not change from step to step is computed before.
#include <algorithm>
#include <type_traits>

#include "kernels/cuda/tensor/pairs/tensor_pair_rows.cuh"
#include "kernels/cuda/tensor/pairs/tensor_quad.cuh"
#include "kernels/cuda/tensor/tensor_interleave.cuh"
#include "kernels/cuda/tensor/tensor_launch.cuh"
#include "kernels/cuda/tensor/tensor_row_groups.cuh"

namespace convolve {
namespace {

/// Weights, and what their sums begin with.
template <class Weights, Quantiser kQuantiser>
struct WithStart : Weights {
  int start[4];

  __device__ WithStart(const TensorArguments& a, const TensorPlane& plane) : Weights(a, plane) {
    make_starts<kQuantiser>(plane.phase[0].start, start);
  }
};

/// Filters by pairs: products of 8 rows x 2 bytes.
template <Quantiser kQuantiser, int kWindowRowGroups, int kShift>
struct Pairs : PairLaneMap {
  static constexpr int kRowGroups = kWindowRowGroups, kOuter = 1;
  using Weights = WithStart<PairWeights<kQuantiser, kRowGroups>, kQuantiser>;

  /// made[half]: words of a component in the lane's first vector, and in its second.
  template <int kWords, int kMade>
  static __device__ __forceinline__ void apply(const Weights& weights,
                                               const unsigned (&words)[kRowGroups][kWords],
                                               const Epilogue& general, float scale, float base,
                                               unsigned (&made)[2][kMade]) {
    int sum[2 * kMade][4];
    weights.template multiply_by<kShift>(words, weights.start, sum);
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int w = 0; w < kMade; ++w)
        made[half][w] =
            quantise_pair_word<kQuantiser>(sum[2 * w], sum[2 * w + 1], half, general, scale, base);
  }
};

/// Filters by quads: products of 4 rows x 4 bytes. Members as in Pairs.
template <Quantiser kQuantiser, bool kLarge>
struct Quads : QuadLaneMap {
  static constexpr QuadWindow kWindow = kLarge ? kLargeQuadWindow : kQuadWindow;
  static constexpr int kRowGroups = kWindow.row_groups + 1, kOuter = kLarge ? 2 : 1;
  using Weights = WithStart<QuadWeights<kQuantiser, kLarge>, kQuantiser>;

  template <int kWords, int kMade>
  static __device__ __forceinline__ void apply(const Weights& weights,
                                               const unsigned (&words)[kRowGroups][kWords],
                                               const Epilogue& general, float scale, float base,
                                               unsigned (&made)[2][kMade]) {
    static_assert(kWords == kMade + kWindow.words - 1, "the last window ends with the last word");
    int start[kMade][4], sum[2][kMade][4];
#pragma unroll
    for (int i = 0; i < kMade; ++i)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        start[i][k] = weights.start[k];
    weights.multiply_by([&](int g, int i, int m) { return words[g][i + m]; }, start, sum);
#pragma unroll
    for (int half = 0; half < 2; ++half)
      quantise_quads<kQuantiser>(sum[half], general, scale, base, made[half]);
  }
};

/// Picture rows that the patch of an edge holds: a multiple of the rows that fill_patch() fills.
template <class Products>
constexpr int kPatchRows = (Products::kRowGroups * kRowGroupRows + kRows - 1) / kRows* kRows;

// fill_edge() and store_edge() are out of line: instructions that nearly all warps skip would make
// them wait for those that follow.

/// Fills the patch of an edge, from byte x of picture row `top` on.
__device__ __noinline__ void fill_edge(const TensorArguments& a, const TensorPlane& plane, int x,
                                       int top, int rows, std::uint8_t* patch) {
#pragma unroll 1
  for (int r = 0; r < rows; r += kRows)
    fill_patch(plane, a.border, x, top + r, patch + r * kSpanBytes);
  __syncwarp();
}

/// Stores a vector that may end beyond the picture, or lie unaligned.
__device__ __noinline__ void store_edge(const TensorPlane& plane, int x, int row, uint4 vector) {
  Output(plane, x).store(row, vector.x);
  Output(plane, x + 4).store(row, vector.y);
  Output(plane, x + 8).store(row, vector.z);
  Output(plane, x + 12).store(row, vector.w);
}

/// What a lane holds of the rows that eight output rows read, components one after the other.
template <class Products, int kDeinterleaved>
using WordsOf = unsigned[kDeinterleaved][Products::kRowGroups]
                        [kWordsOfComponent<kDeinterleaved, Products::kOuter>];

/// Loads the rows of an edge, whose ghosts are of other kinds than PairColumns can make, by way of
/// a patch.
template <class Products, int kDeinterleaved>
__device__ __forceinline__ void load_edge(const TensorArguments& a, const TensorPlane& plane, int x,
                                          int top, std::uint8_t* patch,
                                          WordsOf<Products, kDeinterleaved>& words) {
  constexpr int kMargin = 8, kOuter = Products::kOuter, kAll = 4 + 2 * kDeinterleaved * kOuter;
  fill_edge(a, plane, x - kMargin, top, kPatchRows<Products>, patch);
  const int lane = threadIdx.x, column = lane / 8 + 4 * (lane / 4 % 2);
  const std::uint8_t* from =
      patch + lane % 4 * kSpanBytes + kMargin - 4 * kDeinterleaved * kOuter + kColumnBytes * column;
#pragma unroll
  for (int j = 0; j < Products::kRowGroups; ++j) {
    unsigned all[kAll];
#pragma unroll
    for (int w = 0; w < kAll; ++w)
      all[w] = reinterpret_cast<const unsigned*>(from + j * kRowGroupRows * kSpanBytes)[w];
#pragma unroll
    for (int c = 0; c < kDeinterleaved; ++c)
#pragma unroll
      for (int n = 0; n < kWordsOfComponent<kDeinterleaved, kOuter>; ++n)
        words[c][j][n] = deinterleave<kDeinterleaved>(all, c, n);
  }
}

/// Filters a lane's two vectors of a plane, of words[component] of the rows that it holds.
template <class Products, int kDeinterleaved>
class PairFilter {
 public:
  using Output = PairOutput<Products>;
  static constexpr int kRowGroups = Products::kRowGroups;

  __device__ PairFilter(const TensorArguments& a, const TensorPlane& plane)
      : weights_(a, plane),
        scale_(in_register(plane.scale)),
        base_(in_register(plane.phase[0].base)),
        general_(plane.phase[0].general) {}

  __device__ __forceinline__ void apply(const WordsOf<Products, kDeinterleaved>& words,
                                        uint4 (&vectors)[2]) const {
    unsigned made[2][kDeinterleaved][4 / kDeinterleaved];
#pragma unroll
    for (int c = 0; c < kDeinterleaved; ++c) {
      unsigned of_one[2][4 / kDeinterleaved];
      Products::apply(weights_, words[c], general_, scale_, base_, of_one);
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int w = 0; w < 4 / kDeinterleaved; ++w)
          made[half][c][w] = of_one[half][w];
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
      vectors[half] = make_uint4(interleaved<1>(made[half], 0), interleaved<1>(made[half], 1),
                                 interleaved<1>(made[half], 2), interleaved<1>(made[half], 3));
  }

 private:
  typename Products::Weights weights_;
  float scale_, base_;
  const Epilogue& general_;
};

/// Filters the tiles of a warp in an inner tile column.
template <class Products, int kDeinterleaved>
__device__ __forceinline__ void filter_inner(const TensorArguments& a, const TensorPlane& plane,
                                             WarpOrigin origin) {
  prefetch_rows(plane, origin.x, origin.y - a.anchor_y,
                kRowGroupRows * Products::kRowGroups + kRows * (a.launch.prefetched_steps - 1));
  const PairFilter<Products, kDeinterleaved> filter(a, plane);
  PairColumns<kDeinterleaved, Products::kOuter> columns(a, plane, origin.x);
  slide_down(a, plane, columns, filter, origin);
}

/// Filters one tile of 128 bytes x 8 rows at the picture's edge.
template <class Products, int kDeinterleaved>
__device__ __forceinline__ void filter_edge(const TensorArguments& a, const TensorPlane& plane,
                                            WarpOrigin origin, std::uint8_t* patch) {
  await_previous_launch();
  WordsOf<Products, kDeinterleaved> words;
  load_edge<Products, kDeinterleaved>(a, plane, origin.x, origin.y - a.anchor_y, patch, words);
  uint4 vectors[2];
  PairFilter<Products, kDeinterleaved>(a, plane).apply(words, vectors);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int row = origin.y + Products::row() + half * Products::kNextRow;
    if (row < plane.rows)
      store_edge(plane, origin.x + Products::x() + half * Products::kNextX, row, vectors[half]);
  }
}

/// kMostDeinterleaved: the most components that are deinterleaved in any plane.
template <class Products, int kMostDeinterleaved>
__global__ void __launch_bounds__(32 * kWarps, 4)
    tensor_pairs_kernel(const __grid_constant__ TensorArguments a) {
  __shared__ __align__(16) std::uint8_t patches[kWarps][kPatchRows<Products> * kSpanBytes];
  admit_next_launch();
  const TensorPlane& plane = plane_of_block(a);
  const WarpOrigin origin(a, plane);
  if (origin.y >= plane.rows) return;
  const auto filter = [&](auto deinterleaved) {
    constexpr int kDeinterleaved = decltype(deinterleaved)::value;
    if (origin.inner)
      filter_inner<Products, kDeinterleaved>(a, plane, origin);
    else
      filter_edge<Products, kDeinterleaved>(a, plane, origin, patches[threadIdx.y]);
  };
  if (plane.deinterleaved < kMostDeinterleaved)
    filter(std::integral_constant<int, 1>{});
  else
    filter(std::integral_constant<int, kMostDeinterleaved>{});
}

template <int kMostDeinterleaved>
TensorKernel select_products(const TensorArguments& a, Quantiser quantiser) {
  return with_quantiser(quantiser, [&](auto of) -> TensorKernel {
    constexpr Quantiser kQuantiser = decltype(of)::value;
    if (a.form == Form::kTensorLargeQuads) return tensor_pairs_kernel<Quads<kQuantiser, true>, 1>;
    if (a.form == Form::kTensorQuads)
      return tensor_pairs_kernel<Quads<kQuantiser, false>, kMostDeinterleaved>;
    return with_pair_window(a, [](auto row_groups, auto shift) -> TensorKernel {
      return tensor_pairs_kernel<
          Pairs<kQuantiser, decltype(row_groups)::value, decltype(shift)::value>,
          kMostDeinterleaved>;
    });
  });
}

/// Kernels that deinterleave components are separate ones, as the others would be slower with their
/// code: 8.9 us for 8.5 at 3x3 with two digits (GRAY8, 4K, H100).
TensorKernel select_kernel(const TensorArguments& a, Quantiser quantiser) {
  int deinterleaved = 1;
  for (int p = 0; p < a.plane_count; ++p)
    deinterleaved = std::max(deinterleaved, a.plane[p].deinterleaved);
  return deinterleaved == 1 ? select_products<1>(a, quantiser) : select_products<2>(a, quantiser);
}

/// Shared memory, in bytes, that a block asks for and does not use, so that no processor has room
/// for a fourth block. Blocks of several planes go to where there is room, and large quads, which
/// take their time, last as long as the processor with most blocks: where three blocks each are
/// enough, 6.2 us for 6.9 at 1080p and 3.4 for 4.0 at 640x480 (I420, 13x13, H100). With one plane
/// it does not pay: 3.3 us for 3.1. load() asks before blocks are known, and gets the most there
/// may be.
std::size_t spare_bytes(const TensorArguments& a) {
  constexpr int kPatches = kWarps * kPatchRows<Quads<Quantiser::kFloat, true>> * kSpanBytes;
  int device = 0, processors = 0, shared_bytes = 0;
  if (a.form != Form::kTensorLargeQuads || a.plane_count == 1 ||
      cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess ||
      cudaDeviceGetAttribute(&shared_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device) !=
          cudaSuccess)
    return 0;
  return a.launch.blocks > 3 * processors
             ? 0
             : static_cast<std::size_t>(std::max(0, shared_bytes / 4 - kPatches));
}

}  // namespace

const TensorLauncher kTensorPairsLauncher = kLauncherOf<select_kernel, spare_bytes>;

}  // namespace convolve
