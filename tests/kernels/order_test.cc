// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches that overlap (kernels/cuda/device/overlap.cuh) keep the order of their stream: in chains
// of them, of which none is waited for, each reads what the one before has written, and writes over
// what that one has read. At their end stands what the CPU makes of as many frames.
//
// Nor do others lose by what is in flight: the weights of a filter that is gone stay until its
// frames are done, and the thread that calls keeps its own context.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/cuda/runtime/context.h"
#include "tests/kernels/chains.h"
#include "tests/kernels/device_frame.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/frame_buffer.h"

namespace convolve::testing {
namespace {

/// A picture, and a chain over it: so many frames, and all that so many times without a wait.
struct Scene {
  const char* name;
  Arrangement arrangement;
  SampleType samples;
  int width;
  int height;
  int length;
  int rounds;
};

// Large pictures take many waves of blocks, of which the last meets the next launch; of the
// smallest ones some launches fit the device side by side.
constexpr Scene kScenes[] = {
    {"grey_4k", Arrangement::kPacked1, kU8, 3840, 2160, 24, 8},
    {"nv12_4k", Arrangement::kNv12, kU8, 3840, 2160, 24, 3},
    {"rgba_4k", Arrangement::kRgba, kU8, 3840, 2160, 24, 3},
    {"p010_4k", Arrangement::kNv12, kU10High, 3840, 2160, 24, 3},
    {"yuy2_4k", Arrangement::kYuy2, kU8, 3840, 2160, 24, 3},
    {"grey_small", Arrangement::kPacked1, kU8, 640, 480, 75, 6},
    {"i420_small", Arrangement::kI420, kU8, 640, 480, 75, 6},
    {"nv12_small", Arrangement::kNv12, kU8, 640, 480, 75, 6},
    {"bgr_small", Arrangement::kPacked3, kU8, 640, 480, 75, 6},
    {"yuy2_small", Arrangement::kYuy2, kU8, 640, 480, 75, 6},
    {"rgba_small", Arrangement::kRgba, kU8, 640, 480, 75, 6},
    {"grey16_small", Arrangement::kPacked1, kU16, 640, 480, 75, 6},
    {"i420_16_small", Arrangement::kI420, kU16, 640, 480, 75, 6},
    {"p010_small", Arrangement::kNv12, kU10High, 640, 480, 75, 6},
    {"grey_tiny", Arrangement::kPacked1, kU8, 96, 64, 75, 6},
    {"nv12_tiny", Arrangement::kNv12, kU8, 96, 64, 75, 6},
    {"rgba_tiny", Arrangement::kRgba, kU8, 96, 64, 75, 6},
};

void PrintTo(const Scene& scene, std::ostream* out) {
  *out << scene.name;
}

FrameFormat format_of(const Scene& scene) {
  return make_format(scene.arrangement, scene.samples, Levels::kLimited, scene.width, scene.height);
}

/// Frames on the device, and chains over them.
class CudaChains {
 public:
  CudaChains(const Scene& scene, const std::shared_ptr<Device>& device)
      : scene_(scene),
        format_(format_of(scene)),
        device_(device),
        stream_(static_cast<cudaStream_t>(device->native_stream())),
        start_(chain_start(format_)),
        device_start_(format_),
        frames_{DeviceFrame(format_), DeviceFrame(format_)},
        answer_(format_, 0, false) {
    for (int r = 0; r < scene.rounds; ++r)
      answers_.push_back(std::make_unique<DeviceFrame>(format_));
    good_ = enqueue_copy(device_start_.view(), start_.view(), stream_) && wait();
  }

  bool good() const { return good_; }
  const FrameView& start() const { return start_.view(); }

  /// What the kernels of `chain` are on the device; nothing if one of them does not serve.
  std::vector<std::unique_ptr<Convolver>> convolvers(const std::vector<Step>& chain) const {
    std::vector<std::unique_ptr<Convolver>> made;
    for (const Step& step : chain) {
      auto convolver = Convolver::create(format_, step.mask->mask, step.options(), device_);
      if (!convolver.ok()) {
        EXPECT_EQ(convolver.status().code(), Code::kUnsupported) << convolver.status().message();
        return {};
      }
      made.push_back(std::move(convolver.value()));
    }
    return made;
  }

