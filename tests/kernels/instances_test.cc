// SPDX-License-Identifier: LGPL-2.1-or-later
// Sixteen convolvers with sixteen masks in one process, all at work at once on one device: each
// must see its own weights in every frame. (shared_symbol.cu shows what happens without mask
// slots.)
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr int kInstances = 16;
constexpr int kFramesOnCuda = 10000;
constexpr int kFramesOnCpu = 500;
/// An element whose mask changes makes a new convolver on its device.
constexpr int kFramesPerConvolver = 250;

/// What one element does: its own device (stream), mask and frames.
class Instance {
 public:
  Instance(BackendKind backend, KernelKind kernel, int number)
      : kernel_(kernel),
        format_(make_format(Arrangement::kPacked3, kU8, Levels::kFull, 48, 32)),
        source_(format_, 0, false),
        output_(format_, 0, false) {
    Result<std::shared_ptr<Device>> device = open_device(backend, {});
    if (device.ok())
      device_ = std::move(device.value());
    else
      error_ = device.status().message();
    Random random(static_cast<std::uint64_t>(number));
    for (int c = 0; c < 3; ++c) {
      Picture picture{48, 32, {}};
      for (int k = 0; k < 48 * 32; ++k)
        picture.codes.push_back(random.integer(0, 255));
      encode_component(picture, source_.view(), 0, c);
    }
    // Two masks of the same size, so that neither shape nor size tells instances apart.
    for (int m = 0; m < 2; ++m) {
      std::vector<double> row(5), weights;
      for (double& w : row)
        w = random.integer(1, 9);
      for (int y = 0; y < 5; ++y)
        for (const double w : row)
          weights.push_back(w * (1 + (y + number + m) % 3));
      double sum = 0;
      for (const double w : weights)
        sum += w;
      // Equal weights differ in their divisor alone.
      if (kernel == KernelKind::kBox) {
        weights.assign(25, 1);
        sum = 25 + 2 * number + m;
      }
      if (kernel == KernelKind::kShift) {
        weights.assign(25, 0);
        weights[static_cast<std::size_t>((number + m) % 25)] = 1;
        sum = 2 + number;
      }
      masks_.push_back(typed_mask("instance", 5, 5, weights, sum));
      GuardedFrame wanted(format_, 0, false);
      reference_run(source_.view(), wanted.view(), masks_.back()->mask, {});
      wanted_.push_back(std::move(wanted));
    }
  }

  /// Counts wrong frames; a call that fails ends it.
  void run(int frames) {
    std::unique_ptr<Convolver> convolver;
    for (int f = 0; f < frames && error_.empty(); ++f) {
      const std::size_t which = static_cast<std::size_t>(f / kFramesPerConvolver) % 2;
      if (f % kFramesPerConvolver == 0) convolver = make_convolver(which);
      if (convolver == nullptr) return;
      output_.poison();
      Status status = convolver->run(source_.view(), output_.view(), {});
      if (status.ok()) status = device_->finish();
      if (!status.ok()) error_ = status.message();
      if (output_.bytes() != wanted_[which].bytes()) ++wrong_;
      ++done_;
    }
  }

  int wrong() const { return wrong_; }
  int done() const { return done_; }
  const std::string& error() const { return error_; }

 private:
  std::unique_ptr<Convolver> make_convolver(std::size_t which) {
    Options options;
    options.kernel = kernel_;
    auto convolver = Convolver::create(format_, masks_[which]->mask, options, device_);
    if (convolver.ok()) return std::move(convolver.value());
    error_ = convolver.status().message();
    return nullptr;
  }

  KernelKind kernel_;
  FrameFormat format_;
  GuardedFrame source_;
  GuardedFrame output_;
  std::vector<TestMaskPtr> masks_;
  std::vector<GuardedFrame> wanted_;
  std::shared_ptr<Device> device_;
  std::string error_;
  int wrong_ = 0;
  int done_ = 0;
};

class Instances : public ::testing::TestWithParam<KernelOn> {};

TEST_P(Instances, KeepTheirOwnMasks) {
  const KernelOn which = GetParam();
  const bool cuda = which.backend == BackendKind::kCuda;
  if (cuda && !gpu_required()) {
    const auto device = open_device(which.backend, {});
    if (!device.ok()) GTEST_SKIP() << device.status().message();
  }
  std::vector<std::unique_ptr<Instance>> instances;
  for (int k = 0; k < kInstances; ++k)
    instances.push_back(std::make_unique<Instance>(which.backend, which.kernel, k));
  const int frames = cuda ? kFramesOnCuda : kFramesOnCpu;
  std::vector<std::thread> threads;
  for (const std::unique_ptr<Instance>& instance : instances)
    threads.emplace_back([&instance, frames] { instance->run(frames); });
  for (std::thread& thread : threads)
    thread.join();
  for (const std::unique_ptr<Instance>& instance : instances) {
    EXPECT_EQ(instance->error(), "");
    EXPECT_EQ(instance->done(), frames);
    EXPECT_EQ(instance->wrong(), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Instances, ::testing::ValuesIn(all_kernels()),
                         [](const auto& row) { return test_name(row.param); });

}  // namespace
}  // namespace convolve::testing
