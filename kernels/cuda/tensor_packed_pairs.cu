// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `tensor` for small masks on packed 4:2:2 (YUY2 and its kin): the pairs and quads of
// tensor_pairs.cu, each component by itself.
//
// A column is sixteen bytes: eight samples of luma, for four pairs or two quads, and four of each
// chroma, for two pairs or a quad each. A lane parts its column as it comes, and gets from the
// columns beside it four samples of each component. All rows are whole pieces of sixteen bytes, and
// masks reach four samples to a side, so that ghosts are some of the eight samples next to them, or
// lie at the row's other end: no column needs another way.
#include "kernels/cuda/overlap.cuh"
#include "kernels/cuda/tensor_packed_pairs.h"
#include "kernels/cuda/tensor_packed_rows.cuh"
#include "kernels/cuda/tensor_quad.cuh"

namespace convolve {
namespace {

/// The mask, of which one digit stays in registers.
template <Codes kCodes, int kSteps>
class PackedWeights {
 public:
  __device__ PackedWeights(const TensorArguments& a, const TensorPlane& plane)
      : fragments_(plane.fragments + threadIdx.x), digits_(a.digits) {
    if constexpr (kOne) {
#pragma unroll
      for (int s = 0; s < kSteps; ++s)
        only_[s] = __ldg(fragments_ + 32 * s);
    }
  }

  /// sum = start + products with the words of all steps.
  template <int kShift, int kProducts, int kWords>
  __device__ __forceinline__ void multiply_by(const unsigned (&words)[kSteps][kWords], int start,
                                              int (&sum)[kProducts][4]) const {
    const bool one = kOne || digits_ == 1;
#pragma unroll
    for (auto& product : sum)
#pragma unroll
      for (int& s : product)
        s = one ? start : 0;
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      multiply_pairs<kShift>(sum, kOne ? only_[s] : __ldg(fragments_ + 32 * s), words[s], sum);
    if constexpr (!kOne) {
      const uint4* fragment = fragments_ + 32 * kSteps;
#pragma unroll 1
      for (int left = digits_ - 1; left > 0; --left) {
#pragma unroll
        for (auto& product : sum)
#pragma unroll
          for (int& s : product)
            s = s * 256 + (left == 1 ? start : 0);
#pragma unroll
        for (int s = 0; s < kSteps; ++s, fragment += 32)
          multiply_pairs<kShift>(sum, __ldg(fragment), words[s], sum);
      }
    }
  }

 private:
  static constexpr bool kOne = kCodes == Codes::kBits;
  const uint4* fragments_;
  uint4 only_[kSteps];
  int digits_;
};

/// What makes codes of a component's sums.
struct PackedEpilogue {
  int start;
  float base;
  const Epilogue& general;

  __device__ PackedEpilogue(const TensorPlane& plane, int k)
      : start(in_register(plane.phase[packed_phase(plane, k)].start)),
        base(in_register(plane.phase[packed_phase(plane, k)].base)),
        general(plane.phase[packed_phase(plane, k)].general) {}
};

/// Products of 8 rows x 2 samples. kBlocks: that a processor holds at once.
template <Codes kCodes, int kSteps, int kShift>
class PackedPairs : public PairPlace {
 public:
  static constexpr int kGroups = kSteps, kBlocks = 4;

  __device__ PackedPairs(const TensorArguments& a, const TensorPlane& plane)
      : weights_(a, plane),
        scale_(in_register(plane.scale)),
        luma_(plane, 0),
        chroma_(plane, 2),
        luma_first_(luma_first(plane)) {}

  /// A lane's sixteen bytes, twice.
  __device__ __forceinline__ void codes(const PackedWords<kGroups>& words,
                                        uint4 (&sixteen)[2]) const {
    uint2 made_luma[2];
    unsigned made_chroma[2][2];
    {
      int sum[4][4];
      weights_.template multiply_by<kShift>(words.luma, luma_.start, sum);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto word = [&](int w) {
          return pair_word<kCodes>(sum[2 * w], sum[2 * w + 1], half, luma_.general, scale_,
                                   luma_.base);
        };
        made_luma[half] = make_uint2(word(0), word(1));
      }
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      int sum[2][4];
      weights_.template multiply_by<kShift>(words.chroma[c], chroma_.start, sum);
#pragma unroll
      for (int half = 0; half < 2; ++half)
        made_chroma[half][c] =
            pair_word<kCodes>(sum[0], sum[1], half, chroma_.general, scale_, chroma_.base);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half)
      sixteen[half] =
          packed_bytes(made_luma[half], made_chroma[half][0], made_chroma[half][1], luma_first_);
  }

 private:
  PackedWeights<kCodes, kSteps> weights_;
  float scale_;
  PackedEpilogue luma_, chroma_;
  bool luma_first_;
};

/// Products of 4 rows x 4 samples, in the same terms: two of luma, and one of each chroma.
template <Codes kCodes>
class PackedQuads : public QuadPlace {
 public:
  /// Four blocks would spill: 28.8 us for 23.5 (YUY2, 4K, 9x9, two digits, H100).
  static constexpr int kGroups = kQuadGroups, kBlocks = 3;

  __device__ PackedQuads(const TensorArguments& a, const TensorPlane& plane)
      : weights_(a, plane),
        scale_(in_register(plane.scale)),
        luma_(plane, 0),
        chroma_(plane, 2),
        luma_first_(luma_first(plane)) {
    make_starts<kCodes>(luma_.start, luma_start_);
    make_starts<kCodes>(chroma_.start, chroma_start_);
  }

