// SPDX-License-Identifier: LGPL-2.1-or-later
// A GPU fault in mid-stream, as those see it who bring frames in CUDA memory or take them there.
//
//   cuda_fault IN OUT BACKEND DEPTH FRAMES      IN and OUT: cuda or system; DEPTH: async-depth
//
// Needs a module that fails at frame $CUDACONVOLVE_FAULT_AT_FRAME. The stream must end with one
// error, and every frame that comes and can be read must be right: of what was in CUDA memory
// nobody has another copy.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "tests/cuda_memory/cuda_line.h"

namespace {

using cuda_frames::Context;
using cuda_frames::Line;
using cuda_frames::Memories;

const oracle::Mask kMask{3, 3, {1, 2, 1, 2, 4, 2, 1, 2, 1}, 16};

/// Frames that downstream has and has not read yet. At the fault they are lost with the device, if
/// they are in its memory.
constexpr int kUnread = 6;

struct Outcome {
  int right = 0;
  int wrong = 0;
  int unreadable = 0;
  int errors = 0;
  bool ended = false;  ///< A frame was refused.
  std::string messages;
  std::string plan;
};

class Stream {
 public:
  Stream(Memories memories, const std::string& backend, const std::string& depth)
      : info_(check::video_info(GST_VIDEO_FORMAT_NV12, 160, 120)),
        memories_(memories),
        line_({{"backend", backend},
               {"kernel", "coarsened"},
               {"mask", kMask.text()},
               {"async-depth", depth}}) {
    if (memories.in_cuda) {
      context_ = cuda_frames::new_context();
      GstContext* context = cuda_frames::as_gst_context(context_);
      gst_element_set_context(line_.element(), context);
      gst_context_unref(context);
      pool_.emplace(context_, info_);
    }
    line_.set_caps(info_, memories);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Outcome play(int frames) {
    // After the fault nothing can be uploaded.
    std::vector<GstBuffer*> inputs;
    for (int n = 0; n < frames; ++n) {
      const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(n));
      inputs.push_back(memories_.in_cuda ? pool_->upload(frame, n) : check::make_buffer(frame, n));
      if (inputs.back() == nullptr) return outcome_;
    }
    for (int n = 0; n < frames && !outcome_.ended; ++n) {
      outcome_.ended = line_.push_buffer(inputs[static_cast<std::size_t>(n)]) != GST_FLOW_OK;
      take(kUnread);
      if (n == 0) outcome_.plan = line_.harness().get_string("active-plan");
    }
    take(0);
    gst_element_set_state(line_.element(), GST_STATE_NULL);
    return outcome_;
  }

 private:
  /// Takes what has come, and reads all but the last `unread` of it.
  void take(int unread) {
    while (GstBuffer* buffer = line_.harness().pull_buffer())
      unread_.push_back(buffer);
    while (static_cast<int>(unread_.size()) > unread) {
      judge(unread_.front());
      gst_buffer_unref(unread_.front());
      unread_.pop_front();
    }
    for (const check::Message& message : line_.harness().errors()) {
      ++outcome_.errors;
      outcome_.messages += (outcome_.messages.empty() ? "" : " / ") + message.text;
    }
  }

  void judge(GstBuffer* buffer) {
    const oracle::Bytes picture = cuda_frames::picture_of(buffer, info_);
    const int number = next_++;
    if (picture.empty()) {
      ++outcome_.unreadable;
      return;
    }
    const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(number));
    const bool right =
        GST_BUFFER_PTS(buffer) == static_cast<GstClockTime>(number) * (GST_SECOND / 25) &&
        oracle::differing_samples(info_, picture, oracle::expected(info_, frame, kMask, {})) == 0;
    ++(right ? outcome_.right : outcome_.wrong);
  }

  const GstVideoInfo info_;
  const Memories memories_;
  Context context_;
  std::optional<cuda_frames::Pool> pool_;
  Line line_;
  std::deque<GstBuffer*> unread_;
  int next_ = 0;
  Outcome outcome_;
};

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const char* fault = std::getenv("CUDACONVOLVE_FAULT_AT_FRAME");
  if (argc != 6 || fault == nullptr) {
    std::fprintf(stderr,
                 "usage: CUDACONVOLVE_FAULT_AT_FRAME=N cuda_fault IN OUT BACKEND DEPTH FRAMES\n");
    return 2;
  }
  const Memories memories{std::string(argv[1]) == "cuda", std::string(argv[2]) == "cuda"};
  const int frames = std::atoi(argv[5]);
  // It is not taken down: what the test itself has in the memory of a lost device can be given back
  // only when the device is at rest, and that it may never be.
  auto& stream = *new Stream(memories, argv[3], argv[4]);
  const Outcome outcome = stream.play(frames);
  std::printf(
      "figure: %s, backend=%s async-depth=%s: %d right, %d wrong, %d unreadable frames of %d, "
      "%d errors: %s\nplan: %s\n",
      text(memories).c_str(), argv[3], argv[4], outcome.right, outcome.wrong, outcome.unreadable,
      frames, outcome.errors, outcome.messages.c_str(), outcome.plan.c_str());
  const int lost = std::max(0, std::atoi(argv[4])) + (memories.out_cuda ? kUnread : 0);
  const bool passed = outcome.plan.rfind("cuda", 0) == 0 && outcome.ended && outcome.errors == 1 &&
                      outcome.wrong == 0 && outcome.right < frames &&
                      outcome.right >= std::atoi(fault) - 1 - lost;
  std::printf("%d passed, %d failed\n", passed ? 1 : 0, passed ? 0 : 1);
  std::fflush(stdout);
  std::_Exit(passed ? 0 : 1);  // As what is kept is no leak.
}
