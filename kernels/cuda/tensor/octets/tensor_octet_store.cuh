// SPDX-License-Identifier: LGPL-2.1-or-later
// Stores the codes of tensor_octets.cu as samples of the picture.
#pragma once

#include "kernels/cuda/tensor/octets/tensor_octet_rows.cuh"
#include "kernels/cuda/tensor/tensor_interleave.cuh"

namespace convolve {
namespace {

/// Where a lane stores its samples of eight rows, step after step: a word in each row. kClamped:
/// codes already lie within the format's depth.
template <int kComponents, bool kClamped>
class OctetOutput {
 public:
  using Made = unsigned[kRows];

  /// The outputs start at byte x of row y.
  __device__ OctetOutput(const TensorPlane& plane, int x, int y)
      : plane_(plane), row_(y), coded_(is_coded(plane.layout)) {
    const int lane = threadIdx.x;
    // Of one component the matrix of eight samples x eight columns is transposed before, so that
    // lanes hold adjacent words; of two each word is a pixel.
    x_ = x + 4 * (kComponents == 1 ? lane : 8 * (lane % 4) + lane / 4);
    to_ = plane.dst + y * plane.dst_pitch + x_;
  }

  /// Stores the codes of row r, made[r], as OctetSums has them.
  __device__ __forceinline__ void store(const Made& made) const {
    Made words;
    encode(made, words);
    if (x_ >= plane_.row_bytes) return;
    const auto store_rows = [&](int count) {
      std::uint8_t* to = to_;
#pragma unroll
      for (int r = 0; r < kRows; ++r, to += plane_.dst_pitch)
        if (r < count) *reinterpret_cast<unsigned*>(to) = words[r];
    };
    const int left = plane_.rows - row_;
    if (left >= kRows)
      store_rows(kRows);
    else
      store_rows(left);
  }

  /// The same for rows that may end within a word.
  __device__ void store_edge(const Made& made) const {
    Made words;
    encode(made, words);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      auto* const to = reinterpret_cast<std::uint16_t*>(to_ + r * plane_.dst_pitch);
      if (row_ + r >= plane_.rows) continue;
      if (x_ < plane_.row_bytes) to[0] = static_cast<std::uint16_t>(words[r]);
      if (x_ + 2 < plane_.row_bytes) to[1] = static_cast<std::uint16_t>(words[r] >> 16);
    }
  }

  __device__ __forceinline__ void next() {
    row_ += kRows;
    to_ += kRows * plane_.dst_pitch;
  }

 private:
  __device__ __forceinline__ void encode(const Made& made, Made& words) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      words[r] = kComponents == 1 ? transpose(made[r]) : made[r];
    if (!coded_) return;
    const unsigned most = 0x00010001u * static_cast<unsigned>(plane_.layout.max_code);
#pragma unroll
    for (unsigned& word : words)
      word = encode_two(kClamped ? word : __vminu2(word, most), plane_.layout);
  }

  const TensorPlane& plane_;
  int x_, row_;
  bool coded_;
  std::uint8_t* to_;
};

}  // namespace
}  // namespace convolve
