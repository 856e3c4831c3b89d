// SPDX-License-Identifier: LGPL-2.1-or-later
// From sums of tensor-sliding and tensor-columns to the picture: sums are quantised to bytes, a
// transposition across the warp makes words of four adjacent bytes of them, and the words are
// stored.
#pragma once

#include "kernels/cuda/tensor/tensor_load.cuh"

namespace convolve {
namespace {

/// Transposes the 8 x 8 matrix of 16-bit values of which each lane of the warp holds two.
__device__ __forceinline__ unsigned transpose(unsigned pair) {
  asm("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(pair));
  return pair;
}

/// The code of a sum by an epilogue for any sum; out of line, as it would be inlined 32 times.
__device__ __noinline__ int quantise_sum(int sum, const Epilogue& e) {
  return e.in_float ? finish(static_cast<float>(sum), e.narrow, e.max_code)
                    : finish(static_cast<double>(sum), e.wide, e.max_code);
}

/// The phase of element k of a lane's sums, which is byte 2 (lane / 4) + k / 2 of column 2 (lane %
/// 4) + k % 2 in the tile that starts at byte x.
__device__ __forceinline__ int phase_of_sum(const TensorPlane& plane, int x, int lane, int k) {
  return phase_of(plane, x + kColumnBytes * (2 * (lane % 4) + k % 2) + 2 * (lane / 4) + k / 2);
}

/// What element k of a lane's sums begins with.
__device__ __forceinline__ int start_of(const TensorPlane& plane, int x, int lane, int k) {
  return plane.phase[plane.stores.uniform ? 0 : phase_of_sum(plane, x, lane, k)].start;
}

/// threadIdx.x, read anew: the compiler computes what depends on it where it is needed, and does
/// not hold it in registers while the products run.
__device__ __forceinline__ int fresh_lane() {
  int lane;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(lane));
  return lane;
}

/// Four adjacent bytes of the sums that a product leaves in elements 0, 2, 1 and 3. A sum times
/// scale plus base has its code in the low 16 bits of a float; codes are clamped two at a time.
template <Quantiser kQuantiser>
__device__ __forceinline__ unsigned quantise_fast(const int (&sum)[4], float scale,
                                                  const float (&base)[4]) {
  static_assert(kQuantiser != Quantiser::kGeneral, "sums of kGeneral need quantise_general()");
  int v[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const float s =
        kQuantiser == Quantiser::kBits ? __int_as_float(sum[k]) : static_cast<float>(sum[k]);
    v[k] = __float_as_int(fmaf(s, scale, base[k]));
  }
  const unsigned even = __vimin_s16x2_relu(__byte_perm(v[0], v[2], 0x5410), 0x00FF00FF);
  const unsigned odd = __vimin_s16x2_relu(__byte_perm(v[1], v[3], 0x5410), 0x00FF00FF);
  return __byte_perm(even, odd, 0x6420);
}

/// The same four bytes, each by an epilogue of its own.
__device__ __forceinline__ unsigned quantise_general(const int (&sum)[4],
                                                     const Epilogue* const (&epilogues)[4]) {
  unsigned word = 0;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    const int byte = (k % 2) * 2 + k / 2;
    word |= static_cast<unsigned>(quantise_sum(sum[k], *epilogues[k])) << (8 * byte);
  }
  return word;
}

/// The codes of bytes 2 g and 2 g + 1 of column 2 t in the low half of the word, and of column 2 t
/// + 1 in the high half.
template <Quantiser kQuantiser>
__device__ __forceinline__ unsigned quantise_four(const int (&sum)[4], const TensorPlane& plane,
                                                  const int (&phase)[4], const float (&base)[4]) {
  if constexpr (kQuantiser != Quantiser::kGeneral) {
    return quantise_fast<kQuantiser>(sum, plane.scale, base);
  } else {
    const Epilogue* const epilogues[4] = {
        &plane.phase[phase[0]].general, &plane.phase[phase[1]].general,
        &plane.phase[phase[2]].general, &plane.phase[phase[3]].general};
    return quantise_general(sum, epilogues);
  }
}

/// Stores a lane's four bytes, from byte x on, row by row: in a word where all belong to samples
/// and lie aligned, otherwise byte by byte.
class Output {
 public:
  __device__ Output(const TensorPlane& plane, int x)
      : plane_(plane),
        x_(x),
        whole_(x + 4 <= plane.whole_bytes && aligned(plane.dst, plane.dst_pitch, 4)) {
    if (!plane.stores.copies) return;
    whole_ = whole_ && aligned(plane.src, plane.src_pitch, 4);
    for (int b = 0; b < 4; ++b)
      if (!plane.phase[phase_of(plane, x + b)].filtered) kept_ |= 0xFFu << (8 * b);
  }

