// SPDX-License-Identifier: LGPL-2.1-or-later
// Colour weighted by alpha whose sums decide nothing: every output lies between two codes and has
// sums of more digits than a double, so that each is made again without error. However large the
// mask is and however many outputs it meets, the picture comes, and ties go to even.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "tests/kernels/alpha_layouts.h"
#include "tests/kernels/compare.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/runner.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

/// A frame whose codes are functions of place, and what each output must be. Components are
/// counted without alpha.
struct Scene {
  const char* layout = "rgba64";
  int width = 1;
  int height = 1;
  double scale = 1;
  Border border = Border::kReplicate;
  std::function<int(int component, int y, int x)> code;
  std::function<int(int y, int x)> alpha;
  std::function<int(int component, int y, int x)> expected;
};

Picture picture_of(const Component& component, const std::function<int(int y, int x)>& code) {
  Picture picture{component.width, component.height, {}};
  for (int y = 0; y < component.height; ++y)
    for (int x = 0; x < component.width; ++x)
      picture.codes.push_back(code(y, x));
  return picture;
}

FrameFormat format_of(const Scene& scene) {
  for (const AlphaLayout& layout : alpha_layouts())
    if (std::string(layout.name) == scene.layout)
      return make_format(layout, scene.width, scene.height, /*filter_alpha=*/false);
  ADD_FAILURE() << "no layout " << scene.layout;
  return {};
}

/// Where the three components that are not alpha stand in the only plane.
std::vector<int> colours_of(const FrameFormat& format) {
  std::vector<int> colours;
  for (int c = 0; c < format.planes[0].component_count; ++c)
    if (format.planes[0].components[c].weightable()) colours.push_back(c);
  return colours;
}

void expect_scene(BackendKind backend, const TestMaskPtr& mask, const Scene& scene, Passes passes) {
  SCOPED_TRACE(mask->name + " on " + std::to_string(scene.width) + "x" +
               std::to_string(scene.height));
  auto device = open_device(backend, {});
  if (!device.ok() && !gpu_required()) GTEST_SKIP() << device.status().message();
  ASSERT_TRUE(device.ok()) << device.status().message();
  const FrameFormat format = format_of(scene);
  const std::vector<int> colours = colours_of(format);
  ASSERT_EQ(colours.size(), 3u);
  const int alpha = find_alpha(format)->component;
  const GuardedFrame source(format, 0, false), answer(format, 0, false);
  const Component* components = format.planes[0].components;
  using std::placeholders::_1;
  using std::placeholders::_2;
  for (int c = 0; c < 3; ++c)
    encode_component(picture_of(components[colours[c]], std::bind(scene.code, c, _1, _2)),
                     source.view(), 0, colours[c]);
  encode_component(picture_of(components[alpha], scene.alpha), source.view(), 0, alpha);

  Options options;
  options.alpha_mode = AlphaMode::kPremultiplied;
  options.scale = scene.scale;
  auto convolver = Convolver::create(format, mask->mask, options, device.value());
  ASSERT_TRUE(convolver.ok()) << convolver.status().message();
  const Plan& plan = convolver.value()->plan();
  ASSERT_TRUE(plan.rational && plan.weighted) << plan.to_string();
  EXPECT_EQ(plan.weighted->passes, passes) << plan.to_string();
  const RunArguments how{scene.scale, 0, scene.border};
  Status status = convolver.value()->run(source.view(), answer.view(), how);
  if (status.ok()) status = device.value()->finish();
  ASSERT_TRUE(status.ok()) << status.message();
  for (int c = 0; c < 3; ++c) {
    std::vector<Truth> truth;
    const auto expected = std::bind(scene.expected, c, _1, _2);
    for (const int code : picture_of(components[colours[c]], expected).codes)
      truth.push_back({static_cast<std::uint16_t>(code)});
    const Comparison result = compare_component(answer.view(), 0, colours[c], truth);
    EXPECT_EQ(result.wrong, 0) << result.first_wrong;
  }
}

/// Three flat colours of odd codes, of which half the scale makes ties.
void expect_halves(BackendKind backend, const TestMaskPtr& mask, int width, int height,
                   Passes passes = Passes::kRowColumn) {
  static const int kCodes[] = {1001, 1003, 60001};
  Scene scene;
  scene.width = width;
  scene.height = height;
  scene.scale = 0.5;
  scene.code = [](int c, int, int) { return kCodes[c]; };
  scene.alpha = [](int y, int x) { return 1 + (y * 7919 + x * 104729) % 65535; };
  scene.expected = [](int c, int, int) {
    return static_cast<int>(std::nearbyint(0.5 * kCodes[c]));
  };
  expect_scene(backend, mask, scene, passes);
}

