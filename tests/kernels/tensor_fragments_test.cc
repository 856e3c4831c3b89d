// SPDX-License-Identifier: LGPL-2.1-or-later
// The operands that kernel tensor gives to the tensor cores, multiplied here as they would: needs
// no GPU.
#include "kernels/cuda/tensor/tensor_fragments.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/shape/tensor_warpgroups.h"
#include "kernels/core/weights/digits.h"

namespace convolve {
namespace {

struct Layout {
  const char* name;
  std::vector<std::pair<int, int>> components;  ///< Offset and step.
};

PlaneFormat plane_of(const Layout& layout) {
  PlaneFormat plane;
  for (const auto& [offset, step] : layout.components) {
    plane.components[plane.component_count].offset = offset;
    plane.components[plane.component_count++].step = step;
  }
  return plane;
}

/// Without weights: they are in digits alone.
Mask mask_of(int width, int height, int anchor) {
  Mask mask;
  mask.width = width;
  mask.height = height;
  mask.anchor_x = anchor;
  return mask;
}

DigitWeights random_weights(const Mask& mask, int digits, std::mt19937& random) {
  DigitWeights weights;
  weights.digits = digits;
  const int most = digits == 1 ? 127 : digits == 2 ? 32639 : 8355711;
  for (int i = 0; i < mask.width * mask.height; ++i)
    weights.values.push_back(std::uniform_int_distribution<std::int32_t>(-most, most)(random));
  return weights;
}

/// Element (m, k) of operand A of mma.m16n8k32, from the registers of its 32 lanes.
int element_a(const std::uint32_t* fragment, int m, int k) {
  const int lane = 4 * (m % 8) + k / 4 % 4;
  const int word = m / 8 + 2 * (k / 16);
  return static_cast<std::int8_t>(fragment[4 * lane + word] >> (8 * (k % 4)));
}

/// The byte of the window that the kernel's load puts at position k of operand B.
int window_byte(int k) {
  return 8 * (k / 4 % 4) + k % 4 + 4 * (k / 16);
}

class TensorFragments : public ::testing::TestWithParam<Layout> {};

TEST_P(TensorFragments, MultiplyToTheConvolution) {
  const PlaneFormat plane = plane_of(GetParam());
  const BytePhases phases = byte_phases(plane).value();
  std::mt19937 random(5);
  for (const int width : {1, 2, 5, 8, 31})
    for (const int anchor : {0, width / 2, width - 1})
      for (const int digits : {1, 2, 3}) {
        const Mask mask = mask_of(width, 2, anchor);
        const DigitWeights weights = random_weights(mask, digits, random);

        const TensorWindow window = tensor_window(plane, phases, mask);
        const std::vector<std::uint32_t> words = tensor_fragments(plane, phases, mask, weights);
        ASSERT_EQ(words.size(),
                  static_cast<std::size_t>(128 * (digits * window.segments * mask.height + 1)));
        // A column far from the row's ends, on a boundary that every period of it knows.
        constexpr int kColumn = 16 * 3 * 8;
        std::vector<std::uint8_t> rows[2];
        for (std::vector<std::uint8_t>& row : rows)
          for (int i = 0; i < 2 * kColumn; ++i)
            row.push_back(static_cast<std::uint8_t>(random()));

        for (int m = 0; m < kColumnBytes; ++m) {
          const int dx = m < 8 ? 2 * m : 2 * (m - 8) + 1;
          std::int64_t sum = 0;
          const std::uint32_t* fragment = words.data();
          for (int digit = 0; digit < digits; ++digit) {
            sum *= 256;
            for (int segment = 0; segment < window.segments; ++segment)
              for (const std::vector<std::uint8_t>& row : rows) {
                for (int k = 0; k < kWindowBytes; ++k)
                  sum += std::int64_t{element_a(fragment, m, k)} *
                         row[static_cast<std::size_t>(kColumn - window.left +
                                                      kWindowBytes * segment + window_byte(k))];
                fragment += 128;
              }
          }
          std::int64_t wanted = 0;
          const int step = plane.components[phases.component[dx % phases.period]].step;
          for (int y = 0; y < mask.height; ++y)
            for (int x = 0; x < width; ++x)
              wanted += std::int64_t{weights.values[static_cast<std::size_t>(y * width + x)]} *
                        rows[y][static_cast<std::size_t>(kColumn + dx + (x - anchor) * step)];
          ASSERT_EQ(sum, wanted) << width << " " << anchor << " " << digits << " byte " << dx;
        }
      }
}

TEST_P(TensorFragments, OfPairsMultiplyToTheConvolution) {
  const PlaneFormat plane = plane_of(GetParam());
  const BytePhases phases = byte_phases(plane).value();
  std::mt19937 random(6);
  int served = 0;
  for (const int width : {1, 2, 3, 4, 5, 7})
    for (const int anchor : {0, width / 2, width - 1})
      for (const int height : {1, 3, 5, 6, 9})
        for (const int digits : {1, 2}) {
          const Mask mask = mask_of(width, height, anchor);
          const PairWindow window = pair_window(plane, phases, mask);
          if (window.row_groups == 0) continue;
          ++served;
          const DigitWeights weights = random_weights(mask, digits, random);
          const std::vector<std::uint32_t> words = pair_fragments(plane, phases, mask, weights);
          ASSERT_EQ(words.size(), static_cast<std::size_t>(128 * digits * window.row_groups));
          // A byte far from the row's ends, on a boundary that every period of it knows.
          constexpr int kPair = 48;
          std::vector<std::uint8_t> rows[16];
          for (std::vector<std::uint8_t>& row : rows)
            for (int i = 0; i < 2 * kPair; ++i)
              row.push_back(static_cast<std::uint8_t>(random()));

          for (int m = 0; m < 16; ++m) {
            const int dy = m % 8, dx = m / 8;
            std::int64_t sum = 0;
            const std::uint32_t* fragment = words.data();
            for (int digit = 0; digit < digits; ++digit) {
              sum *= 256;
              for (int row_group = 0; row_group < window.row_groups; ++row_group, fragment += 128)
                for (int k = 0; k < 32; ++k)
                  sum += std::int64_t{element_a(fragment, m, k)} *
                         rows[4 * row_group + k / 4 % 4][static_cast<std::size_t>(
                             kPair - 4 + window.shift + k % 4 + 4 * (k / 16))];
            }
            std::int64_t wanted = 0;
            // Of a component that is parted from others.
            const int step = window.deinterleaved > 1
                                 ? 1
                                 : plane.components[phases.component[dx % phases.period]].step;
            for (int y = 0; y < height; ++y)
              for (int x = 0; x < width; ++x)
                wanted += std::int64_t{weights.values[static_cast<std::size_t>(y * width + x)]} *
                          rows[dy + y][static_cast<std::size_t>(kPair + dx + (x - anchor) * step)];
            ASSERT_EQ(sum, wanted)
                << width << "x" << height << " " << anchor << " " << digits << " output " << m;
          }
        }
  EXPECT_GE(served, 20);
}

TEST(TensorFragmentsOfTiles, MultiplyToTheConvolution) {
  std::mt19937 random(7);
  for (const int width : {1, 2, 6, 9, 14, 15, 16, 17, 30, 31, 32, 63, 64})
    for (const int anchor : {0, 1, width / 2, width - 1})
      for (const int digits : {1, 2}) {
        if (anchor >= width) continue;
        const Mask mask = mask_of(width, 5, anchor);
        const DigitWeights weights = random_weights(mask, digits, random);
        const TileWindow window = tile_window(mask);
        const std::vector<std::uint32_t> words = tile_fragments(mask, weights);
        ASSERT_EQ(words.size(), static_cast<std::size_t>(
                                    128 * (digits * window.segments * window.windows_down + 1)));
        constexpr int kPair = 80;
        std::vector<std::uint8_t> rows[16];
        for (std::vector<std::uint8_t>& row : rows)
          for (int i = 0; i < 3 * kPair; ++i)
            row.push_back(static_cast<std::uint8_t>(random()));

        const int samples = kTileWindowSamples / window.window_rows;
        for (int m = 0; m < 16; ++m) {
          std::int64_t sum = 0;
          const std::uint32_t* fragment = words.data();
          for (int digit = 0; digit < digits; ++digit) {
            sum *= 256;
            for (int segment = 0; segment < window.segments; ++segment)
              for (int step = 0; step < window.windows_down; ++step, fragment += 128)
                for (int k = 0; k < 32; ++k) {
                  const int position = window_byte(k);
                  const int y = window.window_rows * step + position / samples;
                  const int x =
                      kPair - window.left + window.shift + 32 * segment + position % samples;
                  sum += std::int64_t{element_a(fragment, m, k)} *
                         rows[y][static_cast<std::size_t>(x)];
                }
          }
          std::int64_t wanted = 0;
          for (int y = 0; y < mask.height; ++y)
            for (int x = 0; x < width; ++x)
              wanted += std::int64_t{weights.values[static_cast<std::size_t>(y * width + x)]} *
                        rows[m % 8 + y][static_cast<std::size_t>(kPair + m / 8 + x - anchor)];
          ASSERT_EQ(sum, wanted) << width << " " << anchor << " " << digits << " output " << m;
        }
      }
}

TEST(WarpgroupFragments, MultiplyToTheConvolution) {
  std::mt19937 random(8);
  for (const int width : {1, 2, 9, 15, 17, 31, 32, 48})
    for (const int anchor : {0, width / 2, width - 1})
      for (const int height : {1, 4, 5})
        for (const int digits : {1, 2}) {
          const Mask mask = mask_of(width, height, anchor);
          const DigitWeights weights = random_weights(mask, digits, random);
          const WarpgroupWindow window = warpgroup_window(mask);
          const std::vector<std::uint32_t> words = warpgroup_fragments(mask, weights);
          const int pairs = (window.units + 1) / 2, mask_rows = warpgroup_mask_rows(height);
          ASSERT_EQ(words.size(), static_cast<std::size_t>(digits * pairs * mask_rows *
                                                           kWarpgroupMaskRowBytes / 4));
          const auto* bytes = reinterpret_cast<const std::int8_t*>(words.data());
          constexpr int kBlock = 64;
          std::vector<std::uint8_t> rows[16];
          for (std::vector<std::uint8_t>& row : rows)
            for (int i = 0; i < 3 * kBlock; ++i)
              row.push_back(static_cast<std::uint8_t>(random()));

          // Row y of the four of a row group, output x of the sixteen of a block.
          for (int y = 0; y < kWarpgroupOutputRows; ++y)
            for (int x = 0; x < kWarpgroupUnit; ++x) {
              std::int64_t sum = 0;
              for (int digit = 0; digit < digits; ++digit) {
                sum *= 256;
                for (int pair = 0; pair < pairs; ++pair) {
                  const bool odd = pair == window.unit_pairs();
                  const int products = odd ? odd_unit_products(height) : unit_pair_products(height);
                  for (int n = 0; n < products; ++n)
                    for (int k = 0; k < 32; ++k) {
                      const int row = odd ? 2 * n : n;
                      // Core matrices follow each other in the order of the output rows.
                      const int first = (digit * pairs + pair) * mask_rows +
                                        unit_pair_products(height) - 1 - row + y;
                      const int weight = bytes[first * kWarpgroupMaskRowBytes + x % 2 * 256 +
                                               k / 16 * 128 + x / 2 * 16 + k % 16];
                      const int from_row = odd ? row + k / 16 : row;
                      const int sample = 32 * pair + (odd ? k % 16 : k);
                      sum +=
                          std::int64_t{weight} *
                          rows[from_row][static_cast<std::size_t>(kBlock - window.left + sample)];
                    }
                }
              }
              std::int64_t wanted = 0;
              for (int i = 0; i < height; ++i)
                for (int j = 0; j < width; ++j)
                  wanted += std::int64_t{weights.values[static_cast<std::size_t>(i * width + j)]} *
                            rows[y + i][static_cast<std::size_t>(kBlock + x + j - anchor)];
              ASSERT_EQ(sum, wanted) << width << "x" << height << " " << anchor << " " << digits
                                     << " output " << x << ", " << y;
            }
        }
}

INSTANTIATE_TEST_SUITE_P(Layouts, TensorFragments,
                         ::testing::Values(Layout{"grey", {{0, 1}}}, Layout{"uv", {{0, 2}, {1, 2}}},
                                           Layout{"rgb", {{0, 3}, {1, 3}, {2, 3}}},
                                           Layout{"rgba", {{0, 4}, {1, 4}, {2, 4}, {3, 4}}},
                                           Layout{"yuy2", {{0, 2}, {1, 4}, {3, 4}}}),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(QuadFragments, MultiplyToTheConvolution) {
  std::mt19937 random(8);
  for (const int width : {1, 4, 5, 8, 9, 10, 13, 17})
    for (const int anchor : {width / 2, std::max(0, width - 5), std::min(4, width - 1)})
      for (const int height : {1, 4, 7, 9, 10, 13})
        for (const int digits : {1, 2}) {
          const Mask mask = mask_of(width, height, anchor);
          const DigitWeights weights = random_weights(mask, digits, random);
          const QuadWindow window = quad_window(mask);
          if (window.row_groups == 0) continue;
          const int pairs = window.row_groups - 1;
          const std::vector<std::uint32_t> words = quad_fragments(mask, weights);
          ASSERT_EQ(words.size(), static_cast<std::size_t>(128 * digits * pairs * window.words));
          // Groups of rows, which four output rows see from sample reach() on.
          std::uint8_t rows[4 * kLargeQuadWindow.row_groups][4 * kLargeQuadWindow.words];
          for (auto& row : rows)
            for (std::uint8_t& sample : row)
              sample = static_cast<std::uint8_t>(random());
          for (int m = 0; m < 16; ++m) {
            const int dy = m % 4, dx = 2 * (m / 4 % 2) + m / 8;
            std::int64_t wanted = 0;
            for (int y = 0; y < height; ++y)
              for (int x = 0; x < width; ++x)
                wanted += std::int64_t{weights.values[static_cast<std::size_t>(y * width + x)]} *
                          rows[dy + y][window.reach() + dx + x - anchor];
            // Whole pairs from the first row group on and the second half of the last pair, if a
            // row group is left; and the first half of the first pair, whole ones from the second
            // row group on, and again what is left: both see all groups.
            const auto counts = [&](bool from_first, int g, int k) {
              const bool odd = window.row_groups % 2 != 0, last = g == pairs - 1;
              if (from_first) return g % 2 == 0 || (odd && last && k >= 16);
              return g % 2 != 0 || (g == 0 && k < 16) || (!odd && last && k >= 16);
            };
            for (const bool from_first : {true, false}) {
              std::int64_t sum = 0;
              for (int digit = 0; digit < digits; ++digit) {
                sum *= 256;
                for (int w = 0; w < window.words; ++w)
                  for (int g = 0; g < pairs; ++g)
                    for (int k = 0; k < 32; ++k) {
                      if (!counts(from_first, g, k)) continue;
                      const std::uint32_t* fragment =
                          words.data() + 128 * ((digit * window.words + w) * pairs + g);
                      sum += std::int64_t{element_a(fragment, m, k)} *
                             rows[4 * (g + k / 16) + k / 4 % 4][4 * w + k % 4];
                    }
              }
              ASSERT_EQ(sum, wanted)
                  << width << "x" << height << " " << anchor << " " << digits << " output " << m;
            }
          }
        }
}

/// The sum of output row m of a row group's products, whole or sparse, with the rows that they see.
/// `metadata` as octet_fragments() begins with.
using OctetRows = std::uint8_t[12][16];
std::int64_t octet_products(const OctetWindow& window, const std::uint32_t* fragment,
                            const std::uint32_t* metadata, const OctetRows& rows, int row_group,
                            int m) {
  std::int64_t sum = 0;
  if (!window.sparse) {
    for (int half = 0; half < 2; ++half)
      for (int k = 0; k < 32; ++k)
        sum += std::int64_t{element_a(fragment + 128 * half, m, k)} *
               rows[4 * row_group + k / 4 % 4][8 * half + 4 * (k / 16) + k % 4];
    return sum;
  }
  for (int four = 0; four < 16; ++four) {
    const std::uint32_t bits =
        metadata[4 * (m % 8) + m / 8 + 2 * (four / 8)] >> (4 * (four % 8)) & 0xF;
    EXPECT_LT(bits & 3, bits >> 2) << "metadata are in order";
    for (int n = 0; n < 2; ++n) {
      const int slot = static_cast<int>(bits >> (2 * n) & 3);
      sum += std::int64_t{element_a(fragment, m, 2 * four + n)} *
             rows[4 * row_group + four % 4][2 * (four / 4) + slot % 2 + 8 * (slot / 2)];
    }
  }
  return sum;
}

TEST(OctetFragments, MultiplyToTheConvolution) {
  std::mt19937 random(9);
  PlaneFormat plane;
  plane.sample_bytes = 2;
  plane.row_bytes = 128;
  plane.component_count = 1;
  plane.components[0].step = 2;
  plane.components[0].depth = 16;
  for (const bool sparse : {false, true})
    for (int width = 1; width <= 9; ++width)
      for (int anchor = std::max(0, width - 5); anchor <= std::min(4, width - 1); ++anchor)
        for (const int height : {1, 3, 4, 7, 8, 9})
          for (const int digits : {1, 3}) {
            const Mask mask = mask_of(width, height, anchor);
            const DigitWeights weights = random_weights(mask, digits, random);
            const OctetWindow window = octet_window(plane, mask, sparse);
            ASSERT_GT(window.product_row_groups, 0);
            ASSERT_EQ(window.sparse, sparse && width <= 8);
            const int products = window.product_row_groups * (window.sparse ? 1 : 2);
            const std::vector<std::uint32_t> words = octet_fragments(window, mask, weights);
            ASSERT_EQ(words.size(), static_cast<std::size_t>(128 * kMostDigits * products +
                                                             (window.sparse ? 32 : 0)));
            const std::uint32_t* const metadata = words.data();
            const std::uint32_t* const fragments = metadata + (window.sparse ? 32 : 0);
            OctetRows rows;
            for (auto& row : rows)
              for (std::uint8_t& sample : row)
                sample = static_cast<std::uint8_t>(random());
            for (int m = 0; m < 16; ++m) {
              std::int64_t wanted = 0, sum = 0;
              for (int y = 0; y < height; ++y)
                for (int x = 0; x < width; ++x)
                  wanted += std::int64_t{weights.values[static_cast<std::size_t>(y * width + x)]} *
                            rows[m / 8 + y][kOctetReach + m % 8 + x - anchor];
              for (int digit = kMostDigits - 1; digit >= 0; --digit) {
                sum *= 256;
                for (int row_group = 0; row_group < window.product_row_groups; ++row_group)
                  sum += octet_products(
                      window,
                      fragments + 128 * (digit * products +
                                         row_group * products / window.product_row_groups),
                      metadata, rows, row_group, m);
              }
              ASSERT_EQ(sum, wanted) << width << "x" << height << " " << anchor << " " << digits
                                     << " output " << m << (window.sparse ? " sparse" : "");
            }
          }
}

}  // namespace
}  // namespace convolve
