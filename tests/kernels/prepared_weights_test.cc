// SPDX-License-Identifier: LGPL-2.1-or-later
// A convolver, its plan and its job have one mask between them, and one representation of it.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "kernels/convolver.h"
#include "kernels/core/plan/prepared_plan.h"
#include "tests/kernels/frame_buffer.h"

namespace convolve::testing {
namespace {

/// Remembers the weights of what the device below it prepares.
class WatchingDevice final : public Device {
 public:
  explicit WatchingDevice(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  const DeviceCapabilities& capabilities() const override { return device_->capabilities(); }
  Result<std::unique_ptr<Job>> prepare(const FrameFormat& format,
                                       const PreparedPlan& planned) override {
    ++prepared;
    weights = planned.weights;
    return device_->prepare(format, planned);
  }
  Status finish() override { return device_->finish(); }
  std::uint64_t last_kernel_ns() const override { return device_->last_kernel_ns(); }

  int prepared = 0;
  std::weak_ptr<const PreparedWeights> weights;

 private:
  std::shared_ptr<Device> device_;
};

class SharedWeights : public ::testing::TestWithParam<BackendKind> {};

TEST_P(SharedWeights, OneMaskForAll) {
  auto opened = open_device(GetParam(), {});
  if (!opened.ok()) GTEST_SKIP() << opened.status().message();
  const auto device = std::make_shared<WatchingDevice>(opened.value());
  const FrameFormat format = make_format(Arrangement::kPacked1, kU8, Levels::kFull, 640, 480);
  for (const char* text : {"identity", "laplacian", "box:31", "gaussian:2", "gaussian:100"}) {
    const auto source = parse_mask(text);
    ASSERT_TRUE(source.ok());
    const auto mask = Mask::make(source.value());
    ASSERT_TRUE(mask.ok());
    device->prepared = 0;
    auto convolver = Convolver::create(format, mask.value(), {}, device);
    ASSERT_TRUE(convolver.ok()) << convolver.status().message();
    EXPECT_EQ(device->prepared, 1) << text;
    EXPECT_EQ(&convolver.value()->mask(), &device->weights.lock()->mask) << text;
    EXPECT_GE(device->weights.use_count(), 2) << text << ": the convolver's and the job's";
    convolver.value().reset();
    EXPECT_TRUE(device->weights.expired()) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, SharedWeights,
                         ::testing::Values(BackendKind::kCpu, BackendKind::kCuda));

}  // namespace
}  // namespace convolve::testing
