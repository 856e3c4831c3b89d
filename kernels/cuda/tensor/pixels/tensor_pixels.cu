// SPDX-License-Identifier: LGPL-2.1-or-later
// Forms tensor-pixel-pairs (masks up to 7x5) and tensor-pixel-quads (up to 9x9), on pixels of three
// or four bytes, three of which are filtered: the products of tensor_pairs.cu with each component
// by itself.
//
// A column is eight pixels. A warp makes tiles of eight columns, 64 pixels x 8 rows, and slides
// down. Its rows lie as they come in a ring buffer of its own in shared memory
// (tensor_pixel_rows.cuh), two steps ahead, where each lane also finds the halo of its column. Lane
// l holds column l / 4 in row l % 4 of each row group: it deinterleaves what it reads into four
// words of each component, from which it cuts the windows of its products; the products of all
// components are made together. Samples go through shared memory, too, because those of one lane do
// not fill a sector of memory. They are stored a step later, while the products of the next step
// run.
//
// What binds (H100): instructions. With three warps to a scheduler a warp issues one in six clocks,
// and a third of them deinterleave and interleave. So addresses are computed before, and what few
// tiles need is out of line. More warps would spill registers, and warps at the picture's edges,
// for which the launch waits at its end, must not take longer than the rest.
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/tensor/pairs/tensor_quad.cuh"
#include "kernels/cuda/tensor/pixels/tensor_pixel_rows.cuh"
#include "kernels/cuda/tensor/tensor_interleave.cuh"
#include "kernels/cuda/tensor/tensor_launch.cuh"
#include "kernels/cuda/tensor/tensor_weights.cuh"

namespace convolve {
namespace {

/// Word n of pixels, of the words of their components; a byte that is copied may be anything here.
template <int kPixelBytes, int kWords>
__device__ __forceinline__ unsigned pixel_word(const unsigned (&made)[kFiltered][kWords], int first,
                                               int n) {
  if constexpr (kPixelBytes == 3) {
    return interleaved<1>(made, n);
  } else {
    const int w = n / 4, i = n % 4;
    const unsigned two = __byte_perm(made[0][w], made[1][w], 0x0040 + 0x0011 * i);
    return __byte_perm(two, made[2][w], first == 0 ? 0x0410 + 0x0100 * i : 0x4100 + 0x1000 * i);
  }
}

/// Vector i of pixels: words 4 i to 4 i + 3.
template <int kPixelBytes, int kWords>
__device__ __forceinline__ uint4 pixel_vector(const unsigned (&made)[kFiltered][kWords], int first,
                                              int i) {
  const auto word = [&](int n) { return pixel_word<kPixelBytes>(made, first, 4 * i + n); };
  return make_uint4(word(0), word(1), word(2), word(3));
}

/// True if weights of several digits lie in shared memory: at 9x9 33.3 us for 36.7 (BGR, 4K, two
/// digits, H100). The ring of four bytes leaves no room for them.
template <int kPixelBytes>
constexpr bool kSharedWeights = kPixelBytes == 3;

/// What quantises sums.
struct PixelQuantiser {
  const Epilogue& general;
  float scale, base;
};

/// Filters by pairs: products of 8 rows x 2 samples. load_rows(s, words) deinterleaves row group s
/// of those that a step reads. The weights of one digit stay in registers.
template <Quantiser kQuantiser, int kShift>
class PixelPairs {
  static constexpr bool kOne = kQuantiser == Quantiser::kBits;
  using Words = unsigned[kFiltered][4];
  using Sums = int[kFiltered][4][4];

 public:
  static constexpr int kRowGroups = kPairRowGroups[0];
  static constexpr int kFragments =
      kOne ? 0 : kRowGroups;  ///< Of each digit, if there are several.

  __device__ PixelPairs(const TensorArguments& a, const TensorPlane& plane, const uint4* weights)
      : weights_(a, plane, weights) {
    make_opaque(plane.phase[0].start, start_);
  }

  /// Filters a step; its samples are left in the ring.
  template <int kPixelBytes, class LoadRows>
  __device__ __forceinline__ void filter(const LoadRows& load_rows, const PixelQuantiser& quantiser,
                                         int first, PixelRing<kPixelBytes>& ring) const {
    Sums sums;
    begin_sums(weights_.one_digit(), start_, sums);
    if constexpr (kOne) {
#pragma unroll
      for (int s = 0; s < kRowGroups; ++s) {
        Words words;
        load_rows(s, words);
        add(weights_.first(s), words, sums);
      }
    } else {
      Words words[kRowGroups];
#pragma unroll
      for (int s = 0; s < kRowGroups; ++s)
        load_rows(s, words[s]);
      weights_.template for_each_digit<kSharedWeights<kPixelBytes>>(
          [&](const auto& fragment) {
#pragma unroll
            for (int s = 0; s < kRowGroups; ++s)
              add(fragment(s), words[s], sums);
          },
          [&](bool last) { shift_sums(last, start_[0], sums); });
    }
    unsigned made[kFiltered][4];
#pragma unroll
    for (int c = 0; c < kFiltered; ++c)
#pragma unroll
      for (int w = 0; w < 4; ++w)
        made[c][w] =
            quantise_pair_word<kQuantiser>(sums[c][2 * (w % 2)], sums[c][2 * (w % 2) + 1], w / 2,
                                           quantiser.general, quantiser.scale, quantiser.base);
    __syncwarp();
    const int lane = threadIdx.x;
#pragma unroll
    for (int i = 0; i < kPixelBytes; ++i)
      *ring.vector(lane / 4, kPixelBytes * (lane % 4) + i) =
          pixel_vector<kPixelBytes>(made, first, i);
  }

