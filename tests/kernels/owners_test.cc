// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that are handed over: memory of owners who work on streams of their own, on which the
// kernels run. Nobody waits for a frame, neither the host nor a stream but in the order of the
// owners' streams, and each must be what the CPU makes of it.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "tests/kernels/chains.h"
#include "tests/kernels/device_frame.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/frame_buffer.h"

namespace convolve::testing {
namespace {

/// A picture, and how many frames are filtered, each from the one before.
struct Scene {
  const char* name;
  Arrangement arrangement;
  SampleType samples;
  int width;
  int height;
  int length;
};

// Small ones longer than a plan's frames between two that are timed, which run on the device's own
// stream.
constexpr Scene kScenes[] = {
    {"grey_4k", Arrangement::kPacked1, kU8, 3840, 2160, 24},
    {"grey_small", Arrangement::kPacked1, kU8, 640, 480, 75},
    {"nv12_small", Arrangement::kNv12, kU8, 640, 480, 75},
    {"rgba_small", Arrangement::kRgba, kU8, 640, 480, 75},
    {"grey16_small", Arrangement::kPacked1, kU16, 640, 480, 75},
    {"grey_tiny", Arrangement::kPacked1, kU8, 96, 64, 75},
};

/// Fewer than are waited for at a time.
constexpr int kLate = 3;

void PrintTo(const Scene& scene, std::ostream* out) {
  *out << scene.name;
}

FrameFormat format_of(const Scene& scene) {
  return make_format(scene.arrangement, scene.samples, Levels::kLimited, scene.width, scene.height);
}

/// Two pictures that are made of each other by turns, in memory of an owner with a stream, or of
/// two.
class Owned {
 public:
  Owned(const FrameFormat& format, bool same_stream)
      : frames_{DeviceFrame(format), DeviceFrame(format)} {
    for (cudaStream_t& stream : streams_)
      good_ = good_ && cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess;
    for (int n = 0; n < 2; ++n) {
      views_[n] = frames_[n].view();
      views_[n].owner_stream = streams_[same_stream ? 0 : n];
    }
  }
  ~Owned() { forget_streams(); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  bool good() const { return good_; }
  const FrameView& frame(int n) const { return views_[n % 2]; }
  cudaStream_t stream_of(int n) const { return static_cast<cudaStream_t>(frame(n).owner_stream); }
  /// Delays all further work of the first stream by some milliseconds.
  bool hold_up() {
    return cudaLaunchHostFunc(
               streams_[0],
               [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); },
               nullptr) == cudaSuccess;
  }
  /// Their handles are invalid from here on, with work of theirs still to be done.
  void forget_streams() {
    for (cudaStream_t& stream : streams_)
      if (stream != nullptr) (void)cudaStreamDestroy(std::exchange(stream, nullptr));
  }

 private:
  DeviceFrame frames_[2];
  FrameView views_[2];
  cudaStream_t streams_[2] = {};
  bool good_ = true;
};

class Owners : public ::testing::TestWithParam<Scene> {
 protected:
  void SetUp() override {
    for (std::shared_ptr<Device>& device : devices_) {
      open(device);
      if (HasFatalFailure() || IsSkipped()) return;
    }
  }

  static void open(std::shared_ptr<Device>& device, const DeviceOptions& options = {}) {
    auto opened = open_device(BackendKind::kCuda, options);
    if (!opened.ok() && !gpu_required()) GTEST_SKIP() << opened.status().message();
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    device = opened.value();
    ASSERT_TRUE(device->set_frames_in_flight(3).ok());
  }

  std::unique_ptr<Convolver> convolver(int device, const Step& step) const {
    auto made = Convolver::create(format_, step.mask->mask, step.options(), devices_[device]);
    return made.ok() ? std::move(made.value()) : nullptr;
  }