  __device__ __forceinline__ void store(int y, unsigned word) const {
    std::uint8_t* to = plane_.dst + y * plane_.dst_pitch + x_;
    const std::uint8_t* from = plane_.src + y * plane_.src_pitch + x_;
    if (whole_) {
      if (kept_ != 0)
        word = (word & ~kept_) | (__ldg(reinterpret_cast<const unsigned*>(from)) & kept_);
      *reinterpret_cast<unsigned*>(to) = word;
      return;
    }
    if (x_ >= plane_.row_bytes) return;
#pragma unroll 1
    for (int b = 0; b < 4; ++b) {
      const TensorPhase& phase = plane_.phase[phase_of(plane_, x_ + b)];
      const bool sample = sample_of(phase, x_ + b) < phase.width;
      if (!sample && !(plane_.stores.tail && x_ + b < plane_.row_bytes)) continue;
      to[b] =
          sample && phase.filtered ? static_cast<std::uint8_t>(word >> (8 * b)) : __ldg(from + b);
    }
  }

 private:
  const TensorPlane& plane_;
  int x_;
  bool whole_;
  unsigned kept_ = 0;  ///< Bits that are copied from the source.
};

/// Quantises and stores a warp's tile of 128 bytes x 8 rows, from byte x of row y on.
template <Quantiser kQuantiser>
__device__ __forceinline__ void store_rows(const TensorPlane& plane, int x, int y,
                                           const int (&sum)[kRows][4]) {
  const int lane = fresh_lane();
  int phase[4];
  float base[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    phase[k] = plane.stores.uniform ? 0 : phase_of_sum(plane, x, lane, k);
    base[k] = plane.phase[phase[k]].base;
  }
  const int own_x = x + kColumnBytes * (lane / 4) + 4 * (lane % 4);
  if (!plane.stores.copies && x + kTensorTileBytes <= plane.whole_bytes &&
      y + kRows <= plane.rows && aligned(plane.dst, plane.dst_pitch, 4)) {
    std::uint8_t* to = plane.dst + y * plane.dst_pitch + own_x;
#pragma unroll
    for (int r = 0; r < kRows; ++r, to += plane.dst_pitch)
      *reinterpret_cast<unsigned*>(to) =
          transpose(quantise_four<kQuantiser>(sum[r], plane, phase, base));
    return;
  }
  const Output output(plane, own_x);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const unsigned word = transpose(quantise_four<kQuantiser>(sum[r], plane, phase, base));
    if (y + r < plane.rows) output.store(y + r, word);
  }
}

/// The same where TensorStores::plain, and all bytes of the tile lie inside the picture's columns.
template <Quantiser kQuantiser>
__device__ __forceinline__ void store_plain_rows(const TensorPlane& plane, int x, int y,
                                                 const int (&sum)[kRows][4]) {
  const float one_base = plane.phase[0].base;
  const float base[4] = {one_base, one_base, one_base, one_base};
  const int phase[4] = {};
  const int lane = fresh_lane(), room = plane.rows - y;
  const int own_x = x + kColumnBytes * (lane / 4) + 4 * (lane % 4);
  std::uint8_t* to = plane.dst + y * plane.dst_pitch + own_x;
  if (plane.stores.kept == 0) {
#pragma unroll
    for (int r = 0; r < kRows; ++r, to += plane.dst_pitch) {
      const unsigned word = transpose(quantise_four<kQuantiser>(sum[r], plane, phase, base));
      if (r < room) *reinterpret_cast<unsigned*>(to) = word;
    }
    return;
  }
  const std::uint8_t* from = plane.src + y * plane.src_pitch + own_x;
  unsigned source[kRows];
#pragma unroll
  for (int r = 0; r < kRows; ++r, from += plane.src_pitch)
    if (r < room) source[r] = __ldg(reinterpret_cast<const unsigned*>(from));
#pragma unroll
  for (int r = 0; r < kRows; ++r, to += plane.dst_pitch) {
    const unsigned word = transpose(quantise_four<kQuantiser>(sum[r], plane, phase, base));
    if (r < room)
      *reinterpret_cast<unsigned*>(to) =
          (word & ~plane.stores.kept) | (source[r] & plane.stores.kept);
  }
}

}  // namespace
}  // namespace convolve
