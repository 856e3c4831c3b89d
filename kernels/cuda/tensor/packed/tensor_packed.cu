// SPDX-License-Identifier: LGPL-2.1-or-later
// Forms tensor-packed-pairs (masks up to 7x9) and tensor-packed-quads (up to 9x9), on packed 4:2:2
// of 8 bits (YUY2 and its kin): the products of tensor_pairs.cu with each component by itself.
//
// A column is sixteen bytes: eight samples of luma, for four pairs or two quads, and four of each
// chroma, for two pairs or one quad each. Lane l loads a column in row l % 4 of each row group,
// which column is said in tensor_pair_rows.cuh; it deinterleaves its bytes as they come, and gets
// four samples of each component from the lanes of the columns beside it.
//
// The way of a sample: PackedColumns::load brings 16 bytes from global memory to registers, without
// shared memory; PackedColumns::unpack deinterleaves them and fetches neighbours by shuffles, which
// gives PackedWords, operand B; PackedPairs and PackedQuads hand them to PairWeights and
// QuadWeights (tensor/pairs), whose products are the mma.sync instructions of
// device/tensor_mma.cuh.
//
// Rows are whole columns, and masks reach four samples to a side. So ghosts are made of the eight
// samples next to them, or lie at the other end of the row: no tile column is an edge, and no patch
// is needed.
//
// What binds: as in tensor_pairs.cu the latency of memory, and with more digits the instructions
// and registers around the products.
#include "kernels/cuda/tensor/packed/tensor_packed_rows.cuh"
#include "kernels/cuda/tensor/pairs/tensor_quad.cuh"
#include "kernels/cuda/tensor/tensor_launch.cuh"
#include "kernels/cuda/tensor/tensor_row_groups.cuh"

namespace convolve {
namespace {

/// What quantises the sums of a component.
struct PackedEpilogue {
  int start;
  float base;
  const Epilogue& general;

  __device__ PackedEpilogue(const TensorPlane& plane, int k)
      : start(in_register(plane.phase[packed_phase(plane, k)].start)),
        base(in_register(plane.phase[packed_phase(plane, k)].base)),
        general(plane.phase[packed_phase(plane, k)].general) {}
};

/// Filters by pairs: products of 8 rows x 2 samples. kBlocks: the blocks that a processor is to
/// hold at once.
template <Quantiser kQuantiser, int kWindowRowGroups, int kShift>
class PackedPairs {
 public:
  using Output = PairOutput<PairLaneMap>;
  static constexpr int kRowGroups = kWindowRowGroups, kBlocks = 4;

  __device__ PackedPairs(const TensorArguments& a, const TensorPlane& plane)
      : weights_(a, plane),
        scale_(in_register(plane.scale)),
        luma_(plane, 0),
        chroma_(plane, 2),
        luma_first_(luma_first(plane)) {}

  /// Filters a lane's two vectors.
  __device__ __forceinline__ void apply(const PackedWords<kRowGroups>& words,
                                        uint4 (&vectors)[2]) const {
    uint2 made_luma[2];
    unsigned made_chroma[2][2];
    {
      int sum[4][4];
      weights_.template multiply_by<kShift>(
          words.luma[0], {luma_.start, luma_.start, luma_.start, luma_.start}, sum);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto word = [&](int w) {
          return quantise_pair_word<kQuantiser>(sum[2 * w], sum[2 * w + 1], half, luma_.general,
                                                scale_, luma_.base);
        };
        made_luma[half] = make_uint2(word(0), word(1));
      }
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      int sum[2][4];
      weights_.template multiply_by<kShift>(
          words.chroma[c], {chroma_.start, chroma_.start, chroma_.start, chroma_.start}, sum);
#pragma unroll
      for (int half = 0; half < 2; ++half)
        made_chroma[half][c] = quantise_pair_word<kQuantiser>(sum[0], sum[1], half, chroma_.general,
                                                              scale_, chroma_.base);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
      vectors[half] =
          packed_bytes(made_luma[half], made_chroma[half][0], made_chroma[half][1], luma_first_);
  }

