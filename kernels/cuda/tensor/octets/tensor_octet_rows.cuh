// SPDX-License-Identifier: LGPL-2.1-or-later
// Loads picture rows of samples of two bytes into the registers of tensor_octets.cu, where low and
// high bytes lie apart.
#pragma once

#include "kernels/cuda/tensor/tensor_row_load.cuh"

namespace convolve {
namespace {

/// Samples of each component in the columns of a warp.
template <int kComponents>
constexpr int kTileSamples = kTensorTileBytes / (2 * kComponents);

/// Planes of bytes: the low bytes of a component, then its high bytes, then those of the next.
template <int kComponents>
constexpr int kBytePlanes = 2 * kComponents;

/// Words of bytes that a lane holds of a component in each row group: low and high bytes of samples
/// -4 .. 11 around its eight. Word n has samples 4 n - 4 .. 4 n - 1, or for sparse products 2 n -
/// 4, 2 n - 3, 2 n + 4 and 2 n + 5, of which an output of a mask up to eight samples wide reads two
/// at most.
constexpr int kOctetWords = 4;
template <int kRowGroups>
using OctetWords = unsigned[2][kRowGroups][kOctetWords];

/// The codes of two samples as they lie in memory, wherever the format keeps the bits.
__device__ __forceinline__ unsigned decode_two(unsigned word, const SampleLayout& layout) {
  if (layout.swap) word = __byte_perm(word, 0, 0x2301);
  return word >> layout.shift & 0x00010001u * static_cast<unsigned>(layout.max_code);
}

/// True if samples do not lie in memory as their codes.
__device__ __forceinline__ bool is_coded(const SampleLayout& layout) {
  return layout.swap || layout.shift != 0 || layout.max_code != 0xFFFF;
}

/// What a lane loads of a picture row.
template <int kComponents>
struct OctetLoad {
  unsigned own[4];  ///< The lane's own sixteen bytes.
  /// Four samples of each component beside the warp's columns, for lanes at their ends.
  unsigned outer[2 * kComponents];
};

/// Loads and unpacks a warp's share of operand B. Lane group g = lane / 4 holds eight samples of a
/// component: column g, or of two components number g % 2 of the columns g - g % 2 and the next, of
/// which it loads one. Of each row group it holds row lane % 4.
template <bool kSparse, int kComponents>
class OctetColumns {
  static constexpr int kOuterBytes = 8 * kComponents, kNext = 4 * kComponents;

 public:
  using Load = OctetLoad<kComponents>;
  template <int kRowGroups>
  using Words = OctetWords<kRowGroups>;

  /// The outputs start at byte x. A warp has two columns or more; with two components an even
  /// number, and at least four.
  __device__ OctetColumns(const TensorArguments& a, const TensorPlane& plane, int x)
      : plane_(plane), border_(a.border), pitch_(plane.src_pitch) {
    const int lane = threadIdx.x, lane_group = lane / 4;
    const int last = min(kColumns, (plane.row_bytes - x) / kColumnBytes) - 1;
    const int c = min(lane_group, last);  // Columns behind the picture load something all the same.
    before_ = max(lane - kNext, 0);
    after_ = min(lane + kNext, 31);
    second_ = lane_group % kComponents != 0;
    first_ = c < kComponents;
    final_ = c > last - kComponents;
    const bool left = first_ && x == 0;
    const bool right = final_ && x + kColumnBytes * (last + 1) == plane.row_bytes;
    ghosts_ = left || right;
    const int begin = -kColumnBytes * (c % kComponents);
    int beside = first_ ? begin - kOuterBytes : final_ ? begin + kColumnBytes * kComponents : 0;
    if (ghosts_) {
      select_ = left ? plane.ghosts.near_select[0] : plane.ghosts.near_select[1];
      beside = border_ != Border::kWrap ? 0
               : left                   ? beside + plane.row_bytes
                                        : beside - plane.row_bytes;
    }
    from_ = plane.src + (x + kColumnBytes * c) + static_cast<std::int64_t>(lane % 4) * pitch_;
    beside_ = beside;
    coded_ = is_coded(plane.layout);
  }