  /// Makes frame `n` + 1 of frame `n`; counts it if nobody was waited for.
  bool step_on(Convolver& convolver, int device, const Step& step, const Owned& owned, int n) {
    if (!convolver.run(owned.frame(n), owned.frame(n + 1), step.how).ok()) return false;
    auto sent = devices_[device]->send();
    if (!sent.ok() || !sent.value()->finish().ok()) return false;
    if (sent.value()->is_handed_over()) ++handed_over_;
    return true;
  }

  /// Waits for all that anybody does.
  void expect_end(const Step& step, const DeviceFrame& end) {
    std::unique_ptr<CpuChain>& truth = truths_[step.mask->name];
    if (truth == nullptr)
      truth = std::make_unique<CpuChain>(start_.view(), std::vector<Step>{step}, GetParam().length);
    ASSERT_TRUE(truth->good());
    GuardedFrame answer(format_, 0, false);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    ASSERT_TRUE(enqueue_copy(answer.view(), end.view(), nullptr));
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(differing_bytes(answer.view(), truth->last()), 0u);
  }

  const FrameFormat format_ = format_of(GetParam());
  const GuardedFrame start_ = chain_start(format_);
  std::shared_ptr<Device> devices_[2];
  std::map<std::string, std::unique_ptr<CpuChain>> truths_;  ///< By their masks.
  int handed_over_ = 0;
};

/// The devices of two elements in a row, whose frames have one stream or one each, filter by turns.
TEST_P(Owners, LendTheirStreamToDevicesByTurns) {
  const int length = GetParam().length;
  int served = 0;
  for (const bool same_stream : {true, false})
    for (const Step& step : chain_steps()) {
      SCOPED_TRACE(step.name + (same_stream ? ", one stream" : ", two streams"));
      const std::unique_ptr<Convolver> convolvers[] = {convolver(0, step), convolver(1, step)};
      if (convolvers[0] == nullptr) continue;
      ++served;
      handed_over_ = 0;
      const Owned owned(format_, same_stream);
      const DeviceFrame end(format_);
      ASSERT_TRUE(owned.good());
      // The devices' own streams do not wait for this copy by themselves.
      ASSERT_TRUE(enqueue_copy(owned.frame(0), start_.view(), owned.stream_of(0)));
      for (int n = 0; n < length; ++n)
        ASSERT_TRUE(step_on(*convolvers[n % 2], n % 2, step, owned, n));
      ASSERT_TRUE(enqueue_copy(end.view(), owned.frame(length), owned.stream_of(length)));
      EXPECT_GE(handed_over_, length / 2) << "all but those that come before a time is known";
      expect_end(step, end);
    }
  EXPECT_GT(served, 0);
}

/// One device filters for two owners by turns, whose frames use the same memory of the plan. Then
/// the plan goes, and with it a stream, while frames are still on their way, and a third owner
/// comes with the next plan, whose memory may be the same.
TEST_P(Owners, MayGoBeforeTheirFramesAreOver) {
  const int length = GetParam().length;
  std::vector<Step> steps;
  for (const Step& step : chain_steps())
    if (convolver(0, step) != nullptr) steps.push_back(step);
  ASSERT_FALSE(steps.empty());
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const Step &step = steps[s], &next = steps[(s + 1) % steps.size()];
    SCOPED_TRACE(step.name + ", then " + next.name);
    Owned owners[] = {Owned(format_, true), Owned(format_, true), Owned(format_, false)};
    const DeviceFrame ends[] = {DeviceFrame(format_), DeviceFrame(format_), DeviceFrame(format_)};
    for (const Owned& owned : owners) {
      ASSERT_TRUE(owned.good());
      ASSERT_TRUE(enqueue_copy(owned.frame(0), start_.view(), owned.stream_of(0)));
    }
    const auto keep_end = [&](int k) {
      return enqueue_copy(ends[k].view(), owners[k].frame(length), owners[k].stream_of(length));
    };
    std::unique_ptr<Convolver> made = convolver(0, step);
    for (int n = 0; n < length; ++n) {
      // The last frames are still to be filtered when the plan goes.
      if (n == length - kLate) {
        ASSERT_TRUE(owners[0].hold_up());
      }
      for (int k = 0; k < 2; ++k)
        ASSERT_TRUE(step_on(*made, 0, step, owners[k], n));
    }
    ASSERT_TRUE(keep_end(0) && keep_end(1));
    made.reset();
    owners[1].forget_streams();
    made = convolver(0, next);
    ASSERT_NE(made, nullptr);
    for (int n = 0; n < length; ++n)
      ASSERT_TRUE(step_on(*made, 0, next, owners[2], n));
    ASSERT_TRUE(keep_end(2));
    made.reset();
    for (int k = 0; k < 3; ++k)
      expect_end(k < 2 ? step : next, ends[k]);
    if (HasFatalFailure()) return;
  }
}

/// Sums of so many taps take longer than a launch may, so a frame goes in pieces.
constexpr Scene kLongScene = {"grey_4k", Arrangement::kPacked1, kU8, 3840, 2160, 3};
constexpr int kLongSide = 255;
constexpr double kLongFrameUs = 120000;  ///< Twice what one launch is allowed.

class OwnersOfLongFrames : public Owners {};

/// All frames are sent before the time of any is known, when the device still takes them for short
/// ones. What fills the first and each copy of a piece must come where the owner's work ends.
TEST_P(OwnersOfLongFrames, SeeAllPiecesInTheirOrder) {
  const int length = GetParam().length;
  for (const bool same_stream : {true, false})
    for (const Border border : {Border::kReplicate, Border::kWrap}) {
      SCOPED_TRACE(std::string(same_stream ? "one stream" : "two streams") +
                   (border == Border::kWrap ? ", wrap" : ", replicate"));
      Step step;
      step.kernel = KernelKind::kBasic;
      step.mask = random_rank1_mask(kLongSide, kLongSide, Weights::kRational);
      step.how.border = border;
      open(devices_[0]);  // A new one knows no time.
      const std::unique_ptr<Convolver> made = convolver(0, step);
      ASSERT_NE(made, nullptr);
      ASSERT_GT(made->plan().predicted_us, kLongFrameUs);
      Owned owned(format_, same_stream);
      const DeviceFrame end(format_);
      ASSERT_TRUE(owned.good() && owned.hold_up());
      ASSERT_TRUE(enqueue_copy(owned.frame(0), start_.view(), owned.stream_of(0)));
      std::vector<std::unique_ptr<FrameInFlight>> sent;
      for (int n = 0; n < length; ++n) {
        ASSERT_TRUE(made->run(owned.frame(n), owned.frame(n + 1), step.how).ok());
        auto frame = devices_[0]->send();
        ASSERT_TRUE(frame.ok());
        EXPECT_EQ(frame.value()->is_handed_over(), n > 0);
        sent.push_back(std::move(frame.value()));
      }
      for (const std::unique_ptr<FrameInFlight>& frame : sent)
        ASSERT_TRUE(frame->finish().ok());
      ASSERT_TRUE(enqueue_copy(end.view(), owned.frame(length), owned.stream_of(length)));
      truths_.clear();  // They do not tell borders apart.
      expect_end(step, end);
    }
}

/// An owner whose stream does nothing until it is let go, or this goes.
class HeldOwner : public Owned {
 public:
  explicit HeldOwner(const FrameFormat& format) : Owned(format, /*same_stream=*/true) {}
  ~HeldOwner() { let_go(); }