 private:
  static __device__ __forceinline__ void add(const uint4& weights, const Words& words, Sums& sums) {
#pragma unroll
    for (int c = 0; c < kFiltered; ++c)
      multiply_pairs<kShift>(sums[c], weights, words[c], sums[c]);
  }

  LaneWeights<kRowGroups, kOne> weights_;
  int start_[4];
};

/// Filters by quads: products of 4 rows x 4 samples. Members as in PixelPairs.
template <Quantiser kQuantiser>
class PixelQuads {
  static constexpr bool kOne = kQuantiser == Quantiser::kBits;
  static constexpr int kQuads = 2;  ///< In a row of a column.
  using Words = unsigned[kFiltered][4];
  using Sums = int[kFiltered][kQuads][4];
  using Weights = uint4[2 * kQuadWords];

 public:
  static constexpr int kRowGroups = kQuadRowGroups;
  static constexpr int kFragments = kOne ? 0 : 2 * kQuadWords;

  __device__ PixelQuads(const TensorArguments& a, const TensorPlane& plane, const uint4* weights)
      : weights_(a, plane, weights) {
    make_opaque(plane.phase[0].start, start_);
  }

  template <int kPixelBytes, class LoadRows>
  __device__ __forceinline__ void filter(const LoadRows& load_rows, const PixelQuantiser& quantiser,
                                         int first, PixelRing<kPixelBytes>& ring) const {
    Sums sums[2];
    Words words[kQuadRowGroups];
    begin_sums(weights_.one_digit(), start_, sums);
    if constexpr (kOne) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        load_rows(2 * half, words[2 * half]);
        load_rows(2 * half + 1, words[2 * half + 1]);
        add(weights_.kept(), half, words, sums);
      }
    } else {
#pragma unroll
      for (int s = 0; s < kQuadRowGroups; ++s)
        load_rows(s, words[s]);
      weights_.template for_each_digit<kSharedWeights<kPixelBytes>>(
          [&](const auto& fragment) {
            Weights weights;
            load_fragments(fragment, weights);
            add(weights, 0, words, sums);
            add(weights, 1, words, sums);
          },
          [&](bool last) { shift_sums(last, start_[0], sums); });
    }
    unsigned made[2][kFiltered][kQuads];
#pragma unroll
    for (int half = 0; half < 2; ++half)
#pragma unroll
      for (int c = 0; c < kFiltered; ++c)
        quantise_quads<kQuantiser>(sums[half][c], quantiser.general, quantiser.scale,
                                   quantiser.base, made[half][c]);
    __syncwarp();
    const int lane = threadIdx.x, column = 2 * (lane % 4) + lane / 16;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      ring.keep(lane / 4 % 4 + 4 * half, column,
                [&](int n) { return pixel_word<kPixelBytes>(made[half], first, n); });
  }

 private:
  /// Adds the products with row groups 2 half and 2 half + 1: whole ones for output rows 4 half to
  /// 4 half + 3, and halves for the other four.
  static __device__ __forceinline__ void add(const Weights& weights, int half,
                                             const Words (&words)[kQuadRowGroups],
                                             Sums (&sums)[2]) {
    const Words &above = words[2 * half], &below = words[2 * half + 1];
#pragma unroll
    for (int m = 0; m < kQuadWords; ++m) {
#pragma unroll
      for (int c = 0; c < kFiltered; ++c)
#pragma unroll
        for (int i = 0; i < kQuads; ++i)
          multiply(sums[half][c][i], weights[2 * m + half],
                   make_uint2(above[c][i + m], below[c][i + m]), sums[half][c][i]);
      const uint4& own = weights[2 * m + half];
      const uint2 rest = half == 0 ? make_uint2(own.x, own.y) : make_uint2(own.z, own.w);
#pragma unroll
      for (int c = 0; c < kFiltered; ++c)
#pragma unroll
        for (int i = 0; i < kQuads; ++i)
          multiply_half(sums[1 - half][c][i], rest, (half == 0 ? below : above)[c][i + m],
                        sums[1 - half][c][i]);
    }
  }

  LaneWeights<2 * kQuadWords, kOne> weights_;
  int start_[4];
};

