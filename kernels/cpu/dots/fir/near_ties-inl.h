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
#include "kernels/cpu/dots/dot_taps.h"
#include "kernels/cpu/dots/dot_tile-inl.h"
#include "kernels/cpu/dots/fir/fast_fir.h"
#include "kernels/cpu/dots/fir/residual_sum-inl.h"
#include "kernels/cpu/dots/pair_sums-inl.h"
#include "kernels/cpu/finish_line-inl.h"
#include "kernels/cpu/rows/row_task.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if CONVOLVE_DOT_PAIRS

/// How the sums of a part become codes, from the lines of its source.
class NearTies {
 public:
  /// `bytes`: lines of the source from the first that a block's first output row reads.
  NearTies(const DotTaps& taps, const DigitEpilogue& exact, const std::uint8_t* const* bytes)
      : taps_(taps),
        exact_(exact.general),
        start_(offset_of_sums(exact)),
        approximate_(make_approximate_epilogue(exact, taps.magnitude(), *taps.fir().approximate())),
        bytes_(bytes) {}

  const ApproximateEpilogue& approximate() const { return approximate_; }

  /// The exact sum for output row `row`, column `x`, whose approximate sum is `sum`.
  HWY_INLINE double exact_sum(int row, int x, std::int32_t sum) const {
    const ApproximateWeights& weights = *taps_.fir().approximate();
    const std::int64_t residual = residual_sum(taps_.fir().residuals(), bytes_ + row, x);
    const std::int64_t values = weights.unit * (std::int64_t{sum} - weights.start);
    return static_cast<double>(values + residual) + start_;
  }

  const Epilogue& exact() const { return exact_; }

 private:
  const DotTaps& taps_;
  const Epilogue& exact_;
  const double start_;
  const ApproximateEpilogue approximate_;
  const std::uint8_t* const* bytes_;
};

/// Makes the codes of exact sums: of many at a time, as each takes a fraction of what it takes
/// alone.
class ExactCodes {
 public:
  ExactCodes(const ComponentTask& task, const NearTies& ties) : task_(task), ties_(ties) {}

  /// Makes the exact sum for output row `row`, column `x`, whose approximate sum is `sum`. Its code
  /// goes to `to`, with this call or a later one.
  HWY_NOINLINE void add(int row, int x, std::int32_t sum, std::uint8_t* to) {
    if (count_ == kMost) store();
    sums_[count_] = ties_.exact_sum(row, x, sum);
    to_[count_++] = to;
  }

  /// Stores the codes that are still to be made.
  HWY_NOINLINE void store() {
    const Epilogue& e = ties_.exact();
    std::uint8_t codes[kMost];
    if (e.in_float) {
      for (int i = 0; i < count_; ++i)
        codes[i] = static_cast<std::uint8_t>(finish_in_width(sums_[i], e));
    } else {
      store_samples<double, double, std::uint8_t>(task_, e.wide, task_.reciprocals.wide, sums_,
                                                  count_, codes);
    }
    for (int i = 0; i < count_; ++i)
      *to_[i] = codes[i];
    count_ = 0;
  }

 private:
  static constexpr int kMost = 64;

  const ComponentTask& task_;
  const NearTies& ties_;
  int count_ = 0;
  double sums_[kMost] = {};
  std::uint8_t* to_[kMost];
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

/// Forgets the lanes that nobody wants: those of rows from `rows` on, and of columns from `count`.
template <class Tile>
HWY_NOINLINE void keep_wanted(int rows, int count, NearTieBits<Tile>& near_tie) {
  using Bits = NearTieBits<Tile>;
  for (int n = 0; n < Tile::kRows * Tile::kVectors; ++n) {
    const std::uint64_t lanes =
        n / Tile::kVectors < rows ? wanted_lanes(n % Tile::kVectors, count) : 0;
    const int shift = n % Bits::kVectorsOfWord * Bits::kLanes;
    const std::uint64_t all = (std::uint64_t{1} << Bits::kLanes) - 1;
    near_tie.words[n / Bits::kVectorsOfWord] &= ~(all << shift) | lanes << shift;
  }
}

/// Makes samples of the sums of a tile that lie in memory: the nearest codes. Returns how many are
/// near a tie, which `near_tie` says. Not inlined: see finish_stored_sums().
template <class Tile>
HWY_NOINLINE int store_nearest_codes(const typename Tile::Sums& sum, const NearTies& ties,
                                     const DotBlock& block, int x, int count,
                                     NearTieBits<Tile>& near_tie) {
  using Bits = NearTieBits<Tile>;
  const hn::Repartition<float, Words> d;
  // Copies, which the compiler need not load again after each store of bytes.
  const auto scale = hn::Set(d, ties.approximate().scale);
  const auto base = hn::Set(d, ties.approximate().base);
  const auto near = hn::Set(d, 0.5F - ties.approximate().error);
  const auto most = hn::Set(d, static_cast<float>(ties.exact().max_code));
  const auto rounding = hn::Set(d, kRounding<float>);
  std::uint64_t words[Bits::kWords] = {};
  int n = 0;  // Vectors.
  finish_tile<Tile>(
      sum, block, x, count, [&, scale, base, near, most, rounding](hn::Vec<Words> sums) HWY_ATTR {
        const auto value =
            hn::Min(hn::Max(hn::MulAdd(hn::ConvertTo(d, sums), scale, base), hn::Zero(d)), most);
        const auto rounded = hn::Add(value, rounding);
        const auto distance = hn::Abs(hn::Sub(value, hn::Sub(rounded, rounding)));
        std::uint8_t bits[2] = {};
        hn::StoreMaskBits(d, hn::Ge(distance, near), bits);
        words[n / Bits::kVectorsOfWord] |= static_cast<std::uint64_t>(bits[0] | bits[1] << 8)
                                           << n % Bits::kVectorsOfWord * Bits::kLanes;
        ++n;
        return hn::Sub(hn::BitCast(Words(), rounded), hn::BitCast(Words(), rounding));
      });
  std::copy_n(words, Bits::kWords, near_tie.words);
  if (block.rows < Tile::kRows || count < Tile::kVectors * Bits::kLanes)
    keep_wanted<Tile>(block.rows, count, near_tie);
  int found = 0;
  for (const std::uint64_t word : near_tie.words)
    found += static_cast<int>(hwy::PopCount(word));
  return found;
}

/// Adds the samples that are near a tie to `exact`. The tile's rows are those from `first` on,
/// `step` apart.
template <class Tile>
HWY_NOINLINE void add_exact_codes(const typename Tile::Sums& sum, const NearTieBits<Tile>& near_tie,
                                  ExactCodes& exact, int first, int step, const DotBlock& block,
                                  int x) {
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
      exact.add(first + r * step, x + column, sum_of_lane, block.out[r] + x + column);
    }
}

/// Whether the sums of all parts of `task` are approximate ones.
HWY_INLINE bool approximates(const RowTask& task, const DotTaps& taps) {
  const auto& approximate = taps.fir().approximate();
  if (!approximate) return false;
  for (int g = 0; g < task.count; ++g)
    for (int k = 0; k < task.groups[g].count; ++k) {
      const GroupPart& part = task.groups[g].parts[k];
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
