// SPDX-License-Identifier: LGPL-2.1-or-later
// A GPU fault in mid-stream, as the user sees it.
//
//   fault auto|cuda FRAMES
//
// Needs a module built with -Dfault-injection=true and CUDACONVOLVE_FAULT_AT_FRAME in the
// environment. With `auto` every frame must come, right, with one warning and no error, and the
// plan must end on the CPU; with `cuda` the stream must end with one error.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>

#include "tests/gpu/element_pipeline.h"

namespace {

using cudaconvolve::gpu::Bytes;
using cudaconvolve::gpu::ElementPipeline;

constexpr const char* kMask = "mask=\"1 2 1; 2 4 2; 1 2 1\"";

/// Frames that are pushed ahead of the one that is awaited: so several are in flight at the fault.
constexpr int kAhead = 6;
/// Frames before the one that fails which are still in flight then, and lost with the device.
constexpr int kDepth = 2;

struct Outcome {
  int right = 0;
  int wrong = 0;
  int warnings = 0;
  int errors = 0;
  std::string message;
  std::string first_plan;
  std::string last_plan;
};

Outcome run(const std::string& backend, int frames) {
  Outcome outcome;
  ElementPipeline tested(
      "backend=" + backend + " async-depth=" + std::to_string(kDepth) + " " + kMask,
      GST_VIDEO_FORMAT_I420, 640, 360);
  ElementPipeline truth(std::string("backend=cpu ") + kMask, GST_VIDEO_FORMAT_I420, 640, 360);
  std::mt19937 random(11);
  std::deque<Bytes> expected;
  for (int n = 0, pushed = 0; n < frames; ++n) {
    for (; pushed < std::min(frames, n + kAhead); ++pushed) {
      const Bytes frame = cudaconvolve::gpu::random_frame(truth.info(), random);
      expected.push_back(cudaconvolve::gpu::filter(truth, frame).value_or(Bytes()));
      tested.push(frame);
    }
    const auto got = tested.pull();
    const ElementPipeline::Messages messages = tested.messages();
    outcome.warnings += messages.warnings;
    outcome.errors += messages.errors;
    if (!messages.last.empty()) outcome.message = messages.last;
    if (n == 0) outcome.first_plan = tested.active_plan();
    if (!got) break;
    ++(*got == expected.front() ? outcome.right : outcome.wrong);
    expected.pop_front();
  }
  outcome.last_plan = tested.active_plan();
  return outcome;
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const int frames = argc == 3 ? std::atoi(argv[2]) : 0;
  const char* fault = std::getenv("CUDACONVOLVE_FAULT_AT_FRAME");
  if (frames <= 0 || fault == nullptr) {
    std::fprintf(stderr, "usage: CUDACONVOLVE_FAULT_AT_FRAME=N fault auto|cuda FRAMES\n");
    return 2;
  }
  const Outcome outcome = run(argv[1], frames);
  std::printf("figure: backend=%s: %d right, %d wrong frames of %d, %d warnings, %d errors: %s\n",
              argv[1], outcome.right, outcome.wrong, frames, outcome.warnings, outcome.errors,
              outcome.message.c_str());
  std::printf("plan at first: %s\nplan at last: %s\n", outcome.first_plan.c_str(),
              outcome.last_plan.c_str());
  const bool began_on_gpu = outcome.first_plan.rfind("cuda", 0) == 0;
  bool as_promised = false;
  if (std::strcmp(argv[1], "auto") == 0)
    as_promised = outcome.right == frames && outcome.wrong == 0 && outcome.warnings == 1 &&
                  outcome.errors == 0 && outcome.last_plan.rfind("cpu", 0) == 0;
  else
    as_promised = outcome.right < frames && outcome.right >= std::atoi(fault) - 1 - kDepth &&
                  outcome.wrong == 0 && outcome.errors == 1;
  const bool passed = began_on_gpu && as_promised;
  return cudaconvolve::gpu::finish(passed ? 1 : 0, passed ? 0 : 1);
}