  /// Starts loading kCount row groups from picture row `top` on.
  template <int kCount>
  __device__ __forceinline__ void load(int top, OctetLoad<kComponents> (&loads)[kCount]) {
    load_row_groups(
        from_, pitch_, top, plane_.rows, border_, loads,
        [&](const std::uint8_t* from, Load& load) { load_row(from, load); },
        [&](Load& load) {
#pragma unroll
          for (unsigned& word : load.own)
            word = plane_.ghosts.black;
#pragma unroll
          for (unsigned& word : load.outer)
            word = plane_.ghosts.black;
        });
  }

  /// Waits for a loaded row, and unpacks it into words[byte][row_group].
  template <int kRowGroups>
  __device__ __forceinline__ void unpack(OctetLoad<kComponents>& load, int row_group,
                                         OctetWords<kRowGroups>& words) const {
    const bool black = ghosts_ && border_ == Border::kZero;
#pragma unroll
    for (unsigned& word : load.outer)
      word = black ? plane_.ghosts.black : word;
    if (coded_) {
#pragma unroll
      for (unsigned& word : load.own)
        word = decode_two(word, plane_.layout);
#pragma unroll
      for (unsigned& word : load.outer)
        word = decode_two(word, plane_.layout);
    }
    unsigned own[4], outer[2];
    pick(load, own, outer);
    // Of the columns beside its own the lane takes the halves that are next to it.
    unsigned before[2], after[2];
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      before[n] = __shfl_sync(~0u, own[2 + n], before_);
      after[n] = __shfl_sync(~0u, own[n], after_);
    }
    if (ghosts_ && border_ != Border::kZero && border_ != Border::kWrap) copy_ghosts(own, outer);
#pragma unroll
    for (int n = 0; n < 2; ++n) {
      before[n] = first_ ? outer[n] : before[n];
      after[n] = final_ ? outer[n] : after[n];
    }
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      const unsigned byte = b == 0 ? 0x6420 : 0x7531;
      unsigned(&made)[kOctetWords] = words[b][row_group];
      if constexpr (kSparse) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
          made[n] = __byte_perm(before[n], own[2 + n], byte);
          made[2 + n] = __byte_perm(own[n], after[n], byte);
        }
      } else {
        made[0] = __byte_perm(before[0], before[1], byte);
        made[1] = __byte_perm(own[0], own[1], byte);
        made[2] = __byte_perm(own[2], own[3], byte);
        made[3] = __byte_perm(after[0], after[1], byte);
      }
    }
  }

 private:
  /// own: the eight samples of the lane's component, outer: the four beside them.
  __device__ __forceinline__ void pick(const OctetLoad<kComponents>& load, unsigned (&own)[4],
                                       unsigned (&outer)[2]) const {
    if constexpr (kComponents == 1) {
#pragma unroll
      for (int n = 0; n < 4; ++n)
        own[n] = load.own[n];
      outer[0] = load.outer[0];
      outer[1] = load.outer[1];
    } else {
      // Four samples of the lane's component stay; the four of the other component go to the lane
      // beside, which has four more of this one.
      const unsigned stays = second_ ? 0x7632 : 0x5410, goes = second_ ? 0x5410 : 0x7632;
#pragma unroll
      for (int n = 0; n < 2; ++n) {
        const unsigned kept = __byte_perm(load.own[2 * n], load.own[2 * n + 1], stays);
        const unsigned given = __byte_perm(load.own[2 * n], load.own[2 * n + 1], goes);
        const unsigned got = __shfl_xor_sync(~0u, given, 4);
        own[n] = second_ ? got : kept;
        own[2 + n] = second_ ? kept : got;
        outer[n] = __byte_perm(load.outer[2 * n], load.outer[2 * n + 1], stays);
      }
    }
  }

  /// outer = those four of the lane's eight samples that select_ names.
  __device__ __forceinline__ void copy_ghosts(const unsigned (&own)[4],
                                              unsigned (&outer)[2]) const {
    unsigned ghosts[2];
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      const unsigned byte = b == 0 ? 0x6420 : 0x7531;
      ghosts[b] = __byte_perm(__byte_perm(own[0], own[1], byte), __byte_perm(own[2], own[3], byte),
                              select_);
    }
    outer[0] = __byte_perm(ghosts[0], ghosts[1], 0x5140);
    outer[1] = __byte_perm(ghosts[0], ghosts[1], 0x7362);
  }

  __device__ __forceinline__ void load_row(const std::uint8_t* from,
                                           OctetLoad<kComponents>& load) const {
    const uint4 own = __ldg(reinterpret_cast<const uint4*>(from));
    load.own[0] = own.x;
    load.own[1] = own.y;
    load.own[2] = own.z;
    load.own[3] = own.w;
#pragma unroll
    for (int k = 0; k < kComponents; ++k) {
      uint2 outer = make_uint2(0, 0);
      if (first_ || final_) outer = __ldg(reinterpret_cast<const uint2*>(from + beside_) + k);
      load.outer[2 * k] = outer.x;
      load.outer[2 * k + 1] = outer.y;
    }
  }

  const TensorPlane& plane_;
  Border border_;
  std::int64_t pitch_;
  const std::uint8_t*
      from_;  ///< The lane's bytes in its row, where the row group begins with picture row 0.
  int beside_;
  int before_, after_;  ///< Lanes that hold the samples left and right of its own.
  unsigned select_ = 0;
  bool first_, final_, second_, ghosts_, coded_;
};