  __device__ __forceinline__ void codes(const PackedWords<kGroups>& words,
                                        uint4 (&sixteen)[2]) const {
    constexpr int kQuads = 4;
    int start[kQuads][4], sum[2][kQuads][4];
#pragma unroll
    for (int i = 0; i < kQuads; ++i)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        start[i][k] = i < 2 ? luma_start_[k] : chroma_start_[k];
    weights_.multiply_by(
        [&](int g, int i, int m) {
          return i < 2 ? words.luma[g][i + m] : words.chroma[i - 2][g][m];
        },
        start, sum);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      uint2 luma;
      unsigned even, odd;
      two_quad_words<kCodes>(sum[half][0], sum[half][1], luma_.general, scale_, luma_.base, luma.x,
                             luma.y);
      two_quad_words<kCodes>(sum[half][2], sum[half][3], chroma_.general, scale_, chroma_.base,
                             even, odd);
      sixteen[half] = packed_bytes(luma, even, odd, luma_first_);
    }
  }

 private:
  QuadWeights<kCodes> weights_;
  float scale_;
  PackedEpilogue luma_, chroma_;
  int luma_start_[4], chroma_start_[4];
  bool luma_first_;
};

/// `steps` times 128 bytes x 8 rows, one below the other.
template <class Way>
__device__ __forceinline__ void march_packed(const TensorArguments& a, const TensorPlane& plane,
                                             int x, int y, int steps) {
  constexpr int kGroups = Way::kGroups;
  fetch_rows(plane, x, y - a.anchor_y, kGroupRows * kGroups + kRows * (a.early_steps - 1));
  const Way way(a, plane);
  PackedColumns columns(a, plane, x);
  await_previous_launch();
  PackedWords<kGroups> words;
  {
    PackedLoad loads[kGroups];
    columns.load(y - a.anchor_y, loads);
#pragma unroll
    for (int s = 0; s < kGroups; ++s)
      columns.take(loads[s], s, words);
  }
  const int own_x = x + Way::x();
  const bool near_inside = own_x < plane.row_bytes,
             far_inside = own_x + Way::kNextX < plane.row_bytes;
  int row = y + Way::row();
  std::uint8_t* to = plane.dst + row * plane.dst_pitch + own_x;
#pragma unroll 1
  for (;;) {
    y += kRows;
    const bool more = --steps > 0 && y < plane.rows;
    PackedLoad loads[kNewGroups];
    if (more) columns.load(y - a.anchor_y + kGroupRows * (kGroups - kNewGroups), loads);
    uint4 sixteen[2];
    way.codes(words, sixteen);
    if (near_inside && row < plane.rows) *reinterpret_cast<uint4*>(to) = sixteen[0];
    if (far_inside && row + Way::kNextRow < plane.rows)
      *reinterpret_cast<uint4*>(to + Way::kNextRow * plane.dst_pitch + Way::kNextX) = sixteen[1];
    if (!more) return;
    row += kRows;
    to += kRows * plane.dst_pitch;
    words.advance();
#pragma unroll
    for (int s = 0; s < kNewGroups; ++s)
      columns.take(loads[s], kGroups - kNewGroups + s, words);
  }
}

template <class Way>
__global__ void __launch_bounds__(32 * kWarps, Way::kBlocks)
    tensor_packed_pairs_kernel(const __grid_constant__ TensorArguments a) {
  admit_next_launch();
  const TensorPlane& plane = a.plane[0];
  const unsigned item = blockIdx.x * kWarps + threadIdx.y;
  const int row =
      static_cast<int>(plane.columns == 1 ? item : __umulhi(item, plane.inner_reciprocal));
  const int y = row * kRows * a.steps;
  if (y >= plane.rows) return;
  const int x = kTensorTileBytes * (static_cast<int>(item) - row * plane.columns);
  march_packed<Way>(a, plane, x, y, a.steps);
}

using PackedKernel = void (*)(TensorArguments);

template <Codes kCodes>
PackedKernel select_way(const TensorArguments& a) {
  constexpr int kFew = kPairSteps[0], kMany = kPairSteps[1];
  if (a.quads) return tensor_packed_pairs_kernel<PackedQuads<kCodes>>;
  if (a.pair_steps == kFew)
    return a.pair_shift == 0 ? tensor_packed_pairs_kernel<PackedPairs<kCodes, kFew, 0>>
                             : tensor_packed_pairs_kernel<PackedPairs<kCodes, kFew, 1>>;
  return a.pair_shift == 0 ? tensor_packed_pairs_kernel<PackedPairs<kCodes, kMany, 0>>
                           : tensor_packed_pairs_kernel<PackedPairs<kCodes, kMany, 1>>;
}

PackedKernel select_kernel(const TensorArguments& a, Codes codes) {
  switch (codes) {
    case Codes::kBits:
      return select_way<Codes::kBits>(a);
    case Codes::kFloat:
      return select_way<Codes::kFloat>(a);
    case Codes::kGeneral:
      break;
  }
  return select_way<Codes::kGeneral>(a);
}

}  // namespace

cudaError_t load_tensor_packed_pairs(const TensorArguments& arguments) {
  for (const Codes codes : {Codes::kBits, Codes::kFloat, Codes::kGeneral})
    if (const cudaError_t error = load_kernel(select_kernel(arguments, codes), 0);
        error != cudaSuccess)
      return error;
  return cudaSuccess;
}

cudaError_t resident_tensor_packed_pairs_blocks(const TensorArguments& arguments, int* blocks) {
  return resident_blocks(select_kernel(arguments, Codes::kFloat), 32 * kWarps, blocks);
}

cudaError_t launch_tensor_packed_pairs(const TensorArguments& arguments, cudaStream_t stream) {
  return launch_overlapping(select_kernel(arguments, arguments.codes),
                            dim3(static_cast<unsigned>(arguments.blocks)), dim3(32, kWarps), 0,
                            stream, arguments);
}

}  // namespace convolve
