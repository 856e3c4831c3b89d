// SPDX-License-Identifier: LGPL-2.1-or-later
// Many elements with frames in flight on one GPU, whose kernels share streams then: each thread has
// a device and masks of its own, changes them while the others go on, and compares every frame with
// the reference. Some have kernels that use memory of their plan between two launches.
#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr int kDevices = 8;
constexpr int kInFlight = 3;
constexpr int kMasks = 2;
constexpr int kSources = 3;
constexpr int kFramesOnCuda = 1200, kFramesOnCpu = 4;
/// A mask changes every so many frames: often enough, and not so often that most frames are timed.
constexpr int kFramesOfMask = 60;
/// Kernels take less than such a frame takes on the bus.
constexpr int kWidth = 1280, kHeight = 720;

constexpr KernelKind kKernelsInTurn[] = {KernelKind::kTensor, KernelKind::kSeparable,
                                         KernelKind::kBox, KernelKind::kCoarsened};

FrameFormat frame_format() {
  return make_format(Arrangement::kPacked1, kU8, Levels::kFull, kWidth, kHeight);
}

TestMaskPtr mask_for(KernelKind kernel, int number) {
  const int side = 3 + 2 * (number % 3);
  std::vector<double> weights;
  double sum = 0;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      weights.push_back(kernel == KernelKind::kBox ? 1 : (1 + (x + number) % 3) * (1 + y % 2));
      sum += weights.back();
    }
  return typed_mask("many", side, side, weights, sum);
}

/// One element: its pictures, and what they must become.
class Element {
 public:
  Element(BackendKind backend, int number)
      : kernel_(backend == BackendKind::kCuda
                    ? kKernelsInTurn[static_cast<std::size_t>(number) % std::size(kKernelsInTurn)]
                    : KernelKind::kAuto),
        format_(frame_format()),
        frames_(backend == BackendKind::kCuda ? kFramesOnCuda : kFramesOnCpu) {
    Result<std::shared_ptr<Device>> device = open_device(backend, {});
    if (!device.ok()) {
      problem_ = device.status().message();
      return;
    }
    device_ = std::move(device.value());
    if (device_->set_frames_in_flight(kInFlight).ok()) in_flight_ = kInFlight;
    for (int m = 0; m < kMasks; ++m)
      masks_.push_back(mask_for(kernel_, number + m));
    for (int k = 0; k < kSources; ++k) {
      sources_.emplace_back(format_, 0, false);
      fill_frame(sources_.back().view(), static_cast<std::uint64_t>(number * kSources + k + 1));
      for (int m = 0; m < kMasks; ++m) {
        wanted_[m].emplace_back(format_, 0, false);
        reference_run(sources_.back().view(), wanted_[m].back().view(), masks_[m]->mask, {});
      }
    }
    for (int n = 0; n < in_flight_; ++n)
      add_way();
  }

  const std::string& problem() const { return problem_; }

  void run() {
    std::unique_ptr<Convolver> convolver;
    for (int n = 0; n < frames_ && problem_.empty(); ++n) {
      const int m = n / kFramesOfMask % kMasks;
      if (n % kFramesOfMask == 0) {
        // A plan is made when no frame is in flight.
        finish_all();
        Options options;
        options.kernel = kernel_;
        auto made = Convolver::create(format_, masks_[m]->mask, options, device_);
        if (!made.ok()) problem_ = made.status().message();
        if (made.ok()) convolver = std::move(made.value());
      }
      if (problem_.empty()) send(*convolver, n, m);
    }
    finish_all();
  }

 private:
  /// Page-locked memory of a frame there and back.
  struct Way {
    std::shared_ptr<std::uint8_t> from, to;
    std::unique_ptr<FrameInFlight> frame;
    const FrameView* wanted = nullptr;
    int number = 0;
  };

  std::size_t bytes() const { return static_cast<std::size_t>(kWidth) * kHeight; }