  /// Filters pictures by turns that copies bring to the same memory, each while the one before may
  /// still be on its way, and compares what becomes of them.
  void run_copied(const Step& step, Convolver& convolver) {
    const CpuChain first(start_.view(), {step}, 1), second(start_.view(), {step}, 2);
    ASSERT_TRUE(first.good() && second.good());
    const DeviceFrame other(format_);
    ASSERT_TRUE(enqueue_copy(other.view(), first.last(), stream_) && wait());
    for (std::size_t r = 0; r < answers_.size(); ++r) {
      const FrameView& source = r % 2 == 0 ? device_start_.view() : other.view();
      ASSERT_TRUE(enqueue_copy(frames_[0].view(), source, stream_));
      ASSERT_TRUE(convolver.run(frames_[0].view(), answers_[r]->view(), step.how).ok());
    }
    ASSERT_TRUE(wait());
    for (std::size_t r = 0; r < answers_.size(); ++r) {
      ASSERT_TRUE(enqueue_copy(answer_.view(), answers_[r]->view(), stream_) && wait());
      EXPECT_EQ(differing_bytes(answer_.view(), (r % 2 == 0 ? first : second).last()), 0u)
          << "picture " << r;
    }
  }

  /// Runs the chain, launch by launch or as a graph, and compares its ends.
  void run(const std::vector<Step>& chain,
           const std::vector<std::unique_ptr<Convolver>>& convolvers, bool as_graph,
           const FrameView& wanted) {
    ASSERT_TRUE(as_graph ? run_graph(chain, convolvers) : enqueue(chain, convolvers));
    compare(wanted);
  }

  /// Runs the chain, whose convolvers are gone before its frames are done, and does something else
  /// in the meantime.
  void run_and_leave(const std::vector<Step>& chain, const std::function<void()>& meanwhile,
                     const FrameView& wanted) {
    std::vector<std::unique_ptr<Convolver>> leaving = convolvers(chain);
    ASSERT_FALSE(leaving.empty());
    ASSERT_TRUE(enqueue(chain, leaving));
    leaving.clear();
    meanwhile();
    compare(wanted);
  }

 private:
  bool wait() const { return cudaStreamSynchronize(stream_) == cudaSuccess; }

  /// Waits, and compares the ends of the chain.
  void compare(const FrameView& wanted) {
    ASSERT_TRUE(wait());
    for (int r = 0; r < scene_.rounds; ++r) {
      ASSERT_TRUE(
          enqueue_copy(answer_.view(), answers_[static_cast<std::size_t>(r)]->view(), stream_) &&
          wait());
      EXPECT_EQ(differing_bytes(answer_.view(), wanted), 0u) << "round " << r;
    }
  }

  bool enqueue(const std::vector<Step>& chain,
               const std::vector<std::unique_ptr<Convolver>>& convolvers) {
    for (const std::unique_ptr<DeviceFrame>& answer : answers_) {
      if (!enqueue_copy(frames_[0].view(), device_start_.view(), stream_)) return false;
      for (int n = 0; n < scene_.length; ++n) {
        const std::size_t i = static_cast<std::size_t>(n) % chain.size();
        const Status status =
            convolvers[i]->run(frames_[n % 2].view(), frames_[1 - n % 2].view(), chain[i].how);
        if (!status.ok()) return false;
      }
      if (!enqueue_copy(answer->view(), frames_[scene_.length % 2].view(), stream_)) return false;
    }
    return true;
  }

  bool run_graph(const std::vector<Step>& chain,
                 const std::vector<std::unique_ptr<Convolver>>& convolvers) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t executable = nullptr;
    bool good = cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
    good = good && enqueue(chain, convolvers);
    good = cudaStreamEndCapture(stream_, &graph) == cudaSuccess && good &&
           cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess &&
           cudaGraphLaunch(executable, stream_) == cudaSuccess && wait();
    if (executable != nullptr) (void)cudaGraphExecDestroy(executable);
    if (graph != nullptr) (void)cudaGraphDestroy(graph);
    return good;
  }

