// SPDX-License-Identifier: LGPL-2.1-or-later
// Which arithmetic a mask needs: the two classes of the contract, accumulators with proven bounds,
// and the epilogue of each component.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/core/base/epilogue.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"

namespace convolve {

/// What a kernel adds products up in. Ordered from cheap to wide.
enum class Accumulator : int {
  kFloat32,  ///< Weights float. Rational: every partial sum is an integer below 2^24, so exact.
  kInt32,    ///< Weights int32, rational masks only: every partial sum is below 2^31.
  kFloat64,  ///< Weights double. Exact for every rational mask (below 2^52 by definition).
  kWide,     ///< Weights in kWideLimbs digits of kWideLimbBits bits, summed in int64 each.
};

inline constexpr int kAccumulatorCount = 4;
const char* accumulator_name(Accumulator accumulator);

/// kWide: weight = sum over l of limb[l] * 2^(kWideLimbBits * l) * 2^-exponent, |limb| < 2^30.
/// 180 bits hold any mask of the grammar to a quarter code: 2^126 (weights to 1e38) x 2^10 (scale)
/// x 2^16 (taps) x 2^16 (codes) x 2^3. Sums of 65025 taps x 16 bits x 30 bits stay below 2^62.
inline constexpr int kWideLimbs = 6;
inline constexpr int kWideLimbBits = 30;
struct WideWeight {
  std::int32_t limb[kWideLimbs];
};
struct WideSum {
  std::int64_t limb[kWideLimbs];
};

/// The `exponent` for `mask`: its largest weight uses all the bits.
int wide_exponent(const Mask& mask);

/// The sum as a double, rounded once: carries go up first, so nothing cancels after rounding.
CONVOLVE_HD inline double wide_value(WideSum sum) {
  for (int l = 0; l + 1 < kWideLimbs; ++l) {
    const std::int64_t carry = sum.limb[l] >> kWideLimbBits;  // floor
    sum.limb[l] -= carry * (std::int64_t{1} << kWideLimbBits);
    sum.limb[l + 1] += carry;
  }
  double value = 0;
  for (int l = kWideLimbs - 1; l >= 0; --l)
    value = value * static_cast<double>(std::int64_t{1} << kWideLimbBits) +
            static_cast<double>(sum.limb[l]);
  return value;
}

/// The whole factor from the mask's integers to codes, or nothing if scale or the product is no
/// ratio.
std::optional<Ratio> total_gain(const Mask& mask, double scale);

/// How weights are added up.
enum class Passes : int {
  kDirect,     ///< One pass over all taps.
  kRowColumn,  ///< A row pass and a column pass.
  kFolded,  ///< The same, where a factor that is_symmetric() is folded: taps at the same distance
            ///< from its middle share a product of the sum of their cells, and these products
            ///< are added from the ends to the middle.
};

/// True if tap i of a factor is as tap i from its end.
template <class Weight>
bool is_symmetric(const std::vector<Weight>& factor) {
  return std::equal(factor.begin(), factor.begin() + factor.size() / 2, factor.rbegin());
}

/// True if mask and scale fold into integers n over one divisor D with D < 2^31 and
/// max_code * (sum|n| + 2 D) < 2^52: then every kernel gives the same bits.
bool is_rational(const Mask& mask, double scale, int max_code);
/// The same for all filtered components of `format`.
bool is_rational(const FrameFormat& format, const Mask& mask, double scale);

/// Half-width of the zone around a rounding boundary in which a real mask may give the neighbour,
/// in codes: 2^-6 * max(1, g) * max(1, 2^(depth - 13)), g = |scale| * sum|w|.
double zone(const Mask& mask, double scale, int depth);

/// The cheapest accumulator whose bound keeps the contract for every filtered component of
/// `format`. `with_int32`: the backend has integer kernels. kUnsupported only where
/// there are two passes: the mask is not of rank 1, or its factors miss the zone. A one-dimensional
/// mask needs none: there kWide stands for a single pass with the mask's own weights.
Result<Accumulator> choose_accumulator(const FrameFormat& format, const Mask& mask, double scale,
                                       double bias, Passes passes, bool with_int32);

/// True if weights encoded for (`rational`, `accumulator`) keep the contract with this scale and
/// bias too: what a running plan asks before each frame.
bool accumulator_serves(const FrameFormat& format, const Mask& mask, double scale, double bias,
                        Passes passes, bool rational, Accumulator accumulator);

/// The epilogue of `component` for sums made with `accumulator` in `passes`.
/// With kWide the sum counts units of 2^-wide_exponent, which the epilogue takes back.
Epilogue make_epilogue(const Component& component, const Mask& mask, double scale, double bias,
                       bool rational, Accumulator accumulator, Passes passes);

/// rint(bias * n), 0 for chroma and alpha: `B` of the arithmetic.
int bias_code(const Component& component, double bias);

/// True if filtering leaves every component of `format` as it is.
bool is_passthrough(const FrameFormat& format, const Mask& mask, double scale, double bias);

/// The weights in the form that kernels with `accumulator` read, row-major, height * width values
/// of float, int32, double or WideWeight. `rational` as is_rational says.
std::vector<std::byte> encode_weights(const Mask& mask, Accumulator accumulator, bool rational);

/// The factors likewise: `width` values of the row, then `height` values of the column.
/// Never kWide.
std::vector<std::byte> encode_factors(const Mask& mask, Accumulator accumulator, bool rational);

/// Bytes of one encoded weight.
std::size_t weight_bytes(Accumulator accumulator);

}  // namespace convolve