  void add_way() {
    Way way;
    for (std::shared_ptr<std::uint8_t>* memory : {&way.from, &way.to}) {
      auto block = device_->page_locked_memory(bytes());
      // A CPU knows no such memory: any will do.
      *memory = block.ok() ? std::move(block.value())
                           : std::shared_ptr<std::uint8_t>(new std::uint8_t[bytes()],
                                                           std::default_delete<std::uint8_t[]>());
    }
    ways_.push_back(std::move(way));
  }

  FrameView view_of(std::uint8_t* memory) const {
    FrameView view;
    view.format = format_;
    view.data[0] = memory;
    view.pitch[0] = kWidth;
    view.memory =
        device_->capabilities().backend == BackendKind::kCuda ? Memory::kPageLocked : Memory::kHost;
    return view;
  }

  void send(Convolver& convolver, int number, int mask) {
    Way& way = ways_[static_cast<std::size_t>(number) % ways_.size()];
    finish(way);
    const std::size_t k = static_cast<std::size_t>(number % kSources);
    const FrameView& source = sources_[k].view();
    for (int y = 0; y < kHeight; ++y)
      std::memcpy(way.from.get() + y * kWidth, source.data[0] + y * source.pitch[0], kWidth);
    std::memset(way.to.get(), 0xA5, bytes());
    way.wanted = &wanted_[mask][k].view();
    way.number = number;
    const Status status = convolver.run(view_of(way.from.get()), view_of(way.to.get()), {});
    if (!status.ok()) problem_ = status.message();
    auto frame = device_->send();
    if (frame.ok())
      way.frame = std::move(frame.value());
    else
      problem_ = frame.status().message();
  }

  void finish(Way& way) {
    if (way.frame == nullptr) return;
    const Status status = way.frame->finish();
    way.frame.reset();
    if (!problem_.empty()) return;
    problem_ = status.message();
    for (int y = 0; y < kHeight && problem_.empty(); ++y)
      if (std::memcmp(way.to.get() + y * kWidth, way.wanted->data[0] + y * way.wanted->pitch[0],
                      kWidth) != 0)
        problem_ = "frame " + std::to_string(way.number) + ": row " + std::to_string(y) +
                   " differs from the reference";
  }

  void finish_all() {
    for (Way& way : ways_)
      finish(way);
  }

  KernelKind kernel_;
  const FrameFormat format_;
  const int frames_;
  int in_flight_ = 1;
  std::shared_ptr<Device> device_;
  std::vector<TestMaskPtr> masks_;
  std::deque<GuardedFrame> sources_, wanted_[kMasks];
  std::vector<Way> ways_;
  std::string problem_;
};

class ManyDevices : public ::testing::TestWithParam<BackendKind> {};

TEST_P(ManyDevices, EachFiltersItsOwnFrames) {
  const bool cuda = GetParam() == BackendKind::kCuda;
  if (cuda && !gpu_required())
    if (auto opened = open_device(GetParam(), {}); !opened.ok())
      GTEST_SKIP() << opened.status().message();
  std::deque<Element> elements;
  for (int n = 0; n < kDevices; ++n) {
    elements.emplace_back(GetParam(), n);
    ASSERT_EQ(elements.back().problem(), "") << n;
  }
  std::vector<std::thread> threads;
  for (Element& element : elements)
    threads.emplace_back([&element] { element.run(); });
  for (std::thread& thread : threads)
    thread.join();
  for (int n = 0; n < kDevices; ++n)
    EXPECT_EQ(elements[static_cast<std::size_t>(n)].problem(), "") << n;
}

INSTANTIATE_TEST_SUITE_P(
    Backends, ManyDevices,
    ::testing::ValuesIn(has_cuda_backend() ? std::vector{BackendKind::kCpu, BackendKind::kCuda}
                                           : std::vector{BackendKind::kCpu}),
    [](const auto& which) { return which.param == BackendKind::kCuda ? "cuda" : "cpu"; });

}  // namespace
}  // namespace convolve::testing
