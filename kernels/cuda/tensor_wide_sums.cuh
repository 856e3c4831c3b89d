// SPDX-License-Identifier: LGPL-2.1-or-later
// Sums of tensor_wide_pairs.cu: of digits of weights with bytes of samples, and their codes.
#pragma once

#include "kernels/core/split_digits.h"
#include "kernels/cuda/tensor_interleave.cuh"
#include "kernels/cuda/tensor_pair.cuh"
#include "kernels/cuda/tensor_weights.cuh"
#include "kernels/cuda/tensor_wide_rows.cuh"

namespace convolve {
namespace {

/// Products as pairs. kSteps, kShift: of PairWindow.
template <int kSteps, int kShift>
struct WidePairs {
  static constexpr int kGroups = kSteps, kFragments = kSteps;

  /// sum += a digit of the mask times the words of a part.
  template <int kWords, int kSums>
  static __device__ __forceinline__ void add(const uint4 (&weights)[kFragments],
                                             const unsigned (&words)[kGroups][kWords],
                                             int (&sum)[kSums][4]) {
#pragma unroll
    for (int s = 0; s < kGroups; ++s)
      multiply_pairs<kShift>(sum, weights[s], words[s], sum);
  }
};

/// Products as quads (tensor_quad.cuh): sums of rows 0 .. 3, then those of rows 4 .. 7.
struct WideQuads {
  static constexpr int kGroups = kPairSteps[1], kFragments = 2 * kQuadWords;

  template <int kWords, int kSums>
  static __device__ __forceinline__ void add(const uint4 (&weights)[kFragments],
                                             const unsigned (&words)[kGroups][kWords],
                                             int (&sum)[kSums][4]) {
    constexpr int kQuads = kSums / 2;
    static_assert(kWords == kQuads + kQuadWords - 1, "the last window ends with the last word");
#pragma unroll
    for (int m = 0; m < kQuadWords; ++m) {
      const uint4 &first = weights[2 * m], &second = weights[2 * m + 1];
#pragma unroll
      for (int i = 0; i < kQuads; ++i) {
        int(&upper)[4] = sum[i], (&lower)[4] = sum[kQuads + i];
        multiply(upper, first, make_uint2(words[0][i + m], words[1][i + m]), upper);
        multiply(lower, second, make_uint2(words[2][i + m], words[3][i + m]), lower);
      }
#pragma unroll
      for (int i = 0; i < kQuads; ++i) {
        int(&upper)[4] = sum[i], (&lower)[4] = sum[kQuads + i];
        multiply_half(upper, make_uint2(second.z, second.w), words[2][i + m], upper);
        multiply_half(lower, make_uint2(first.x, first.y), words[1][i + m], lower);
      }
    }
  }
};

/// How sums of weights of one digit, or of some, with samples become values, and these two codes.
/// Weights of one digit stay in registers, those of some in shared memory.
template <class Window, WideCodes kCodes, bool kOne>
class WideSums {
 public:
  static constexpr int kGroups = Window::kGroups;

  /// weights: as bring_weights() left them, if there is more than one digit.
  __device__ WideSums(const TensorArguments& a, const TensorPlane& plane, const uint4* weights)
      : general_(plane.phase[0].general),
        weights_(weights + threadIdx.x),
        digits_(a.digits),
        scale_(in_register(plane.scale)),
        base_(in_register(plane.phase[0].base)),
        // Values of the float way lie within 16 bits and a sign, whatever the samples could hold.
        most_(0x00010001u *
              static_cast<unsigned>(
                  min(plane.layout.max_code, kCodes == WideCodes::kFloat ? 0x7FFF : 0xFFFF))) {
    // Four registers that the compiler cannot know to be equal: otherwise it would load the value
    // anew for each of a product's operands. No lane's number is above 31.
    const int start = kCodes == WideCodes::kSplit    ? __float_as_int(kSplitStart)
                      : kCodes == WideCodes::kDouble ? plane.phase[0].start ^ kSign
                                                     : plane.phase[0].start;
#pragma unroll
    for (int k = 0; k < 4; ++k)
      start_[k] = start + (k + 1) * (fresh_lane() >> 5);
    if constexpr (kOne) {
#pragma unroll
      for (int i = 0; i < Window::kFragments; ++i)
        only_[i] = __ldg(plane.fragments + threadIdx.x + 32 * i);
    }
  }

