// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `tensor` for small masks on packed 4:2:2 (YUY2 and its kin): the products of
// tensor_pairs.cu, each component by itself.
//
// A column is sixteen bytes: eight samples of luma, which the windows of four products see, and
// four of each chroma, for two products each. A lane parts its column as it comes, and gets from
// the columns beside it four samples of each component. All rows are whole pieces of sixteen bytes,
// and masks reach three samples to a side, so that ghosts are samples of the piece next to them, or
// of the row's other end: no column needs another way.
#include "kernels/cuda/overlap.cuh"
#include "kernels/cuda/tensor_packed_pairs.h"
#include "kernels/cuda/tensor_packed_piece.cuh"
#include "kernels/cuda/tensor_pair.cuh"

namespace convolve {
namespace {

constexpr int kGroupRows = 4;
constexpr int kNewGroups = kRows / kGroupRows;  ///< Of each step but the first.

/// A picture row on its way into the registers of a lane: its column, and what lies beside the
/// warp's columns, if it is at their end.
struct PackedLoad {
  uint4 own, outer;
};

/// What a lane sees of kGroups groups of picture rows: samples -4 .. 11 of luma, -4 .. 7 of chroma.
template <int kGroups>
struct PackedWords {
  unsigned luma[kGroups][4];
  unsigned chroma[2][kGroups][3];

  /// Drops the first groups.
  __device__ __forceinline__ void advance() {
#pragma unroll
    for (int g = 0; g + kNewGroups < kGroups; ++g) {
#pragma unroll
      for (int w = 0; w < 4; ++w)
        luma[g][w] = luma[g + kNewGroups][w];
#pragma unroll
      for (int c = 0; c < 2; ++c)
#pragma unroll
        for (int w = 0; w < 3; ++w)
          chroma[c][g][w] = chroma[c][g + kNewGroups][w];
    }
  }
};

/// Rows and columns of a warp's part of operand B. Lanes hold columns and rows as those of
/// tensor_pair_rows.cuh do.
class PackedColumns {
 public:
  /// The outputs start at byte x.
  __device__ PackedColumns(const TensorArguments& a, const TensorPlane& plane, int x)
      : border_(a.border),
        rows_(plane.rows),
        pitch_(plane.src_pitch),
        luma_first_(luma_first(plane)) {
    const int lane = threadIdx.x, t = lane % 4;
    const int own = lane / 8 + 4 * (lane / 4 % 2);
    const int last = min(kColumns, (plane.row_bytes - x) / kColumnBytes) - 1;
    const int c = min(own, last);  // Columns behind the picture load something all the same.
    const auto lane_of = [&](int column) { return 4 * (2 * (column % 4) + column / 4) + t; };
    before_ = lane_of(max(own - 1, 0));
    after_ = lane_of(min(own + 1, kColumns - 1));
    first_ = c == 0;
    final_ = c == last;
    const bool left = first_ && x == 0;
    const bool right = final_ && x + kColumnBytes * (last + 1) == plane.row_bytes;
    const bool wrap = border_ == Border::kWrap;
    ghosts_ = (left || right) && !wrap;
    luma_select_ = plane.ghost_select[left ? 0 : 1];
    chroma_select_ = plane.chroma_select[left ? 0 : 1];
    beside_ = first_ ? -kColumnBytes : kColumnBytes;
    if (wrap && left) beside_ += plane.row_bytes;
    if (wrap && right) beside_ -= plane.row_bytes;
    loads_outer_ = (first_ || final_) && !ghosts_;
    from_ = plane.src + (x + kColumnBytes * c) + static_cast<std::int64_t>(t) * pitch_;
    luma_black_ = packed_black(plane, 0);
    chroma_black_ = packed_black(plane, 2);
  }

