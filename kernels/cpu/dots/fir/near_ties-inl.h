// SPDX-License-Identifier: LGPL-2.1-or-later
// Codes of approximate sums (core/weights/approximate_fir.h), and of exact ones where those are
// near a tie.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_NEAR_TIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_NEAR_TIES_INL_H_
#undef CONVOLVE_NEAR_TIES_INL_H_
#else
#define CONVOLVE_NEAR_TIES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/core/weights/approximate_fir.h"
#include "kernels/cpu/bytes/byte_task.h"
#include "kernels/cpu/dots/dot_taps.h"
#include "kernels/cpu/dots/dot_tile-inl.h"
#include "kernels/cpu/dots/fir/fast_fir.h"
#include "kernels/cpu/dots/pair_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if CONVOLVE_DOT_PAIRS

/// How the sums of a part become codes, from the lines of its source.
class NearTies {
 public:
  /// `lines`: those of the source from the first that a block's first output row reads.
  NearTies(const DotTaps& taps, const DigitEpilogue& exact, const std::uint8_t* const* lines)
      : taps_(taps),
        exact_(exact.general),
        start_(offset_of_sums(exact)),
        approximate_(make_approximate_epilogue(exact, taps.magnitude(), *taps.fir().approximate())),
        lines_(lines) {}

  /// The codes nearest to the values of `sums`. The lowest bits of `near_tie` say which lanes
  /// are near a tie.
  HWY_INLINE hn::Vec<Words> nearest_codes(hn::Vec<Words> sums, std::uint32_t& near_tie) const {
    const hn::Repartition<float, Words> d;
    const auto most = hn::Set(d, static_cast<float>(exact_.max_code));
    auto value = hn::MulAdd(hn::ConvertTo(d, sums), hn::Set(d, approximate_.scale),
                            hn::Set(d, approximate_.base));
    value = hn::Min(hn::Max(value, hn::Zero(d)), most);
    const auto codes = hn::NearestInt(value);
    const auto distance = hn::Abs(hn::Sub(value, hn::ConvertTo(d, codes)));
    std::uint8_t bits[2] = {};
    hn::StoreMaskBits(d, hn::Ge(distance, hn::Set(d, 0.5F - approximate_.error)), bits);
    near_tie = bits[0] | static_cast<std::uint32_t>(bits[1]) << 8;
    return codes;
  }

  /// The code of output row `row`, column `x`, whose approximate sum is `sum`.
  HWY_NOINLINE std::uint8_t exact_code(int row, int x, std::int32_t sum) const {
    const Pairs d;
    const FastFir& fir = taps_.fir();
    const ApproximateWeights& approximate = *fir.approximate();
    const int width = taps_.width(), height = taps_.height();
    const std::uint8_t* const* const lines = lines_ + row;
    // Several sums, as each addition waits for the one before it.
    constexpr int kSums = 4;
    hn::Vec<Words> sums[kSums] = {hn::Zero(Words()), hn::Zero(Words()), hn::Zero(Words()),
                                  hn::Zero(Words())};
    for (int j = 0; j < width; j += static_cast<int>(hn::Lanes(d))) {
      const std::int16_t* residuals = fir.residuals(0) + j;
      const std::ptrdiff_t step = fir.residual_step();
      const auto add = [&](int i, hn::Vec<Words> sum) HWY_ATTR {
        const auto cells = reinterpret_cast<const std::int16_t*>(lines[i]) + x + j;
        sum = add_pair_products(sum, hn::LoadU(d, cells), hn::LoadU(d, residuals));
        residuals += step;
        return sum;
      };
      int i = 0;
      for (; i + kSums <= height; i += kSums) {
        sums[0] = add(i, sums[0]);
        sums[1] = add(i + 1, sums[1]);
        sums[2] = add(i + 2, sums[2]);
        sums[3] = add(i + 3, sums[3]);
      }
      for (; i < height; ++i)
        sums[0] = add(i, sums[0]);
    }
    const auto all = hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
    const std::int32_t residual = hn::GetLane(hn::SumOfLanes(Words(), all));
    const double total =
        static_cast<double>(approximate.unit * (std::int64_t{sum} - approximate.start) + residual) +
        start_;
    return static_cast<std::uint8_t>(finish_in_width(total, exact_));
  }

