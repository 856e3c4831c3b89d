// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/size_scenes.h"

#include <string>
#include <utility>

namespace convolve::testing {
namespace {

/// Integers up to `most` in magnitude, without symmetry. What comes of noise is noise, as the
/// divisor is near the root of the sum of their squares: odd, or the next power of two.
TestMaskPtr lively_mask(int width, int height, int most, bool power_of_two) {
  Random random(static_cast<std::uint64_t>(width * 1000 + height));
  std::vector<double> weights;
  double squares = 0;
  for (int k = 0; k < width * height; ++k) {
    weights.push_back(random.integer(-most, most));
    squares += weights.back() * weights.back();
  }
  double divisor = 1;
  while (divisor * divisor < squares)
    divisor = power_of_two ? 2 * divisor : divisor + 2;
  return typed_mask(
      "lively-" + std::to_string(width) + "x" + std::to_string(height) + "-" + std::to_string(most),
      width, height, std::move(weights), divisor);
}

/// A column of numbers up to `column_most` times a row of numbers up to `row_most`, all positive.
TestMaskPtr rank1_mask(int width, int height, int row_most, int column_most) {
  Random random(static_cast<std::uint64_t>(width * 1000 + height));
  std::vector<double> row, weights;
  for (int x = 0; x < width; ++x)
    row.push_back(random.integer(0, row_most));
  row.front() = row.back() = row_most;
  double sum = 0;
  for (int y = 0; y < height; ++y) {
    const int factor = y == 0 || y == height - 1 ? column_most : random.integer(0, column_most);
    for (const double x : row) {
      weights.push_back(factor * x);
      sum += factor * x;
    }
  }
  return typed_mask("rank1-" + std::to_string(width) + "x" + std::to_string(height), width, height,
                    std::move(weights), sum);
}

class SceneList {
 public:
  SizeScene& add(TestMaskPtr mask, const std::vector<std::string>& formats,
                 const std::vector<std::string>& ways) {
    SizeScene scene;
    scene.mask = std::move(mask);
    for (const std::string& name : formats)
      scene.formats.push_back(named_format(name));
    scene.ways = ways_of(ways);
    scenes_.push_back(std::move(scene));
    return scenes_.back();
  }

  std::vector<SizeScene> take() { return std::move(scenes_); }

