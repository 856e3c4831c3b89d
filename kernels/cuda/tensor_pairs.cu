// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `tensor` for small masks: products of 8 rows x 2 adjacent bytes, from registers only.
//
// Operand A holds the mask as eight output rows and two adjacent output bytes see a group of four
// picture rows in windows of 8 bytes (tensor_fragments.h). Operand B of product i is, for each of
// eight columns of 16 bytes, the window of its bytes 2 i and 2 i + 1, so that eight products make
// 128 bytes x 8 rows from one group: at 5x5 three groups, 24 products, where a product for each
// mask row takes 40. The 24 bytes from which a lane cuts its windows are loaded once, for all
// products; a lane ends up with 16 adjacent bytes of two columns, which it stores as they are.
//
// A frame is read and written once, and waiting for memory is what a small mask costs (H100: 24
// products of 6 clocks against some 1,000 clocks of latency). So no load waits for another: all
// rows of a warp's first step are in flight at once, and those of the next step while this one
// multiplies. Instructions are the rest: what does not change from step to step is made before. And
// while the launch before still ends, the L2 cache fetches what a warp will see first.
#include "kernels/cuda/overlap.cuh"
#include "kernels/cuda/tensor_pair.cuh"

namespace convolve {
namespace {

constexpr int kGroupRows = 4;
constexpr int kNewGroups = kRows / kGroupRows;  ///< Of each step but the first.

/// Picture rows that the patch of an edge holds.
constexpr int kPatchRows = kPairSteps[1] * kGroupRows;

/// A picture row on its way into the registers of a lane.
struct PairPiece {
  uint4 own;       ///< Bytes 0 .. 15 of its column,
  unsigned outer;  ///< and the word beside the warp's columns, where the lane stands there.
};

/// Rows and columns of a warp's part of operand B, of which a lane holds bytes -4 .. 19 of its
/// column in each row. Lane group g holds the column g / 2 + 4 (g % 2), and in each group of
/// picture rows row t = lane % 4.
class PairColumns {
 public:
  /// The outputs start at byte x.
  __device__ PairColumns(const TensorArguments& a, const TensorPlane& plane, int x)
      : border_(a.border), rows_(plane.rows), pitch_(plane.src_pitch) {
    const int lane = threadIdx.x, t = lane % 4;
    const int own = lane / 8 + 4 * (lane / 4 % 2);
    const int last = min(kColumns, (plane.row_bytes - x) / kColumnBytes) - 1;
    const int c = min(own, last);  // Columns behind the picture load something all the same.
    const auto lane_of = [&](int column) { return 4 * (2 * (column % 4) + column / 4) + t; };
    before_ = lane_of(max(own - 1, 0));
    after_ = lane_of(min(own + 1, kColumns - 1));
    first_ = c == 0;
    final_ = c == last;
    // Beside the picture stand ghosts: four of the eight bytes next to them, or what lies on its
    // other side.
    const bool left = first_ && x == 0;
    const bool right = final_ && x + kColumnBytes * (last + 1) == plane.row_bytes;
    ghosts_ = left || right;
    int beside = first_ ? -4 : final_ ? kColumnBytes : 0;
    if (ghosts_) {
      select_ = left ? plane.ghost_select[0] : plane.ghost_select[1];
      beside = border_ != Border::kWrap ? 0
               : left                   ? beside + plane.row_bytes
                                        : beside - plane.row_bytes;
    }
    from_ = plane.src + (x + kColumnBytes * c) + static_cast<std::int64_t>(t) * pitch_;
    beside_ = beside;
    black_ = plane.pair_black;
  }

  /// Starts loading kCount groups of picture rows from row `top` on.
  template <int kCount>
  __device__ __forceinline__ void load(int top, PairPiece (&pieces)[kCount]) {
    const std::uint8_t* from = from_ + top * pitch_;
    if (top >= 0 && top + kGroupRows * kCount <= rows_) {
#pragma unroll
      for (int j = 0; j < kCount; ++j, from += kGroupRows * pitch_)
        load_row(from, pieces[j]);
      return;
    }
    const int t = threadIdx.x % 4;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const int row = border_index(border_, top + kGroupRows * j + t, rows_);
      if (row != kNoSignal) {
        load_row(from_ + (row - t) * pitch_, pieces[j]);
      } else {
        pieces[j].own = make_uint4(black_, black_, black_, black_);
        pieces[j].outer = black_;
      }
    }
  }

  /// Waits for a row.
  __device__ __forceinline__ void take(const PairPiece& piece,
                                       unsigned (&words)[kPairWords]) const {
    unsigned outer = piece.outer;
    if (ghosts_ && border_ != Border::kWrap)
      outer = border_ == Border::kZero ? black_
                                       : __byte_perm(first_ ? piece.own.x : piece.own.z,
                                                     first_ ? piece.own.y : piece.own.w, select_);
    const unsigned before = __shfl_sync(~0u, piece.own.w, before_);
    const unsigned after = __shfl_sync(~0u, piece.own.x, after_);
    words[0] = first_ ? outer : before;
    words[1] = piece.own.x;
    words[2] = piece.own.y;
    words[3] = piece.own.z;
    words[4] = piece.own.w;
    words[5] = final_ ? outer : after;
  }