 private:
  const DotTaps& taps_;
  const Epilogue& exact_;
  const double start_;
  const ApproximateEpilogue approximate_;
  const std::uint8_t* const* lines_;
};

/// The wanted lanes of a tile's sums that are near a tie, in the order of rows and of vectors.
template <class Tile>
struct NearTieBits {
  static constexpr int kLanes = static_cast<int>(hn::MaxLanes(Words()));
  static constexpr int kVectorsOfWord = 64 / kLanes;
  static constexpr int kWords = std::max(Tile::kRows * Tile::kVectors / kVectorsOfWord, 1);

  std::uint64_t words[kWords];
};

/// The column of a tile that lane `lane` of vector `k` of a row has.
HWY_INLINE int column_of(int k, int lane) {
  constexpr int kLanes = static_cast<int>(hn::MaxLanes(Words()));
  return k / 2 * 2 * kLanes + 2 * lane + k % 2;
}

/// Bits for the lanes of vector `k` of a row that have one of `count` columns.
HWY_INLINE std::uint32_t wanted_lanes(int k, int count) {
  std::uint32_t lanes = 0;
  for (int lane = 0; column_of(k, lane) < count && lane < static_cast<int>(hn::MaxLanes(Words()));
       ++lane)
    lanes |= std::uint32_t{1} << lane;
  return lanes;
}

/// Makes samples of the sums of a tile that lie in memory: the nearest codes. Returns how many are
/// near a tie, which `near_tie` says. Not inlined: see finish_stored_sums().
template <class Tile>
HWY_NOINLINE int store_nearest_codes(const typename Tile::Sums& sum, const NearTies& ties,
                                     const DotBlock& block, int x, int count,
                                     NearTieBits<Tile>& near_tie) {
  using Bits = NearTieBits<Tile>;
  constexpr int kColumns = Tile::kVectors * Bits::kLanes;
  near_tie = {};
  int n = 0;  // Vectors.
  finish_tile<Tile>(sum, block, x, count, [&](hn::Vec<Words> sums) HWY_ATTR {
    std::uint32_t bits;
    const auto codes = ties.nearest_codes(sums, bits);
    if (n / Tile::kVectors >= block.rows) bits = 0;
    if (count < kColumns) bits &= wanted_lanes(n % Tile::kVectors, count);
    near_tie.words[n / Bits::kVectorsOfWord] |= static_cast<std::uint64_t>(bits)
                                                << n % Bits::kVectorsOfWord * Bits::kLanes;
    ++n;
    return codes;
  });
  int found = 0;
  for (const std::uint64_t word : near_tie.words)
    found += static_cast<int>(hwy::PopCount(word));
  return found;
}

/// Makes the exact codes of samples that are near a tie. The tile's rows are those from `first` on,
/// `step` apart.
template <class Tile>
HWY_NOINLINE void store_exact_codes(const typename Tile::Sums& sum,
                                    const NearTieBits<Tile>& near_tie, const NearTies& ties,
                                    int first, int step, const DotBlock& block, int x) {
  using Bits = NearTieBits<Tile>;
  for (int word = 0; word < Bits::kWords; ++word)
    for (std::uint64_t bits = near_tie.words[word]; bits != 0; bits &= bits - 1) {
      const int at = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
      const int vector = word * Bits::kVectorsOfWord + at / Bits::kLanes, lane = at % Bits::kLanes;
      const int r = vector / Tile::kVectors, k = vector % Tile::kVectors;
      const int column = column_of(k, lane);
      std::int32_t sum_of_lane;
      std::memcpy(&sum_of_lane, reinterpret_cast<const std::int32_t*>(&sum[r][k]) + lane,
                  sizeof(sum_of_lane));
      block.out[r][x + column] = ties.exact_code(first + r * step, x + column, sum_of_lane);
    }
}

/// Whether the sums of all parts of `task` are approximate ones.
HWY_INLINE bool approximates(const RowTask& task, const DotTaps& taps) {
  const auto& approximate = taps.fir().approximate();
  if (!approximate) return false;
  for (int g = 0; g < task.count; ++g)
    for (int k = 0; k < task.groups[g].count; ++k) {
      const BytePart& part = task.groups[g].parts[k];
      if (part.filtered && !approximate_sums_pay(make_approximate_epilogue(
                               part.digits, taps.magnitude(), *approximate)))
        return false;
    }
  return true;
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
