// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/tensor/tensor_fragments.h"

#include <algorithm>
#include <cstddef>

#include "kernels/core/base/round.h"
#include "kernels/cuda/device/fragments.h"
#include "kernels/cuda/tensor/tensor.h"

namespace convolve {
namespace {

/// The weight by which output byte `dx` of a column multiplies byte `b` of its windows in mask row
/// `ky`.
std::int32_t weight_at(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask,
                       const DigitWeights& weights, int left, int ky, int dx, int b) {
  // A period that does not divide the column has components of one step only, so that any phase
  // will do.
  const int step = plane.components[phases.component[dx % phases.period]].step;
  const int distance = b - left - dx;
  if (distance % step != 0) return 0;
  const int kx = mask.anchor_x + distance / step;
  if (kx < 0 || kx >= mask.width) return 0;
  return weights.values[static_cast<std::size_t>(ky) * static_cast<std::size_t>(mask.width) +
                        static_cast<std::size_t>(kx)];
}

/// The metadata of sparse products: which two of the four samples of word i of a window output c of
/// eight multiplies.
struct SparseMetadata {
  int first, second;
};
/// The samples of a word, in the order of metadata, from its first one on.
constexpr int kMetadataSamples[4] = {0, 1, 8, 9};
SparseMetadata sparse_metadata(const Mask& mask, int i, int c) {
  int read[4], count = 0;
  for (int slot = 0; slot < 4; ++slot) {
    const int kx = mask.anchor_x + 2 * i + kMetadataSamples[slot] - kOctetReach - c;
    if (kx >= 0 && kx < mask.width) read[count++] = slot;
  }
  // Metadata must ascend; where an output reads fewer than two samples, the others have weights of
  // 0 and may be any.
  if (count == 0) return {0, 1};
  if (count == 1) return read[0] < 3 ? SparseMetadata{read[0], 3} : SparseMetadata{0, 3};
  return {read[0], read[1]};
}

/// Digit `digit` of the weight (ky, kx) as a byte; 0 outside the mask.
std::uint32_t digit_at(const Mask& mask, const DigitWeights& weights, int digit, int ky, int kx) {
  if (ky < 0 || ky >= mask.height || kx < 0 || kx >= mask.width) return 0;
  const auto at = static_cast<std::size_t>(ky) * static_cast<std::size_t>(mask.width) +
                  static_cast<std::size_t>(kx);
  return static_cast<std::uint32_t>(balanced_digit(weights.values[at], digit)) & 0xFF;
}

}  // namespace

std::vector<std::uint32_t> tensor_fragments(const PlaneFormat& plane, const BytePhases& phases,
                                            const Mask& mask, const DigitWeights& weights) {
  const TensorWindow window = tensor_window(plane, phases, mask);
  std::vector<std::uint32_t> words;
  words.reserve(static_cast<std::size_t>(weights.digits * window.segments * mask.height + 1) *
                kFragmentLanes * kFragmentWords);
  for (int digit = weights.digits - 1; digit >= 0; --digit)
    for (int segment = 0; segment < window.segments; ++segment)
      for (int ky = 0; ky < mask.height; ++ky)
        for (int lane = 0; lane < kFragmentLanes; ++lane)
          for (int w = 0; w < kFragmentWords; ++w) {
            const int dx = 2 * (lane / 4) + w % 2;
            std::uint32_t word = 0;
            for (int j = 0; j < 4; ++j) {
              const int b = kWindowBytes * segment + 8 * (lane % 4) + 4 * (w / 2) + j;
              const int value = balanced_digit(
                  weight_at(plane, phases, mask, weights, window.left, ky, dx, b), digit);
              word |= static_cast<std::uint32_t>(value & 0xFF) << (8 * j);
            }
            words.push_back(word);
          }
  words.resize(words.size() + kFragmentLanes * kFragmentWords, 0);
  return words;
}

std::vector<std::uint32_t> pair_fragments(const PlaneFormat& plane, const BytePhases& phases,
                                          const Mask& mask, const DigitWeights& weights) {
  const PairWindow window = pair_window(plane, phases, mask);
  if (window.deinterleaved > 1) {
    const SingleComponentPlane lone;
    return pair_fragments(lone.plane, lone.phases, mask, weights);
  }
  const int left = kPairLeft - window.shift;
  std::vector<std::uint32_t> words;
  words.reserve(static_cast<std::size_t>(weights.digits * window.row_groups * kFragmentLanes *
                                         kFragmentWords));
  for (int digit = weights.digits - 1; digit >= 0; --digit)
    for (int step = 0; step < window.row_groups; ++step)
      for (int lane = 0; lane < kFragmentLanes; ++lane)
        for (int w = 0; w < kFragmentWords; ++w) {
          const int ky = 4 * step + lane % 4 - lane / 4;
          std::uint32_t word = 0;
          for (int j = 0; j < 4 && ky >= 0 && ky < mask.height; ++j) {
            const int value = balanced_digit(
                weight_at(plane, phases, mask, weights, left, ky, w % 2, 4 * (w / 2) + j), digit);
            word |= static_cast<std::uint32_t>(value & 0xFF) << (8 * j);
          }
          words.push_back(word);
        }
  return words;
}

std::vector<std::uint32_t> quad_fragments(const Mask& mask, const DigitWeights& weights) {
  const QuadWindow window = quad_window(mask);
  const int row_group_pairs = window.row_groups - 1;
  std::vector<std::uint32_t> words;
  words.reserve(static_cast<std::size_t>(weights.digits * window.words * row_group_pairs *
                                         kFragmentLanes * kFragmentWords));
  for (int digit = weights.digits - 1; digit >= 0; --digit)
    for (int m = 0; m < window.words; ++m)
      for (int row_group = 0; row_group < row_group_pairs; ++row_group)
        for (int lane = 0; lane < kFragmentLanes; ++lane)
          for (int w = 0; w < kFragmentWords; ++w) {
            const int ky = 4 * (row_group + w / 2) + lane % 4 - lane / 4 % 4;
            const int dx = 2 * (lane / 16) + w % 2;
            std::uint32_t word = 0;
            for (int j = 0; j < 4; ++j) {
              const int kx = mask.anchor_x + 4 * m + j - window.reach() - dx;
              word |= digit_at(mask, weights, digit, ky, kx) << (8 * j);
            }
            words.push_back(word);
          }
  return words;
}

std::vector<std::uint32_t> octet_fragments(const OctetWindow& window, const Mask& mask,
                                           const DigitWeights& weights) {
  const int halves = window.sparse ? 1 : 2;
  std::vector<std::uint32_t> words;
  words.reserve(static_cast<std::size_t>(
      (kMostDigits * window.product_row_groups * halves * kFragmentWords + 1) * kFragmentLanes));
  // Metadata of operand A's row c, and of row c + 8, which is the other output row and has the
  // same: lanes 4 c and 4 c + 1 hold those of words 0 and 1 of the window, lanes 4 c + 2 and 4 c +
  // 3 those of words 2 and 3, four bits for each of four picture rows.
  for (int lane = 0; window.sparse && lane < kFragmentLanes; ++lane) {
    std::uint32_t bits = 0;
    for (int n = 0; n < 8; ++n) {
      const SparseMetadata metadata = sparse_metadata(mask, 2 * (lane % 4 / 2) + n / 4, lane / 4);
      bits |= static_cast<std::uint32_t>(metadata.first | metadata.second << 2) << (4 * n);
    }
    words.push_back(bits);
  }
  for (int digit = 0; digit < kMostDigits; ++digit)
    for (int row_group = 0; row_group < window.product_row_groups; ++row_group)
      for (int half = 0; half < halves; ++half)
        for (int lane = 0; lane < kFragmentLanes; ++lane)
          for (int w = 0; w < kFragmentWords; ++w) {
            const int c = lane / 4;
            std::uint32_t word = 0;
            for (int j = 0; digit < weights.digits && j < 4; ++j) {
              int row = lane % 4, x = 8 * half + 4 * (w / 2) + j;
              if (window.sparse) {
                // A fragment has two weights of each four positions.
                const int four = 8 * (w / 2) + 2 * (lane % 4) + j / 2, i = four / 4;
                const SparseMetadata metadata = sparse_metadata(mask, i, c);
                row = four % 4;
                x = 2 * i + kMetadataSamples[j % 2 == 0 ? metadata.first : metadata.second];
              }
              const int ky = 4 * row_group + row - w % 2, kx = mask.anchor_x + x - kOctetReach - c;
              word |= digit_at(mask, weights, digit, ky, kx) << (8 * j);
            }
            words.push_back(word);
          }
  return words;
}

std::vector<std::uint32_t> tile_fragments(const Mask& mask, const DigitWeights& weights) {
  const TileWindow window = tile_window(mask);
  const int samples = kWindowBytes / window.window_rows;
  std::vector<std::uint32_t> words;
  words.reserve(
      static_cast<std::size_t>((weights.digits * window.segments * window.windows_down + 1) *
                               kFragmentLanes * kFragmentWords));
  for (int digit = weights.digits - 1; digit >= 0; --digit)
    for (int segment = 0; segment < window.segments; ++segment)
      for (int step = 0; step < window.windows_down; ++step)
        for (int lane = 0; lane < kFragmentLanes; ++lane)
          for (int w = 0; w < kFragmentWords; ++w) {
            std::uint32_t word = 0;
            for (int j = 0; j < 4; ++j) {
              const int position = 8 * (lane % 4) + 4 * (w / 2) + j;
              const int ky = window.window_rows * step + position / samples - lane / 4;
              const int kx = mask.anchor_x + kWindowBytes * segment + position % samples -
                             (window.left - window.shift) - w % 2;
              word |= digit_at(mask, weights, digit, ky, kx) << (8 * j);
            }
            words.push_back(word);
          }
  words.resize(words.size() + kFragmentLanes * kFragmentWords, 0);
  return words;
}

std::vector<std::uint32_t> warpgroup_fragments(const Mask& mask, const DigitWeights& weights) {
  const WarpgroupWindow window = warpgroup_window(mask);
  const int unit_pairs = divide_up(window.units, 2), rows = warpgroup_mask_rows(mask.height);
  std::vector<std::uint32_t> words;
  words.reserve(
      static_cast<std::size_t>(weights.digits * unit_pairs * rows * kWarpgroupMaskRowBytes / 4));
  for (int digit = weights.digits - 1; digit >= 0; --digit)
    for (int pair = 0; pair < unit_pairs; ++pair)
      for (int i = 0; i < rows; ++i)
        for (int at = 0; at < kWarpgroupMaskRowBytes; at += 4) {
          const int ky = mask.height + kWarpgroupOutputRows - 2 - i;
          const int dx = 2 * (at / 16 % 8) + at / 256, second = at / 128 % 2;
          std::uint32_t word = 0;
          for (int j = 0; j < 4; ++j) {
            const int sample = 2 * kWarpgroupUnit * pair + at % 16 + j;
            const int kx = mask.anchor_x + sample - window.left - dx;
            const bool paired = pair < window.unit_pairs();
            word |= digit_at(mask, weights, digit, paired ? ky : ky + second,
                             paired ? kx + kWarpgroupUnit * second : kx)
                    << (8 * j);
          }
          words.push_back(word);
        }
  return words;
}

}  // namespace convolve