  /// Starts loading kCount groups of picture rows from row `top` on.
  template <int kCount>
  __device__ __forceinline__ void load(int top, PackedLoad (&loads)[kCount]) {
    const std::uint8_t* from = from_ + top * pitch_;
    if (top >= 0 && top + kGroupRows * kCount <= rows_) {
#pragma unroll
      for (int j = 0; j < kCount; ++j, from += kGroupRows * pitch_)
        load_row(from, loads[j]);
      return;
    }
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const int row = border_index(border_, top + kGroupRows * j + t, rows_);
      if (row != kNoSignal) {
        load_row(from_ + (row - t) * pitch_, loads[j]);
      } else {
        const uint2 luma = {luma_black_, luma_black_};
        loads[j].own = packed_bytes(luma, chroma_black_, chroma_black_, luma_first_);
        loads[j].outer = loads[j].own;
      }
    }
  }

  /// Waits for a row: it becomes words of `group`.
  template <int kGroups>
  __device__ __forceinline__ void take(const PackedLoad& load, int group,
                                       PackedWords<kGroups>& words) const {
    const PackedPiece own(load.own, luma_first_);
    const PackedPiece outer(load.outer, luma_first_);
    unsigned luma = first_ ? outer.luma.y : outer.luma.x;
    unsigned chroma[2] = {outer.chroma[0], outer.chroma[1]};
    if (ghosts_) {
      const bool black = border_ == Border::kZero;
      luma = black ? luma_black_ : __byte_perm(own.luma.x, own.luma.y, luma_select_);
#pragma unroll
      for (int c = 0; c < 2; ++c)
        chroma[c] = black ? chroma_black_ : __byte_perm(own.chroma[c], 0, chroma_select_);
    }
    const unsigned before = __shfl_sync(~0u, own.luma.y, before_);
    const unsigned after = __shfl_sync(~0u, own.luma.x, after_);
    unsigned(&made)[4] = words.luma[group];
    made[0] = first_ ? luma : before;
    made[1] = own.luma.x;
    made[2] = own.luma.y;
    made[3] = final_ ? luma : after;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const unsigned left = __shfl_sync(~0u, own.chroma[c], before_);
      const unsigned right = __shfl_sync(~0u, own.chroma[c], after_);
      words.chroma[c][group][0] = first_ ? chroma[c] : left;
      words.chroma[c][group][1] = own.chroma[c];
      words.chroma[c][group][2] = final_ ? chroma[c] : right;
    }
  }

 private:
  __device__ __forceinline__ void load_row(const std::uint8_t* from, PackedLoad& load) const {
    load.own = __ldg(reinterpret_cast<const uint4*>(from));
    if (loads_outer_) load.outer = __ldg(reinterpret_cast<const uint4*>(from + beside_));
  }

  Border border_;
  int rows_;
  std::int64_t pitch_;
  const std::uint8_t* from_;  ///< The lane's column in its row of a group that starts at row 0.
  int beside_;
  int before_, after_;  ///< Lanes of the columns beside the lane's.
  unsigned luma_select_, chroma_select_, luma_black_, chroma_black_;
  bool luma_first_, first_, final_, ghosts_, loads_outer_;
};

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

