// SPDX-License-Identifier: LGPL-2.1-or-later
// Colour weighted by alpha whose sums decide nothing: every output lies between two codes and has
// sums of more digits than a double, so that each is made again with twice as many. However large
// the mask is and however many outputs it meets, the picture comes, and ties go to even.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
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

/// Three colours of odd codes, which half the scale makes ties of, in 16 bits.
const int kCodes[] = {1001, 1003, 60001};

Picture flat(const Component& component, int code) {
  return {component.width, component.height,
          std::vector<int>(static_cast<std::size_t>(component.width) *
                               static_cast<std::size_t>(component.height),
                           code)};
}

/// Half of each colour, rounded to even.
void expect_halves(BackendKind backend, const TestMaskPtr& mask, int width, int height) {
  SCOPED_TRACE(mask->name + " on " + std::to_string(width) + "x" + std::to_string(height));
  auto device = open_device(backend, {});
  if (!device.ok() && !gpu_required()) GTEST_SKIP() << device.status().message();
  ASSERT_TRUE(device.ok()) << device.status().message();
  const AlphaLayout* layout = nullptr;
  for (const AlphaLayout& one : alpha_layouts())
    if (std::string(one.name) == "rgba64") layout = &one;
  ASSERT_NE(layout, nullptr);
  const FrameFormat format = make_format(*layout, width, height, /*filter_alpha=*/false);
  const GuardedFrame source(format, 0, false), answer(format, 0, false);
  for (int c = 0; c < 3; ++c)
    encode_component(flat(format.planes[0].components[c], kCodes[c]), source.view(), 0, c);
  encode_component(make_alpha(AlphaFill::kSteps, format.planes[0].components[3]), source.view(), 0,
                   3);

  Options options;
  options.alpha_mode = AlphaMode::kPremultiplied;
  options.scale = 0.5;
  auto convolver = Convolver::create(format, mask->mask, options, device.value());
  ASSERT_TRUE(convolver.ok()) << convolver.status().message();
  ASSERT_TRUE(convolver.value()->plan().rational) << convolver.value()->plan().to_string();
  const RunArguments how{0.5, 0, Border::kReplicate};
  Status status = convolver.value()->run(source.view(), answer.view(), how);
  if (status.ok()) status = device.value()->finish();
  ASSERT_TRUE(status.ok()) << status.message();
  for (int c = 0; c < 3; ++c) {
    const int half = static_cast<int>(std::nearbyint(0.5 * kCodes[c]));
    const Picture expected = flat(format.planes[0].components[c], half);
    std::vector<Truth> truth;
    for (const int code : expected.codes)
      truth.push_back({static_cast<std::uint16_t>(code)});
    const Comparison result = compare_component(answer.view(), 0, c, truth);
    EXPECT_EQ(result.wrong, 0) << result.first_wrong;
  }
}

class Decisions : public ::testing::TestWithParam<BackendKind> {};

TEST_P(Decisions, UnderHugeMasks) {
  const TestMaskPtr mask = parsed_mask("box:3683");
  expect_halves(GetParam(), mask, 2, 1);
  // A CPU takes some 200 ms for each of these outputs.
  if (GetParam() == BackendKind::kCuda) expect_halves(GetParam(), mask, 33, 31);
}

TEST_P(Decisions, UnderLongMasks) {
  expect_halves(GetParam(), parsed_mask("box:4097,513"), 2, 1);
  expect_halves(GetParam(), parsed_mask("box:513,4097"), 1, 2);
}

// More than there is room for at once.
TEST_P(Decisions, OfMillionsOfOutputs) {
  const TestMaskPtr mask = typed_mask("ties-3x1", 3, 1, {4194305, 4194303, 4194305}, 12582913.0);
  expect_halves(GetParam(), mask, 1400, 1000);
}

INSTANTIATE_TEST_SUITE_P(Backends, Decisions,
                         ::testing::Values(BackendKind::kCpu, BackendKind::kCuda),
                         [](const auto& row) { return backend_name(row.param); });

}  // namespace
}  // namespace convolve::testing