 private:
  __device__ __forceinline__ void load_row(const std::uint8_t* from, PairPiece& piece) const {
    piece.own = __ldg(reinterpret_cast<const uint4*>(from));
    piece.outer = __ldg(reinterpret_cast<const unsigned*>(from + beside_));
  }

  Border border_;
  int rows_;
  std::int64_t pitch_;
  const std::uint8_t* from_;  ///< The lane's column in its row of a group that starts at row 0.
  int beside_;
  int before_, after_;  ///< Lanes of the columns beside the lane's.
  unsigned select_ = 0, black_;
  bool first_, final_, ghosts_;
};

// Out of line: code that nearly all warps skip makes them wait for theirs.

__device__ __noinline__ void fill_edge(const TensorArguments& a, const TensorPlane& plane, int x,
                                       int top, std::uint8_t* patch) {
#pragma unroll 1
  for (int r = 0; r < kPatchRows; r += kRows)
    fill_patch(plane, a.border, x, top + r, patch + r * kSpanBytes);
  __syncwarp();
}

__device__ __noinline__ void store_edge(const TensorPlane& plane, int x, int row, uint4 sixteen) {
  Output(plane, x).store(row, sixteen.x);
  Output(plane, x + 4).store(row, sixteen.y);
  Output(plane, x + 8).store(row, sixteen.z);
  Output(plane, x + 12).store(row, sixteen.w);
}

/// Rows that columns with ghosts of other kinds than PairColumns knows see.
template <int kGroups>
__device__ __forceinline__ void load_edge(const TensorArguments& a, const TensorPlane& plane, int x,
                                          int top, std::uint8_t* patch,
                                          unsigned (&words)[kGroups][kPairWords]) {
  constexpr int kMargin = 8;
  fill_edge(a, plane, x - kMargin, top, patch);
  const int lane = threadIdx.x, column = lane / 8 + 4 * (lane / 4 % 2);
  const std::uint8_t* from = patch + lane % 4 * kSpanBytes + kMargin - 4 + kColumnBytes * column;
#pragma unroll
  for (int j = 0; j < kGroups; ++j)
#pragma unroll
    for (int w = 0; w < kPairWords; ++w)
      words[j][w] = reinterpret_cast<const unsigned*>(from + j * kGroupRows * kSpanBytes)[w];
}

/// The mask, of which one digit stays in registers.
template <Codes kCodes, int kSteps>
class PairWeights {
 public:
  __device__ PairWeights(const TensorArguments& a, const TensorPlane& plane)
      : fragments_(plane.fragments + threadIdx.x), digits_(a.digits) {
    // Four registers that the compiler cannot know to be equal: otherwise it would load the value
    // anew for each of a product's operands. No lane's number is above 31. With more digits there
    // are no registers to spare.
#pragma unroll
    for (int k = 0; k < 4; ++k)
      start_[k] = plane.phase[0].start + (kOne ? (k + 1) * (fresh_lane() >> 5) : 0);
    if constexpr (kOne) {
#pragma unroll
      for (int s = 0; s < kSteps; ++s)
        only_[s] = __ldg(fragments_ + 32 * s);
    }
  }