/// A mask whose weights along one axis count 1, 3, 1, 3..., times others that are large enough for
/// sums of more digits than a double. Of rank 1, or with factors that differ from pair to pair.
TestMaskPtr pairs(int width, int height, bool along_rows, bool rank1) {
  std::vector<double> weights;
  double sum = 0;
  for (int i = 0; i < height; ++i)
    for (int j = 0; j < width; ++j) {
      const int along = along_rows ? j : i, across = along_rows ? i : j;
      const int factor = 50021 + 97 * across + (rank1 ? 0 : 13 * (along / 2) * (across % 5));
      weights.push_back(factor * (along % 2 == 0 ? 1 : 3));
      sum += weights.back();
    }
  return typed_mask(std::string(along_rows ? "pairs along rows " : "pairs along columns ") +
                        std::to_string(width) + "x" + std::to_string(height),
                    width, height, std::move(weights), sum);
}

/// Two colours that alternate along that axis, so that each output is the mean (a + 3 b) / 4 or
/// (3 a + b) / 4, both ties. A row or column of cells that is lost or taken twice moves it, as does
/// an output one place off.
void expect_means(BackendKind backend, int width, int height, bool along_rows, bool rank1) {
  static const int kEven[] = {1001, 30005, 65001}, kOdd[] = {60003, 30007, 7};
  const TestMaskPtr mask = pairs(width, height, along_rows, rank1);
  const int anchor = along_rows ? width / 2 : height / 2;
  const auto along = [along_rows](int y, int x) { return along_rows ? x : y; };
  Scene scene;
  scene.width = 46;
  scene.height = 38;
  scene.border = Border::kWrap;
  scene.code = [along](int c, int y, int x) { return along(y, x) % 2 == 0 ? kEven[c] : kOdd[c]; };
  scene.alpha = [along_rows](int y, int x) { return 20000 + 7919 * (along_rows ? y : x) % 40000; };
  scene.expected = [along, anchor](int c, int y, int x) {
    const bool even = (along(y, x) + anchor) % 2 == 0;
    const int once = even ? kEven[c] : kOdd[c], thrice = even ? kOdd[c] : kEven[c];
    return static_cast<int>(std::nearbyint((once + 3.0 * thrice) / 4));
  };
  expect_scene(backend, mask, scene, rank1 ? Passes::kRowColumn : Passes::kDirect);
}

class Decisions : public ::testing::TestWithParam<BackendKind> {};

TEST_P(Decisions, UnderHugeMasks) {
  expect_halves(GetParam(), parsed_mask("box:3683"), 2, 1);
  // A CPU takes some 70 us for each of these outputs.
  const bool cuda = GetParam() == BackendKind::kCuda;
  expect_halves(GetParam(), parsed_mask("box:3683"), cuda ? 640 : 41, cuda ? 480 : 31);
  expect_halves(GetParam(), parsed_mask("box:4097,513"), 32, 17);
  expect_halves(GetParam(), parsed_mask("box:513,4097"), 17, 32);
}

// Two pixels that are hardly opaque, beside which there is nothing: sums of a few units, which are
// negative below the middle of chroma.
TEST_P(Decisions, BelowBlack) {
  Scene scene;
  scene.layout = "ayuv64";
  scene.width = 2;
  scene.border = Border::kZero;
  const FrameFormat format = format_of(scene);
  const std::vector<int> colours = colours_of(format);
  const Component* components = format.planes[0].components;
  const auto black = [&](int c) { return components[colours[c]].black; };
  scene.code = [&](int c, int, int x) { return black(c) - 50 - x; };
  scene.alpha = [](int, int) { return 1; };
  scene.expected = [&](int c, int, int) {
    return black(c) + static_cast<int>(std::nearbyint(-50.5));
  };
  expect_scene(GetParam(), parsed_mask("box:3683"), scene, Passes::kRowColumn);
}

TEST_P(Decisions, OfMillionsOfOutputs) {
  const TestMaskPtr mask = typed_mask("ties-3x1", 3, 1, {4194305, 4194303, 4194305}, 12582913.0);
  expect_halves(GetParam(), mask, 1400, 1000, Passes::kDirect);
  if (GetParam() == BackendKind::kCuda)
    expect_halves(GetParam(), parsed_mask("box:3683"), 1400, 1000);
}

TEST_P(Decisions, OfRowSums) {
  expect_means(GetParam(), 9, 254, /*along_rows=*/false, /*rank1=*/true);
  expect_means(GetParam(), 254, 9, /*along_rows=*/true, /*rank1=*/true);
}

TEST_P(Decisions, OfTaps) {
  expect_means(GetParam(), 40, 18, /*along_rows=*/false, /*rank1=*/false);
  expect_means(GetParam(), 70, 9, /*along_rows=*/true, /*rank1=*/false);
}

INSTANTIATE_TEST_SUITE_P(Backends, Decisions,
                         ::testing::Values(BackendKind::kCpu, BackendKind::kCuda),
                         [](const auto& row) { return backend_name(row.param); });

}  // namespace
}  // namespace convolve::testing
