// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts the global loads of a block of the book's kernels by running their loops on the host over
// a picture that counts (PMPP 7.6, Fig. 7.22).
#pragma once

#include <cstdint>

namespace convolve::testing {

struct BlockGeometry {
  int tile_width;  ///< Outputs of the block.
  int tile_height;
  int mask_width;
  int mask_height;
};

struct AccessCount {
  std::int64_t basic = 0;  ///< Loads of picture cells when every thread reads all it needs.
  std::int64_t tiled = 0;  ///< Loads when the block fills its input tile first.
  bool same_sums = false;  ///< Both walks came to the same outputs.

  double reduction() const { return static_cast<double>(basic) / static_cast<double>(tiled); }
};

/// Walks one interior block, as kernel `basic` and as kernel `tiled-output` do. Loads of the mask
/// and of shared memory do not count, as in the book.
AccessCount count_accesses(const BlockGeometry& geometry);

}  // namespace convolve::testing
