// SPDX-License-Identifier: LGPL-2.1-or-later
// Sixteen elements with masks of their own in one process, all filtering at once on one device:
// every frame of each must show its own mask.
//
//   element_instances cuda|cpu [FRAMES]      FRAMES an element, default 10000
//
// Each element changes between two masks while it plays, so that slots in constant memory are freed
// and taken by others all the time. Masks are of one size and frames the same for all elements:
// nothing but the weights tells the elements apart.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/gpu/element_pipeline.h"

namespace cudaconvolve::gpu {
namespace {

constexpr int kInstances = 16;
constexpr int kMasksEach = 2;
constexpr int kFramesPerMask = 250;
/// Frames pushed before the first of them is pulled, so that elements never wait for this program.
constexpr int kBurst = 10;
static_assert(kFramesPerMask % kBurst == 0, "a change of mask must find no frame in flight");
constexpr int kInputs = 4;  ///< Different frames, in turn.
constexpr int kMaskSide = 5;

constexpr GstVideoFormat kFormat = GST_VIDEO_FORMAT_RGB;
constexpr int kWidth = 48;
constexpr int kHeight = 32;

/// Random whole weights over their sum: rational, so that right means equal on every backend.
std::string random_mask(std::mt19937& random) {
  std::string text;
  for (int k = 0; k < kMaskSide * kMaskSide; ++k)
    text += std::to_string(1 + random() % 99) + " ";
  return text;
}

std::string properties(const std::string& backend, const std::string& mask) {
  return "backend=" + backend + " mask=\"" + mask + "\"";
}

struct Expectation {
  std::string mask;
  std::vector<Bytes> pictures;  ///< What each input must become.
};

/// Computed by a CPU element that has the process to itself. Pictures are missing where it failed.
Expectation expect(std::string mask, const std::vector<Bytes>& inputs) {
  ElementPipeline truth(properties("cpu", mask), kFormat, kWidth, kHeight);
  Expectation expectation{std::move(mask), {}};
  for (const Bytes& input : inputs)
    if (auto picture = filter(truth, input)) expectation.pictures.push_back(std::move(*picture));
  return expectation;
}

/// True if no picture is missing and no two are equal: a frame with another element's mask, or
/// another input, then cannot pass.
bool tell_apart(const std::vector<Expectation>& expectations) {
  std::set<Bytes> different;
  for (const Expectation& expectation : expectations)
    different.insert(expectation.pictures.begin(), expectation.pictures.end());
  return different.size() == expectations.size() * kInputs;
}

struct Outcome {
  int right = 0;
  std::string fault;  ///< What else went wrong; ends the element's run.
};

/// One element's life. `expectations` are its kMasksEach own.
Outcome run(const std::string& backend, int frames, const std::vector<Bytes>& inputs,
            const Expectation* expectations) {
  Outcome outcome;
  ElementPipeline tested(properties(backend, expectations[0].mask), kFormat, kWidth, kHeight);
  for (int first = 0; first < frames && outcome.fault.empty(); first += kBurst) {
    const Expectation& expected = expectations[first / kFramesPerMask % kMasksEach];
    if (first % kFramesPerMask == 0) tested.set("mask", expected.mask);
    const int end = std::min(first + kBurst, frames);
    for (int f = first; f < end; ++f)
      tested.push(inputs[f % kInputs]);
    for (int f = first; f < end; ++f) {
      const auto got = tested.pull();
      if (!got) {
        outcome.fault = "no frame came: " + tested.messages().last;
        break;
      }
      outcome.right += *got == expected.pictures[f % kInputs] ? 1 : 0;
    }
    const std::string plan = tested.active_plan();
    if (outcome.fault.empty() && plan.rfind(backend + " ", 0) != 0)
      outcome.fault = "another backend ran: " + plan;
  }
  const ElementPipeline::Messages messages = tested.messages();
  if (outcome.fault.empty()) outcome.fault = messages.last;
  return outcome;
}

int run_all(const std::string& backend, int frames) {
  std::mt19937 random(16);
  GstVideoInfo info;
  gst_video_info_set_format(&info, kFormat, kWidth, kHeight);
  std::vector<Bytes> inputs;
  for (int i = 0; i < kInputs; ++i)
    inputs.push_back(random_frame(info, random));
  std::vector<Expectation> expectations;
  for (int m = 0; m < kInstances * kMasksEach; ++m)
    expectations.push_back(expect(random_mask(random), inputs));
  if (!tell_apart(expectations)) {
    std::printf("FAIL the CPU's pictures are missing or equal\n");
    return finish(0, 1);
  }

  std::vector<Outcome> outcomes(kInstances);
  std::vector<std::thread> threads;
  for (int k = 0; k < kInstances; ++k)
    threads.emplace_back(
        [&, k] { outcomes[k] = run(backend, frames, inputs, &expectations[k * kMasksEach]); });
  for (std::thread& thread : threads)
    thread.join();

  long passed = 0;
  long failed = 0;
  for (int k = 0; k < kInstances; ++k) {
    const Outcome& outcome = outcomes[k];
    passed += outcome.right;
    failed += frames - outcome.right;
    if (outcome.right == frames && outcome.fault.empty()) continue;
    std::printf("FAIL element %d: %d of %d frames right. %s\n", k, outcome.right, frames,
                outcome.fault.c_str());
    if (outcome.right == frames) ++failed;
  }
  std::printf("%d elements with %d masks on %s, %d frames each\n", kInstances,
              kInstances * kMasksEach, backend.c_str(), frames);
  return finish(passed, failed);
}

}  // namespace
}  // namespace cudaconvolve::gpu

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const std::string backend = argc > 1 ? argv[1] : "";
  const int frames = argc > 2 ? std::atoi(argv[2]) : 10000;
  if (argc > 3 || frames <= 0 || (backend != "cuda" && backend != "cpu")) {
    std::fprintf(stderr, "usage: element_instances cuda|cpu [FRAMES]\n");
    return 2;
  }
  return cudaconvolve::gpu::run_all(backend, frames);
}
