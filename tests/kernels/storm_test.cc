// SPDX-License-Identifier: LGPL-2.1-or-later
// Convolvers made and dropped at every other frame, on several threads at once, each with a device
// of its own and all with one pool: every frame must be that of the settings it ran with. Built
// with ThreadSanitizer it shows that pool, planner and slots keep out of each other's way.
#include <gtest/gtest.h>

#include <memory>
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

constexpr int kThreads = 4;
constexpr int kFrames = 2000;

/// One picture to make, and how it must look.
struct Case {
  GuardedFrame source;
  GuardedFrame wanted;
  TestMaskPtr mask;
  Options options;
  RunArguments arguments;
};

Case make_case(Random& random) {
  const Arrangement arrangements[] = {Arrangement::kPacked1, Arrangement::kRgba, Arrangement::kNv12,
                                      Arrangement::kYuy2};
  const SampleType samples[] = {kU8, kU10HighBig};
  const FrameFormat format =
      make_format(arrangements[random.integer(0, 3)], samples[random.integer(0, 1)],
                  Levels::kLimited, random.integer(1, 60), random.integer(1, 60));
  Case made{GuardedFrame(format, 0, false), GuardedFrame(format, 1, true), nullptr, {}, {}};
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c) {
      const Component& component = format.planes[p].components[c];
      Picture picture{component.width, component.height, {}};
      for (int k = 0; k < component.width * component.height; ++k)
        picture.codes.push_back(random.integer(0, component.max_code()));
      encode_component(picture, made.source.view(), p, c);
    }
  made.mask = random_rank1_mask(random.integer(1, 7), random.integer(1, 7), Weights::kRational);
  const KernelKind kernels[] = {KernelKind::kAuto, KernelKind::kBasic, KernelKind::kCoarsened,
                                KernelKind::kSeparable};
  made.options.kernel = kernels[random.integer(0, 3)];
  made.arguments.border = static_cast<Border>(random.integer(0, 4));
  made.arguments.scale = made.options.scale = random.integer(1, 8) / 8.0;
  made.arguments.bias = made.options.bias = random.integer(-2, 2) / 4.0;
  reference_run(made.source.view(), made.wanted.view(), made.mask->mask, made.arguments);
  return made;
}

/// What one thread saw.
struct Outcome {
  int frames = 0;
  int wrong = 0;
  std::string error;
};

Outcome storm(BackendKind backend, int number, const std::vector<Case>& cases) {
  Outcome outcome;
  Random random(static_cast<std::uint64_t>(number));
  DeviceOptions device_options;
  device_options.threads = number;  // 0: all cores.
  auto device = open_device(backend, device_options);
  if (!device.ok()) return {0, 0, device.status().message()};
  while (outcome.frames < kFrames) {
    const Case& chosen =
        cases[static_cast<std::size_t>(random.integer(0, static_cast<int>(cases.size()) - 1))];
    auto convolver = Convolver::create(chosen.source.view().format, chosen.mask->mask,
                                       chosen.options, device.value());
    if (!convolver.ok()) return {outcome.frames, outcome.wrong, convolver.status().message()};
    GuardedFrame output(chosen.source.view().format, 1, true);
    for (int i = random.integer(1, 3); i > 0; --i) {
      output.poison();
      Status status = convolver.value()->run(chosen.source.view(), output.view(), chosen.arguments);
      if (status.ok()) status = device.value()->finish();
      if (!status.ok()) return {outcome.frames, outcome.wrong, status.message()};
      if (output.bytes() != chosen.wanted.bytes()) ++outcome.wrong;
      ++outcome.frames;
    }
  }
  return outcome;
}

class Storm : public ::testing::TestWithParam<BackendKind> {};

TEST_P(Storm, EveryFrameIsThatOfItsSettings) {
  if (GetParam() == BackendKind::kCuda && !gpu_required()) {
    const auto device = open_device(GetParam(), {});
    if (!device.ok()) GTEST_SKIP() << device.status().message();
  }
  Random random(1);
  std::vector<Case> cases;
  for (int i = 0; i < 64; ++i)
    cases.push_back(make_case(random));
  std::vector<Outcome> outcomes(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back(
        [&, t] { outcomes[static_cast<std::size_t>(t)] = storm(GetParam(), t, cases); });
  for (std::thread& thread : threads)
    thread.join();
  for (const Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error, "");
    EXPECT_GE(outcome.frames, kFrames);
    EXPECT_EQ(outcome.wrong, 0);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Storm, ::testing::Values(BackendKind::kCpu, BackendKind::kCuda),
                         [](const auto& row) {
                           return row.param == BackendKind::kCpu ? "cpu" : "cuda";
                         });

}  // namespace
}  // namespace convolve::testing
