// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/access_count.h"

#include <cstddef>
#include <vector>

namespace convolve::testing {
namespace {

/// A picture without borders that knows how often it was read.
class CountingPicture {
 public:
  int load(int x, int y) {
    ++loads_;
    return (x * 7 + y * 13) & 255;
  }
  std::int64_t loads() const { return loads_; }

 private:
  std::int64_t loads_ = 0;
};

int weight(int i, int j) {
  return 1 + i * 3 + j;
}

/// Fig. 7.6 in two dimensions: each thread reads K x K cells.
std::vector<int> walk_basic(const BlockGeometry& g, CountingPicture& picture) {
  std::vector<int> sums;
  for (int y = 0; y < g.tile_height; ++y)
    for (int x = 0; x < g.tile_width; ++x) {
      int sum = 0;
      for (int i = 0; i < g.mask_height; ++i)
        for (int j = 0; j < g.mask_width; ++j)
          sum += weight(i, j) * picture.load(x + j, y + i);
      sums.push_back(sum);
    }
  return sums;
}

/// Fig. 7.11 in two dimensions: threads stride over the input tile, then compute from it.
std::vector<int> walk_tiled(const BlockGeometry& g, CountingPicture& picture) {
  const int input_width = g.tile_width + g.mask_width - 1;
  const int input_height = g.tile_height + g.mask_height - 1;
  std::vector<int> tile(static_cast<std::size_t>(input_width) * input_height);
  for (int thread_y = 0; thread_y < g.tile_height; ++thread_y)
    for (int thread_x = 0; thread_x < g.tile_width; ++thread_x)
      for (int y = thread_y; y < input_height; y += g.tile_height)
        for (int x = thread_x; x < input_width; x += g.tile_width)
          tile[static_cast<std::size_t>(y) * input_width + x] = picture.load(x, y);

  std::vector<int> sums;
  for (int y = 0; y < g.tile_height; ++y)
    for (int x = 0; x < g.tile_width; ++x) {
      int sum = 0;
      for (int i = 0; i < g.mask_height; ++i)
        for (int j = 0; j < g.mask_width; ++j)
          sum += weight(i, j) * tile[static_cast<std::size_t>(y + i) * input_width + x + j];
      sums.push_back(sum);
    }
  return sums;
}

}  // namespace

AccessCount count_accesses(const BlockGeometry& geometry) {
  CountingPicture basic;
  CountingPicture tiled;
  AccessCount count;
  count.same_sums = walk_basic(geometry, basic) == walk_tiled(geometry, tiled);
  count.basic = basic.loads();
  count.tiled = tiled.loads();
  return count;
}

}  // namespace convolve::testing