  /// values[component] = what the low and the high bytes of its samples, two parts, come to.
  template <int kParts, int kWords, int kSums>
  __device__ __forceinline__ void sum_up(const unsigned (&words)[kParts][kGroups][kWords],
                                         int (&values)[kParts / 2][kSums][4]) const {
    if constexpr (kCodes == WideCodes::kSplit) {
      each(values, [&](int& value, int) { value = __float_as_int(base_); });
      float scale = scale_;
      // Unrolled, all weights would come at once and leave no registers.
#pragma unroll 1
      for (int power = kSplitSums; power > 0; --power, scale *= 1.0f / 256) {
        int sum[kParts / 2][kSums][4];
        each(sum, [&](int& s, int k) { s = start_[k]; });
        if (power < kSplitSums) add(power, words, 0, sum);
        add(power - 1, words, 1, sum);
#pragma unroll
        for (int c = 0; c < kParts / 2; ++c)
#pragma unroll
          for (int i = 0; i < kSums; ++i)
#pragma unroll
            for (int k = 0; k < 4; ++k)
              values[c][i][k] = __float_as_int(fmaf(__int_as_float(sum[c][i][k]) - kSplitStart,
                                                    scale, __int_as_float(values[c][i][k])));
      }
    } else {
      each(values, [](int& value, int) { value = 0; });
      // To the next lower power, of which the lowest begins with the start.
      const auto raise = [&](bool last) {
        each(values, [&](int& value, int k) { value = value * 256 + (last ? start_[k] : 0); });
      };
      if constexpr (kOne) {
        add(0, words, 1, values);
        raise(true);
        add(0, words, 0, values);
      } else {
#pragma unroll 1
        for (int power = digits_; power >= 0; --power) {
          if (power < digits_) {
            raise(power == 0);
            add(power, words, 0, values);
          }
          if (power > 0) add(power - 1, words, 1, values);
        }
      }
    }
  }

  /// The codes of two values.
  __device__ __forceinline__ unsigned codes_of(int low, int high) const {
    if constexpr (kCodes == WideCodes::kFloat) {
      const auto bits = [&](int v) {
        return __float_as_uint(fmaf(static_cast<float>(v), scale_, base_));
      };
      return __vimin_s16x2_relu(__byte_perm(bits(low), bits(high), 0x5410), most_);
    } else {
      return __vminu2(clamp_two(code_of_value(low), code_of_value(high)), most_);
    }
  }

 private:
  static constexpr int kSign = static_cast<int>(0x80000000u);

  /// A code that need not be clamped yet.
  __device__ __forceinline__ int code_of_value(int value) const {
    if constexpr (kCodes == WideCodes::kSplit) {
      return __float2int_rn(__int_as_float(value));
    } else if constexpr (kCodes == WideCodes::kDouble) {
      // 2^52 + 2^31 + sum is a double's bits, and 1.5 x 2^52 + code another's.
      const double exact = __hiloint2double(0x43300000, value) - 4503601774854144.0;
      return __double2loint(
          fma(exact, general_.wide.scale, general_.wide.base + 6755399441055744.0));
    } else {
      return code_of(value, general_);
    }
  }

  /// sum += digit `d` of the weights times byte `b` of each component's samples.
  template <int kParts, int kWords, int kSums>
  __device__ __forceinline__ void add(int d, const unsigned (&words)[kParts][kGroups][kWords],
                                      int b, int (&sum)[kParts / 2][kSums][4]) const {
    if constexpr (kOne) {
      add(only_, words, b, sum);
    } else {
      uint4 weights[Window::kFragments];
      const uint4* const from = weights_ + 32 * Window::kFragments * (digits_ - 1 - d);
#pragma unroll
      for (int i = 0; i < Window::kFragments; ++i)
        weights[i] = from[32 * i];
      add(weights, words, b, sum);
    }
  }

  template <int kParts, int kWords, int kSums>
  static __device__ __forceinline__ void add(const uint4 (&weights)[Window::kFragments],
                                             const unsigned (&words)[kParts][kGroups][kWords],
                                             int b, int (&sum)[kParts / 2][kSums][4]) {
#pragma unroll
    for (int c = 0; c < kParts / 2; ++c)
      Window::add(weights, words[2 * c + b], sum[c]);
  }

  /// Calls work(sum, k), of element k of a product.
  template <int kComponents, int kSums, class Work>
  static __device__ __forceinline__ void each(int (&sum)[kComponents][kSums][4], const Work& work) {
#pragma unroll
    for (auto& component : sum)
#pragma unroll
      for (auto& product : component)
#pragma unroll
        for (int k = 0; k < 4; ++k)
          work(product[k], k);
  }

  const Epilogue& general_;
  const uint4* weights_;
  uint4 only_[Window::kFragments];
  int digits_;
  int start_[4];
  float scale_, base_;
  unsigned most_;
};

}  // namespace
}  // namespace convolve