  /// sum = start + products with the words of all steps.
  template <int kShift>
  __device__ __forceinline__ void multiply_by(const unsigned (&words)[kSteps][kPairWords],
                                              int (&sum)[kRows][4]) const {
    int start[kRows][4];
#pragma unroll
    for (int i = 0; i < kRows; ++i)
#pragma unroll
      for (int k = 0; k < 4; ++k)
        start[i][k] = kOne || digits_ == 1 ? start_[k] : 0;
    multiply_pairs<kShift>(sum, kOne ? only_[0] : __ldg(fragments_), words[0], start);
#pragma unroll
    for (int s = 1; s < kSteps; ++s)
      multiply_pairs<kShift>(sum, kOne ? only_[s] : __ldg(fragments_ + 32 * s), words[s], sum);
    if constexpr (!kOne) {
      const uint4* fragment = fragments_ + 32 * kSteps;
#pragma unroll 1
      for (int left = digits_ - 1; left > 0; --left) {
#pragma unroll
        for (int i = 0; i < kRows; ++i)
#pragma unroll
          for (int k = 0; k < 4; ++k)
            sum[i][k] = sum[i][k] * 256 + (left == 1 ? start_[k] : 0);
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
  int start_[4];
};

/// `steps` times 128 bytes x 8 rows, one below the other.
template <Codes kCodes, int kSteps, int kShift>
__device__ __forceinline__ void march_pairs(const TensorArguments& a, const TensorPlane& plane,
                                            int x, int y, int steps) {
  fetch_rows(plane, x, y - a.anchor_y, kGroupRows * kSteps + kRows * (a.early_steps - 1));
  const PairWeights<kCodes, kSteps> weights(a, plane);
  const float scale = in_register(plane.scale), base = in_register(plane.phase[0].base);
  PairColumns columns(a, plane, x);
  await_previous_launch();
  unsigned words[kSteps][kPairWords];
  {
    PairPiece pieces[kSteps];
    columns.load(y - a.anchor_y, pieces);
#pragma unroll
    for (int s = 0; s < kSteps; ++s)
      columns.take(pieces[s], words[s]);
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
    PairPiece pieces[kNewGroups];
    if (more) columns.load(y - a.anchor_y + kGroupRows * (kSteps - kNewGroups), pieces);
    int sum[kRows][4];
    weights.template multiply_by<kShift>(words, sum);
    const uint4 near = pair_codes<kCodes>(sum, 0, plane.phase[0].general, scale, base);
    const uint4 far = pair_codes<kCodes>(sum, 1, plane.phase[0].general, scale, base);
    if (row < plane.rows) {
      if (near_inside) *reinterpret_cast<uint4*>(to) = near;
      if (far_inside) *reinterpret_cast<uint4*>(to + kFar) = far;
    }
    if (!more) return;
    row += kRows;
    to += kRows * plane.dst_pitch;
#pragma unroll
    for (int s = 0; s + kNewGroups < kSteps; ++s)
#pragma unroll
      for (int w = 0; w < kPairWords; ++w)
        words[s][w] = words[s + kNewGroups][w];
#pragma unroll
    for (int s = 0; s < kNewGroups; ++s)
      columns.take(pieces[s], words[kSteps - kNewGroups + s]);
  }
}

/// 128 bytes x 8 rows of a column at the picture's edge.
template <Codes kCodes, int kSteps, int kShift>
__device__ __forceinline__ void filter_edge(const TensorArguments& a, const TensorPlane& plane,
                                            int x, int y, std::uint8_t* patch) {
  await_previous_launch();
  unsigned words[kSteps][kPairWords];
  load_edge(a, plane, x, y - a.anchor_y, patch, words);
  int sum[kRows][4];
  PairWeights<kCodes, kSteps>(a, plane).template multiply_by<kShift>(words, sum);
  const int lane = threadIdx.x, row = y + lane / 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const uint4 sixteen =
        pair_codes<kCodes>(sum, half, plane.phase[0].general, plane.scale, plane.phase[0].base);
    if (row < plane.rows) store_edge(plane, x + kColumnBytes * (lane % 4 + 4 * half), row, sixteen);
  }
}

/// kSteps, kShift: of PairWindow.
template <Codes kCodes, int kSteps, int kShift>
__global__ void __launch_bounds__(32 * kWarps, 4)
    tensor_pairs_kernel(const __grid_constant__ TensorArguments a) {
  __shared__ __align__(16) std::uint8_t patches[kWarps][kPatchRows * kSpanBytes];
  admit_next_launch();
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
  if (inner) {
    const int x = kTensorTileBytes * (plane.inner_first + n);
    march_pairs<kCodes, kSteps, kShift>(a, plane, x, y, a.steps);
  } else {
    const int x = kTensorTileBytes * (n < plane.inner_first ? n : n + plane.inner_columns);
    filter_edge<kCodes, kSteps, kShift>(a, plane, x, y, patches[threadIdx.y]);
  }
}

using PairsKernel = void (*)(TensorArguments);

template <int kSteps, int kShift>
PairsKernel select_codes(Codes codes) {
  switch (codes) {
    case Codes::kBits:
      return tensor_pairs_kernel<Codes::kBits, kSteps, kShift>;
    case Codes::kFloat:
      return tensor_pairs_kernel<Codes::kFloat, kSteps, kShift>;
    case Codes::kGeneral:
      break;
  }
  return tensor_pairs_kernel<Codes::kGeneral, kSteps, kShift>;
}

PairsKernel select_kernel(const TensorArguments& a, Codes codes) {
  constexpr int kFew = kPairSteps[0], kMany = kPairSteps[1];
  if (a.pair_steps == kFew)
    return a.pair_shift == 0 ? select_codes<kFew, 0>(codes) : select_codes<kFew, 1>(codes);
  return a.pair_shift == 0 ? select_codes<kMany, 0>(codes) : select_codes<kMany, 1>(codes);
}

}  // namespace

cudaError_t load_tensor_pairs(const TensorArguments& arguments) {
  for (const Codes codes : {Codes::kBits, Codes::kFloat, Codes::kGeneral})
    if (const cudaError_t error = load_kernel(select_kernel(arguments, codes), 0);
        error != cudaSuccess)
      return error;
  return cudaSuccess;
}

cudaError_t resident_tensor_pairs_blocks(const TensorArguments& arguments, int* blocks) {
  return resident_blocks(select_kernel(arguments, Codes::kFloat), 32 * kWarps, blocks);
}

cudaError_t launch_tensor_pairs(const TensorArguments& arguments, cudaStream_t stream) {
  return launch_overlapping(select_kernel(arguments, arguments.codes),
                            dim3(static_cast<unsigned>(arguments.blocks)), dim3(32, kWarps), 0,
                            stream, arguments);
}

}  // namespace convolve