/// `steps` times 128 bytes x 8 rows, one below the other.
template <Codes kCodes, int kSteps, int kShift>
__device__ __forceinline__ void march_packed(const TensorArguments& a, const TensorPlane& plane,
                                             int x, int y, int steps) {
  fetch_rows(plane, x, y - a.anchor_y, kGroupRows * kSteps + kRows * (a.early_steps - 1));
  const PackedWeights<kCodes, kSteps> weights(a, plane);
  const float scale = in_register(plane.scale);
  const PackedEpilogue luma(plane, 0), chroma(plane, 2);
  const bool first_luma = luma_first(plane);
  PackedColumns columns(a, plane, x);
  await_previous_launch();
  PackedWords<kSteps> words;
  {
    PackedLoad loads[kSteps];
    columns.load(y - a.anchor_y, loads);
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      columns.take(loads[s], s, words);
  }
  const int lane = threadIdx.x, own_x = x + kColumnBytes * (lane % 4);
  constexpr int kFar = 4 * kColumnBytes;
  const bool near_inside = own_x < plane.row_bytes, far_inside = own_x + kFar < plane.row_bytes;
  int row = y + lane / 4;
  std::uint8_t* to = plane.dst + row * plane.dst_pitch + own_x;
#pragma unroll 1
  for (;;) {
    y += kRows;
    const bool more = --steps > 0 && y < plane.rows;
    PackedLoad loads[kNewGroups];
    if (more) columns.load(y - a.anchor_y + kGroupRows * (kSteps - kNewGroups), loads);
    uint2 made_luma[2];
    unsigned made_chroma[2][2];
    {
      int sum[4][4];
      weights.template multiply_by<kShift>(words.luma, luma.start, sum);
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const auto word = [&](int w) {
          return pair_word<kCodes>(sum[2 * w], sum[2 * w + 1], half, luma.general, scale,
                                   luma.base);
        };
        made_luma[half] = make_uint2(word(0), word(1));
      }
    }
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      int sum[2][4];
      weights.template multiply_by<kShift>(words.chroma[c], chroma.start, sum);
#pragma unroll
      for (int half = 0; half < 2; ++half)
        made_chroma[half][c] =
            pair_word<kCodes>(sum[0], sum[1], half, chroma.general, scale, chroma.base);
    }
    if (row < plane.rows) {
      const auto bytes = [&](int half) {
        return packed_bytes(made_luma[half], made_chroma[half][0], made_chroma[half][1],
                            first_luma);
      };
      if (near_inside) *reinterpret_cast<uint4*>(to) = bytes(0);
      if (far_inside) *reinterpret_cast<uint4*>(to + kFar) = bytes(1);
    }
    if (!more) return;
    row += kRows;
    to += kRows * plane.dst_pitch;
    words.advance();
#pragma unroll
    for (int s = 0; s < kNewGroups; ++s)
      columns.take(loads[s], kSteps - kNewGroups + s, words);
  }
}

/// kSteps, kShift: of PairWindow.
template <Codes kCodes, int kSteps, int kShift>
__global__ void __launch_bounds__(32 * kWarps, 4)
    tensor_packed_pairs_kernel(const __grid_constant__ TensorArguments a) {
  admit_next_launch();
  const TensorPlane& plane = a.plane[0];
  const unsigned item = blockIdx.x * kWarps + threadIdx.y;
  const int row =
      static_cast<int>(plane.columns == 1 ? item : __umulhi(item, plane.inner_reciprocal));
  const int y = row * kRows * a.steps;
  if (y >= plane.rows) return;
  const int x = kTensorTileBytes * (static_cast<int>(item) - row * plane.columns);
  march_packed<kCodes, kSteps, kShift>(a, plane, x, y, a.steps);
}

using PackedKernel = void (*)(TensorArguments);

template <int kSteps, int kShift>
PackedKernel select_codes(Codes codes) {
  switch (codes) {
    case Codes::kBits:
      return tensor_packed_pairs_kernel<Codes::kBits, kSteps, kShift>;
    case Codes::kFloat:
      return tensor_packed_pairs_kernel<Codes::kFloat, kSteps, kShift>;
    case Codes::kGeneral:
      break;
  }
  return tensor_packed_pairs_kernel<Codes::kGeneral, kSteps, kShift>;
}

PackedKernel select_kernel(const TensorArguments& a, Codes codes) {
  constexpr int kFew = kPairSteps[0], kMany = kPairSteps[1];
  if (a.pair_steps == kFew)
    return a.pair_shift == 0 ? select_codes<kFew, 0>(codes) : select_codes<kFew, 1>(codes);
  return a.pair_shift == 0 ? select_codes<kMany, 0>(codes) : select_codes<kMany, 1>(codes);
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