  bool hold() {
    const auto wait = [](void* held) {
      while (*static_cast<std::atomic<bool>*>(held))
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    return cudaLaunchHostFunc(stream_of(0), wait, &held_) == cudaSuccess;
  }
  /// The stream has done all that it was asked for when this returns.
  void let_go() {
    held_ = false;
    (void)cudaStreamSynchronize(stream_of(0));
  }

 private:
  std::atomic<bool> held_{true};
};

/// A mask of so many taps a side, and how many frames are sent, at least and at most, that are not
/// over. One of the smaller mask takes some microseconds, so many go at a time. One of the larger
/// mask takes some milliseconds, by the GPU, so that few do, or it is waited for by itself.
struct Pace {
  int side;
  int least_ahead;
  int most_ahead;
};
constexpr Pace kPaces[] = {{3, 1, 64}, {71, 0, 8}};
constexpr Scene kPacedScene = {"grey", Arrangement::kPacked1, kU8, 1280, 720, 100};
/// The device times one frame in sixteen, so that of these it times more than one.
constexpr int kFirstFrames = 40;

class HeldOwners : public Owners {
 protected:
  void SetUp() override {
    DeviceOptions options;
    options.stop = stop_;
    open(devices_[0], options);
  }

  /// Frames are sent one after another in a thread of their own.
  std::thread send_frames(Convolver& convolver, const Step& step, const Owned& owned) {
    return std::thread([&] {
      for (int n = 0; n < GetParam().length && step_on(convolver, 0, step, owned, n); ++n)
        ++sent_;
      ended_ = true;
    });
  }

