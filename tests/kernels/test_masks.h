// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks for tests: random ones that do not saturate, and hostile ones.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/core/mask/mask.h"

namespace convolve::testing {

/// Random numbers that are the same on every machine (SplitMix64).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t bits() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// low .. high, both included.
  int integer(int low, int high) {
    return low + static_cast<int>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(bits() >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_;
};

struct TestMask {
  std::string name;
  Mask mask;
};
using TestMaskPtr = std::shared_ptr<const TestMask>;

enum class Weights : int { kRational, kReal };

/// Random weights of both signs with a gain near 1: integers over an even divisor, or doubles that
/// no small ratio stands for. A pure function of its arguments.
TestMaskPtr random_mask(int width, int height, Weights weights);

/// The same as a column times a row.
TestMaskPtr random_rank1_mask(int width, int height, Weights weights);

/// A smooth bell of rank 1, leaning to the left and the top, with weights of both signs.
TestMaskPtr skewed_mask(int width, int height);

/// All weights equal: 1 over their number, or an irrational share of that.
TestMaskPtr box_mask(int width, int height, Weights weights);

/// One tap of `weight` at (x, y), the others 0.
TestMaskPtr tap_mask(int width, int height, int x, int y, double weight, double divisor = 1);

/// `weights` row-major over `divisor`; the default anchor.
TestMaskPtr typed_mask(std::string name, int width, int height, std::vector<double> weights,
                       double divisor = 1);

/// Random integers from -`largest` / 2 to `largest` over their sum: its gain is 1.
TestMaskPtr unit_gain_mask(int width, int height, int largest);

/// `mask` with its anchor elsewhere.
TestMaskPtr anchored(const TestMaskPtr& mask, int anchor_x, int anchor_y);

/// The mask that `text` means in the grammar.
TestMaskPtr parsed_mask(const std::string& text);

}  // namespace convolve::testing