 private:
  std::vector<SizeScene> scenes_;
};

void add_tensor(SceneList& list) {
  list.add(anchored(lively_mask(5, 5, 9, true), 1, 3), {"I420", "NV12", "YUY2", "RGBA", "P010"},
           {"tensor-"})
      .bias = 0.5;
  list.add(lively_mask(3, 3, 9, false), {"YUY2", "BGR", "xRGB"},
           {"tensor-sliding", "tensor-p", "tensor-warpgroups"})
      .bias = 0.5;
  list.add(lively_mask(5, 5, 9, false), {"UYVY", "BGR", "xRGB"},
           {"tensor-pixel-", "tensor-packed-"})
      .bias = 0.5;
  // Sums of more than one digit; and masks that reach into several windows, with odd and even ends.
  list.add(lively_mask(9, 9, 300, false), {"NV12", "RGBA", "UYVY", "GRAY16"},
           {"tensor-quads", "tensor-pixel-quads", "tensor-packed-quads", "tensor-tiles",
            "tensor-warpgroups", "tensor-octets"})
      .bias = 0.5;
  list.add(anchored(lively_mask(13, 13, 9, false), 4, 9), {"GRAY8", "I420"}, {"tensor-"}).bias =
      0.5;
  list.add(lively_mask(13, 13, 9, true), {"P010", "YUY2"}, {"tensor-tiles", "tensor-warpgroups"})
      .bias = 0.5;
  list.add(lively_mask(31, 30, 9, true), {"GRAY8", "YUY2", "P010"},
           {"tensor-columns", "tensor-tiles", "tensor-warpgroups"})
      .bias = 0.5;
  list.add(random_mask(5, 5, Weights::kReal), {"GRAY16", "Y444_16"}, {"tensor-split-"});
}

void add_box_and_separable(SceneList& list) {
  list.add(box_mask(9, 6, Weights::kRational), {"GRAY8", "I420", "NV12", "AV12"},
           {"box-strips", "box-bands"});
  list.add(anchored(box_mask(71, 33, Weights::kRational), 20, 32), {"GRAY8", "I420"},
           {"box-strips", "box-bands"});
  list.add(box_mask(9, 6, Weights::kRational), {"I420", "BGR", "P010"}, {"box-runs"});
  list.add(box_mask(40, 70, Weights::kRational), {"NV12", "RGBA"}, {"box-runs"});
  list.add(rank1_mask(9, 8, 7, 5), {"I420", "RGBA"},
           {"separable-tensor-fused", "separable-two-pass", "separable-areas"});
  list.add(parsed_mask("gaussian:1.3"), {"I420", "RGBA"}, {"separable-dots"});
  list.add(parsed_mask("gaussian:2,4"), {"YUY2", "NV12"}, {"separable-dots"});
  list.add(rank1_mask(101, 80, 1, 3), {"GRAY8", "NV12"}, {"separable-tensor-two-pass"});
  list.add(rank1_mask(9, 8, 7, 5), {"P010", "GRAY16"}, {"separable-fused"});
  list.add(rank1_mask(125, 201, 1, 3), {"P010", "GRAY16"},
           {"separable-two-pass", "separable-areas"});
  list.add(typed_mask("huge-2x1", 2, 1, {1e38, -1e38}), {"GRAY8", "P010"}, {"separable-one-pass"});
  list.add(parsed_mask("gaussian:25"), {"GRAY8", "NV12"}, {"separable-spline"});
}

void add_others(SceneList& list) {
  list.add(lively_mask(5, 5, 9, false), {"BGR", "GRAY16"},
           {"basic", "constant", "tiled-", "cached-", "coarsened-float32"})
      .bias = 0.5;
  list.add(lively_mask(7, 6, 9000, false), {"NV12", "UYVY"}, {"coarsened-int32"}).bias = 0.5;
  list.add(lively_mask(7, 6, 900000, false), {"NV12", "RGBA64"}, {"coarsened-float64"}).bias = 0.5;
  list.add(lively_mask(7, 6, 900000, false), {"NV12", "RGBA"}, {"coarsened-dots"}).bias = 0.5;
  // One digit and two, quads that end in zeros and do not, in every way that components lie.
  list.add(anchored(lively_mask(5, 4, 9, false), 1, 3), {"GRAY8", "NV12", "YUY2", "BGR"},
           {"coarsened-dots"})
      .bias = 0.5;
  list.add(lively_mask(8, 9, 300, true), {"I420", "RGBA", "UYVY", "xRGB"}, {"coarsened-dots"})
      .bias = 0.5;
  // Codes of two bytes, whose sums fit 32 bits and do not.
  list.add(anchored(lively_mask(5, 4, 9, false), 1, 3), {"GRAY16", "P010", "RGBA64"},
           {"coarsened-dots"})
      .bias = 0.5;
  list.add(lively_mask(8, 9, 300, true), {"P010", "GRAY16", "Y210"}, {"coarsened-dots"}).bias = 0.5;
  list.add(lively_mask(7, 6, 90000, false), {"GRAY16", "RGBA64"}, {"coarsened-dots"}).bias = 0.5;
  // Weights that cancel but for a little.
  std::vector<double> huge(35, 1.3e13);
  for (std::size_t k = 1; k < huge.size(); k += 2)
    huge[k] = -1.3e13;
  huge[34] = 0.7;
  list.add(typed_mask("huge-7x5", 7, 5, std::move(huge)), {"I420", "GRAY16"}, {"coarsened-wide"});
  list.add(tap_mask(9, 5, 8, 4, 1), {"I420", "YUY2"}, {"shift"});
  list.add(tap_mask(6, 7, 0, 1, 3, 4), {"RGBA", "P010"}, {"shift"});
  list.add(random_mask(4, 5, Weights::kRational), {"RGBA", "A420_10"}, {"weighted-direct"});
  list.add(rank1_mask(31, 28, 3, 3), {"AYUV", "RGBA64"}, {"weighted-passes"});
}

}  // namespace

std::vector<SizeScene> size_scenes() {
  SceneList list;
  add_tensor(list);
  add_box_and_separable(list);
  add_others(list);
  return list.take();
}

}  // namespace convolve::testing