  /// How many frames have been sent when for a while no more are.
  int frames_ahead() const {
    constexpr std::chrono::milliseconds kWhile{300};
    int before = -1;
    while (before != sent_) {
      before = sent_;
      std::this_thread::sleep_for(kWhile);
    }
    return before;
  }

  const std::shared_ptr<StopSignal> stop_ = std::make_shared<StopSignal>();
  std::atomic<int> sent_{0};
  std::atomic<bool> ended_{false};
};

/// The host is not ahead of a device that does not get on by more than its pace allows, and neither
/// waits for ever when it is to stop.
TEST_P(HeldOwners, LetTheHostGoAheadByFewFrames) {
  for (const Pace& pace : kPaces)
    for (const bool stops : {false, true}) {
      SCOPED_TRACE("side " + std::to_string(pace.side) + (stops ? ", stopped" : ", let go"));
      Step step;
      step.name = std::to_string(pace.side);
      step.kernel = KernelKind::kBasic;
      step.mask = random_rank1_mask(pace.side, pace.side, Weights::kRational);
      const std::unique_ptr<Convolver> made = convolver(0, step);
      ASSERT_NE(made, nullptr);
      HeldOwner owned(format_);
      const DeviceFrame end(format_);
      ASSERT_TRUE(owned.good());
      // The time of a frame must be known.
      for (int n = 0; n < kFirstFrames; ++n)
        ASSERT_TRUE(step_on(*made, 0, step, owned, n));
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      ASSERT_TRUE(enqueue_copy(owned.frame(0), start_.view(), owned.stream_of(0)));
      ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      ASSERT_TRUE(owned.hold());
      sent_ = 0;
      ended_ = false;
      std::thread sender = send_frames(*made, step, owned);
      const int ahead = frames_ahead();
      EXPECT_FALSE(ended_);
      EXPECT_GE(ahead, pace.least_ahead);
      EXPECT_LE(ahead, pace.most_ahead);
      if (stops)
        stop_->raise();
      else
        owned.let_go();
      sender.join();
      owned.let_go();
      stop_->clear();
      // A thread that no stop ends is let go by the loss of the device.
      ASSERT_TRUE(convolver(0, step) != nullptr);
      if (stops) continue;
      EXPECT_EQ(sent_, GetParam().length);
      ASSERT_TRUE(enqueue_copy(end.view(), owned.frame(GetParam().length), owned.stream_of(0)));
      expect_end(step, end);
    }
}

INSTANTIATE_TEST_SUITE_P(Scenes, HeldOwners, ::testing::Values(kPacedScene),
                         [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Scenes, OwnersOfLongFrames, ::testing::Values(kLongScene),
                         [](const auto& row) { return row.param.name; });

INSTANTIATE_TEST_SUITE_P(Scenes, Owners, ::testing::ValuesIn(kScenes),
                         [](const auto& row) { return row.param.name; });

}  // namespace
}  // namespace convolve::testing