  const Scene& scene_;
  FrameFormat format_;
  std::shared_ptr<Device> device_;
  cudaStream_t stream_;
  GuardedFrame start_;
  DeviceFrame device_start_;
  DeviceFrame frames_[2];
  std::vector<std::unique_ptr<DeviceFrame>> answers_;
  GuardedFrame answer_;
  bool good_ = false;
};

class Order : public ::testing::TestWithParam<Scene> {
 protected:
  /// Runs `chain`, or is false if one of its kernels does not serve.
  bool holds(CudaChains& chains, const std::vector<Step>& chain, const std::string& name) {
    SCOPED_TRACE(name);
    const auto convolvers = chains.convolvers(chain);
    if (convolvers.empty()) return false;
    const std::string masks = chain.size() == 1 ? chain[0].mask->name : name;
    std::unique_ptr<CpuChain>& truth = truths_[masks];
    if (truth == nullptr)
      truth = std::make_unique<CpuChain>(chains.start(), chain, GetParam().length);
    EXPECT_TRUE(truth->good());
    for (const bool as_graph : {true, false}) {
      SCOPED_TRACE(as_graph ? "graph" : "stream");
      chains.run(chain, convolvers, as_graph, truth->last());
    }
    return true;
  }

 private:
  std::map<std::string, std::unique_ptr<CpuChain>> truths_;  ///< By their masks.
};

TEST_P(Order, OfLaunchesIsThatOfTheirStream) {
  auto device = open_device(BackendKind::kCuda, {});
  if (!device.ok() && !gpu_required()) GTEST_SKIP() << device.status().message();
  ASSERT_TRUE(device.ok()) << device.status().message();
  CudaChains chains(GetParam(), device.value());
  ASSERT_TRUE(chains.good()) << "no memory";
  const std::vector<Step> steps = chain_steps();
  std::vector<Step> mixture;
  for (const Step& step : steps)
    if (holds(chains, {step}, step.name)) mixture.push_back(step);
  EXPECT_TRUE(holds(chains, mixture, "mixture"));
  // Forms for wide samples, pixels and packed 4:2:2 do not serve plain planes of bytes, all others
  // do where there are units for them.
  if (GetParam().arrangement == Arrangement::kPacked1 && GetParam().samples.bytes == 1 &&
      device.value()->capabilities().compute_capability == 90) {
    constexpr std::size_t kOtherForms = 8;
    EXPECT_EQ(mixture.size() + kOtherForms, steps.size());
  }
}

TEST_P(Order, OfCopiesAndLaunchesIsThatOfTheirStream) {
  auto device = open_device(BackendKind::kCuda, {});
  if (!device.ok() && !gpu_required()) GTEST_SKIP() << device.status().message();
  ASSERT_TRUE(device.ok()) << device.status().message();
  CudaChains chains(GetParam(), device.value());
  ASSERT_TRUE(chains.good()) << "no memory";
  for (const Step& step : chain_steps()) {
    SCOPED_TRACE(step.name);
    const auto convolvers = chains.convolvers({step});
    if (!convolvers.empty()) chains.run_copied(step, *convolvers.front());
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, Order, ::testing::ValuesIn(kScenes),
                         [](const auto& row) { return row.param.name; });

/// A filter that is gone may have frames in flight, which read its weights in constant memory:
/// until they are done the weights of the next one lie elsewhere.
TEST(MaskSlots, AreNotTakenWhileFramesInFlightReadThem) {
  auto device = open_device(BackendKind::kCuda, {});
  if (!device.ok() && !gpu_required()) GTEST_SKIP() << device.status().message();
  auto other = open_device(BackendKind::kCuda, {});
  ASSERT_TRUE(device.ok() && other.ok()) << device.status().message();
  // Tens of milliseconds, in which another filter is made.
  const Scene scene = {"slots", Arrangement::kPacked1, kU8, 3840, 2160, 6, 40};
  CudaChains chains(scene, device.value());
  ASSERT_TRUE(chains.good()) << "no memory";
  const std::vector<Step> steps = chain_steps();
  const TestMaskPtr small = steps.front().mask;
  const auto large = std::find_if(steps.begin(), steps.end(), [&](const Step& step) {
    return step.mask->mask.width > small->mask.width;
  });
  ASSERT_NE(large, steps.end());
  const Step step = {"constant", KernelKind::kConstant, std::nullopt, large->mask, large->how};
  const CpuChain truth(chains.start(), {step}, scene.length);
  ASSERT_TRUE(truth.good());
  std::unique_ptr<Convolver> next;
  const auto make_next = [&] {
    Options options;
    options.kernel = KernelKind::kConstant;
    auto made = Convolver::create(format_of(scene), small->mask, options, other.value());
    ASSERT_TRUE(made.ok()) << made.status().message();
    next = std::move(made.value());
    ASSERT_TRUE(other.value()->finish().ok());
  };
  chains.run_and_leave({step}, make_next, truth.last());
}

/// The context that is current in this thread; null if there is none.
CUcontext current_context(const DriverFunctions& driver) {
  CUcontext context = nullptr;
  EXPECT_EQ(driver.get_current(&context), CUDA_SUCCESS);
  return context;
}

/// Makes a filter, runs a frame and lets all go, in a thread that has no context of its own: that
/// shows best what is left behind.
void expect_no_context_left(std::shared_ptr<Device> device) {
  const auto driver = DriverFunctions::load();
  ASSERT_TRUE(driver.ok()) << driver.status().message();
  CUcontext context = nullptr;
  while (current_context(driver.value()) != nullptr)
    ASSERT_EQ(driver.value().pop(&context), CUDA_SUCCESS);
  const FrameFormat format = format_of(kScenes[0]);
  const GuardedFrame source = chain_start(format);
  const GuardedFrame answer(format, 0, false);
  {
    const Step step = chain_steps().front();
    auto convolver = Convolver::create(format, step.mask->mask, step.options(), device);
    ASSERT_TRUE(convolver.ok()) << convolver.status().message();
    EXPECT_EQ(current_context(driver.value()), nullptr) << "after a filter was made";
    ASSERT_TRUE(convolver.value()->run(source.view(), answer.view(), step.how).ok());
    EXPECT_EQ(current_context(driver.value()), nullptr) << "after a frame";
    ASSERT_TRUE(device->finish().ok());
    EXPECT_EQ(current_context(driver.value()), nullptr) << "after the wait";
  }
  EXPECT_EQ(current_context(driver.value()), nullptr) << "after the filter";
  device.reset();
  EXPECT_EQ(current_context(driver.value()), nullptr) << "after the device";
}

TEST(ContextOfTheCaller, IsWhatItWas) {
  auto device = open_device(BackendKind::kCuda, {});
  if (!device.ok() && !gpu_required()) GTEST_SKIP() << device.status().message();
  ASSERT_TRUE(device.ok()) << device.status().message();
  std::thread(expect_no_context_left, std::move(device.value())).join();
}

// Frames that resemble those before them would hide a launch in the wrong order.
TEST(Chains, KeepChanging) {
  constexpr int kLength = 75;
  const GuardedFrame start =
      chain_start(make_format(Arrangement::kPacked1, kU8, Levels::kLimited, 640, 480));
  for (const Step& step : chain_steps()) {
    const CpuChain end(start.view(), {step}, kLength);
    ASSERT_TRUE(end.good()) << step.name;
    for (const int before : {1, 2}) {
      const CpuChain earlier(start.view(), {step}, kLength - before);
      ASSERT_TRUE(earlier.good()) << step.name;
      EXPECT_GT(differing_bytes(end.last(), earlier.last()), 640u * 480u / 10)
          << step.name << ", " << before << " before the end";
    }
  }
}

}  // namespace
}  // namespace convolve::testing