 private:
  PairWeights<kQuantiser, kRowGroups> weights_;
  float scale_;
  PackedEpilogue luma_, chroma_;
  bool luma_first_;
};

/// Filters by quads: products of 4 rows x 4 samples, two of luma and one of each chroma. Members as
/// in PackedPairs.
template <Quantiser kQuantiser>
class PackedQuads {
 public:
  using Output = PairOutput<QuadLaneMap>;
  /// Four blocks on a processor would spill registers: 28.8 us for 23.5 (YUY2, 4K, 9x9, two digits,
  /// H100).
  static constexpr int kRowGroups = kQuadRowGroups, kBlocks = 3;

  __device__ PackedQuads(const TensorArguments& a, const TensorPlane& plane)
      : weights_(a, plane),
        scale_(in_register(plane.scale)),
        luma_(plane, 0),
        chroma_(plane, 2),
        luma_first_(luma_first(plane)) {
    make_starts<kQuantiser>(luma_.start, luma_start_);
    make_starts<kQuantiser>(chroma_.start, chroma_start_);
  }

  __device__ __forceinline__ void apply(const PackedWords<kRowGroups>& words,
                                        uint4 (&vectors)[2]) const {
    constexpr int kQuads = 4;
    int start[kQuads][4], sum[2][kQuads][4];
#pragma unroll
    for (int i = 0; i < kQuads; ++i)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        start[i][k] = i < 2 ? luma_start_[k] : chroma_start_[k];
    weights_.multiply_by(
        [&](int g, int i, int m) {
          return i < 2 ? words.luma[0][g][i + m] : words.chroma[i - 2][g][m];
        },
        start, sum);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint2 luma;
      unsigned even, odd;
      quantise_two_quads<kQuantiser>(sum[half][0], sum[half][1], luma_.general, scale_, luma_.base,
                                     luma.x, luma.y);
      quantise_two_quads<kQuantiser>(sum[half][2], sum[half][3], chroma_.general, scale_,
                                     chroma_.base, even, odd);
      vectors[half] = packed_bytes(luma, even, odd, luma_first_);
    }
  }

 private:
  QuadWeights<kQuantiser, false> weights_;
  float scale_;
  PackedEpilogue luma_, chroma_;
  int luma_start_[4], chroma_start_[4];
  bool luma_first_;
};

template <class Products>
__global__ void __launch_bounds__(32 * kWarps, Products::kBlocks)
    tensor_packed_kernel(const __grid_constant__ TensorArguments a) {
  admit_next_launch();
  const TensorPlane& plane = a.plane[0];
  const WarpOrigin origin(a, plane);
  if (origin.y >= plane.rows) return;
  prefetch_rows(plane, origin.x, origin.y - a.anchor_y,
                kRowGroupRows * Products::kRowGroups + kRows * (a.launch.prefetched_steps - 1));
  const Products products(a, plane);
  PackedColumns columns(a, plane, origin.x);
  slide_down(a, plane, columns, products, origin);
}

TensorKernel select_kernel(const TensorArguments& a, Quantiser quantiser) {
  return with_quantiser(quantiser, [&](auto of) -> TensorKernel {
    constexpr Quantiser kQuantiser = decltype(of)::value;
    if (a.form == Form::kTensorPackedQuads) return tensor_packed_kernel<PackedQuads<kQuantiser>>;
    return with_pair_window(a, [](auto row_groups, auto shift) -> TensorKernel {
      return tensor_packed_kernel<
          PackedPairs<kQuantiser, decltype(row_groups)::value, decltype(shift)::value>>;
    });
  });
}

}  // namespace

const TensorLauncher kTensorPackedLauncher = kLauncherOf<select_kernel>;

}  // namespace convolve