/// Filters `steps` tiles of 64 pixels x 8 rows below each other.
template <class Products, int kPixelBytes>
__device__ __forceinline__ void slide_down_pixels(const TensorArguments& a,
                                                  const TensorPlane& plane, int x, int y, int steps,
                                                  const uint4* weights,
                                                  PixelRing<kPixelBytes>& ring) {
  using Ring = PixelRing<kPixelBytes>;
  const int lane = threadIdx.x, t = lane % 4, top = y - a.anchor_y;
  prefetch_pixels<kPixelBytes>(
      plane, x, top,
      kRowGroupRows * Products::kRowGroups + kRows * (a.launch.prefetched_steps - 1));
  const Products products(a, plane, weights);
  const PixelQuantiser quantiser = {plane.phase[0].general, in_register(plane.scale),
                                    in_register(plane.phase[0].base)};
  const int first = plane.phase[0].filtered ? 0 : 1;
  steps = min(steps, (plane.rows - y + kRows - 1) / kRows);
  PixelRows<kPixelBytes> rows(a, plane, x, top,
                              kRowGroupRows * Products::kRowGroups + kRows * (steps - 1));
  const PixelGhosts<kPixelBytes> ghosts(a, plane, x);
  PixelOutput<kPixelBytes> output(a, plane, ring, x, y);
  await_previous_launch();
#pragma unroll 1
  for (int stage = 0; stage < kPixelStages; ++stage)
    rows.start(ring.rows + stage * Ring::kStageBytes);
  // Offsets of stages in the ring: the first that the step before read, and the two that this step
  // reads.
  int last = 0, near = 0, far = Ring::kStageBytes;
  const int own = Ring::row_offset(t) + Ring::kColumnBytes * (lane / 4);
#pragma unroll 1
  for (int step = 0;; ++step) {
    if (step == 0)
      wait_for_stages<kPixelStages - 2>();
    else
      wait_for_stages<kPixelStages - 3>();
    __syncwarp();
    // All lanes have left their samples of the step before.
    if (step > 0) output.store(ring, last, near);
    if (step == steps) return;
    if (ghosts.any()) {
      if (step == 0) ghosts.make(top, ring.rows);
      ghosts.make(top + kRows * (step + 1), ring.rows + far);
      __syncwarp();
    }
    products.template filter<kPixelBytes>(
        [&](int s, auto& words) {
          deinterleave_pixels<kPixelBytes>(
              ring.rows + (s < 2 ? near : far) + s % 2 * Ring::kRowGroupBytes + own, first, words);
        },
        quantiser, first, ring);
    // All lanes are done with the first stage that the step before read, products and copied bytes.
    if (step > 0) rows.start(ring.rows + last);
    last = near;
    near = far;
    far = far + Ring::kStageBytes == kPixelStages * Ring::kStageBytes ? 0 : far + Ring::kStageBytes;
  }
}

/// kPixelBytes: the bytes of a pixel, 3 or 4.
template <class Products, int kPixelBytes>
__global__ void __launch_bounds__(32 * kWarps, 3)
    tensor_pixels_kernel(const __grid_constant__ TensorArguments a) {
  __shared__ __align__(16) PixelRing<kPixelBytes> rings[kWarps];
  constexpr bool kShared = kSharedWeights<kPixelBytes> && Products::kFragments > 0;
  constexpr int kMostWeights = kShared ? kMostDigits * Products::kFragments * 32 : 1;
  __shared__ uint4 weights[kMostWeights];
  admit_next_launch();
  if constexpr (kShared)
    copy_weights_to_shared(a.plane[0].fragments, a.digits * Products::kFragments * 32, weights);
  const TensorPlane& plane = plane_of_block(a);
  const int block = static_cast<int>(blockIdx.x) - plane.first_block;
  const unsigned item = static_cast<unsigned>(block * kWarps) + threadIdx.y;
  const int row = static_cast<int>(
      plane.grid.tile_columns == 1 ? item : __umulhi(item, plane.grid.inner_reciprocal));
  const int x =
      (static_cast<int>(item) - row * plane.grid.tile_columns) * PixelRing<kPixelBytes>::kTileBytes;
  const int y = row * kRows * a.launch.steps;
  if (y >= plane.rows) return;
  slide_down_pixels<Products, kPixelBytes>(a, plane, x, y, a.launch.steps,
                                           kShared ? weights : plane.fragments, rings[threadIdx.y]);
}

template <int kPixelBytes>
TensorKernel select_products(const TensorArguments& a, Quantiser quantiser) {
  return with_quantiser(quantiser, [&](auto of) -> TensorKernel {
    constexpr Quantiser kQuantiser = decltype(of)::value;
    if (a.form == Form::kTensorPixelQuads)
      return tensor_pixels_kernel<PixelQuads<kQuantiser>, kPixelBytes>;
    return with_pair_shift(a, [](auto shift) -> TensorKernel {
      return tensor_pixels_kernel<PixelPairs<kQuantiser, decltype(shift)::value>, kPixelBytes>;
    });
  });
}

TensorKernel select_kernel(const TensorArguments& a, Quantiser quantiser) {
  return a.plane[0].deinterleaved == 3 ? select_products<3>(a, quantiser)
                                       : select_products<4>(a, quantiser);
}

}  // namespace

const TensorLauncher kTensorPixelsLauncher = kLauncherOf<select_kernel>;

}  // namespace convolve