/// The patch of an edge: the rows that a warp's outputs read, ghosts included. Plane of bytes c of
/// row r lies at kBytePlaneWidth (kPlanes r + c), from four samples before the outputs on.
template <int kComponents>
constexpr int kBytePlaneWidth = kTileSamples<kComponents> + 8;
constexpr int kOctetPatchRows = kPairRowGroups[1] * kRowGroupRows;
constexpr int kOctetPatchBytes = kOctetPatchRows * 4 * kBytePlaneWidth<2>;
static_assert(kOctetPatchRows * 2 * kBytePlaneWidth<1> <= kOctetPatchBytes,
              "one component takes less");

/// Fills the patch of an edge, from byte x of row `top` of the picture on. Out of line:
/// instructions that nearly all warps skip would make them wait for those that follow.
template <int kComponents>
__device__ __noinline__ void fill_octet_patch(const TensorArguments& a, const TensorPlane& plane,
                                              int x, int top, std::uint8_t* patch) {
  constexpr int kPlanes = kBytePlanes<kComponents>, kBytes = kBytePlaneWidth<kComponents>;
  const int width = plane.row_bytes / kPlanes, first = x / kPlanes - 4;
#pragma unroll 1
  for (int i = threadIdx.x; i < kBytes * kComponents; i += 32) {
    const int n = i / kComponents, k = i % kComponents;
    // No output inside the picture reads further samples.
    if (first + n >= width + 8) break;
    const int sample = border_index(a.border, first + n, width);
#pragma unroll 8
    for (int r = 0; r < kOctetPatchRows; ++r) {
      const int row = border_index(a.border, top + r, plane.rows);
      int code = plane.phase[k].black;
      if (sample != kNoSignal && row != kNoSignal)
        code = decode_sample(
            __ldg(reinterpret_cast<const std::uint16_t*>(plane.src + row * plane.src_pitch) +
                  sample * kComponents + k),
            plane.layout);
      std::uint8_t* const to = patch + kBytes * (kPlanes * r + 2 * k) + n;
      to[0] = static_cast<std::uint8_t>(code);
      to[kBytes] = static_cast<std::uint8_t>(code >> 8);
    }
  }
  __syncwarp();
}

/// words[byte][row_group] of the lanes of a warp, from a patch.
template <bool kSparse, int kComponents, int kRowGroups>
__device__ __forceinline__ void unpack_octet_patch(const std::uint8_t* patch,
                                                   OctetWords<kRowGroups>& words) {
  const int lane = threadIdx.x, lane_group = lane / 4;
  constexpr int kBytes = kBytePlaneWidth<kComponents>, kPlanes = kBytePlanes<kComponents>;
  const std::uint8_t* const from =
      patch + kBytes * (kPlanes * (lane % 4) + 2 * (lane_group % kComponents)) +
      8 * (lane_group / kComponents);
#pragma unroll
  for (int b = 0; b < 2; ++b)
#pragma unroll
    for (int j = 0; j < kRowGroups; ++j)
#pragma unroll
      for (int n = 0; n < kOctetWords; ++n) {
        const std::uint8_t* const plane = from + kBytes * (kPlanes * kRowGroupRows * j + b);
        if constexpr (kSparse) {
          const auto* const pairs = reinterpret_cast<const std::uint16_t*>(plane);
          words[b][j][n] = pairs[n] | static_cast<unsigned>(pairs[n + 4]) << 16;
        } else {
          words[b][j][n] = reinterpret_cast<const unsigned*>(plane)[n];
        }
      }
}

}  // namespace
}  // namespace convolve
