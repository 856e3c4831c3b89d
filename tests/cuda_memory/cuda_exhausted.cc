// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams of frames in CUDA memory while the device has no memory left: each frame that comes is
// right, a stream that cannot go on ends with one error that says why, and the next one, with
// memory again, works.
//
//   cuda_exhausted
//
// Takes all memory of the first device for some seconds.
#include <gst/cuda/cuda-gst.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>

#include <cstdio>
#include <string>
#include <vector>

#include "tests/cuda_memory/cuda_line.h"

namespace {

using cuda_frames::Context;
using cuda_frames::kAllMemories;
using cuda_frames::Line;
using cuda_frames::Memories;

const oracle::Mask kMask{3, 3, {1, 2, 1, 2, 4, 2, 1, 2, 1}, 16};

/// Frames that are pushed while there is no memory. Nobody gives back what has come of them, nor
/// the memory that they came in.
constexpr int kHeld = 8;

/// All device memory that can be had, in ever smaller blocks.
class Filling {
 public:
  explicit Filling(const Context& context) : context_(context) {
    gst_cuda_context_push(context_.get());
    constexpr unsigned kLargest = 1u << 30, kSmallest = 1u << 12;
    for (unsigned bytes = kLargest; bytes >= kSmallest; bytes /= 2)
      for (CUdeviceptr address = 0; CuMemAlloc(&address, bytes) == CUDA_SUCCESS;)
        blocks_.push_back(address);
    gst_cuda_context_pop(nullptr);
  }
  ~Filling() {
    gst_cuda_context_push(context_.get());
    for (const CUdeviceptr address : blocks_)
      CuMemFree(address);
    gst_cuda_context_pop(nullptr);
  }
  Filling(const Filling&) = delete;
  Filling& operator=(const Filling&) = delete;

 private:
  const Context context_;
  std::vector<CUdeviceptr> blocks_;
};

class Played {
 public:
  Played(Memories memories, const std::string& backend, const std::string& depth)
      : name_(text(memories) + ", backend=" + backend + " async-depth=" + depth),
        info_(check::video_info(GST_VIDEO_FORMAT_NV12, 640, 360)),
        memories_(memories),
        context_(cuda_frames::new_context()),
        line_({{"backend", backend},
               {"kernel", "coarsened"},
               {"mask", kMask.text()},
               {"async-depth", depth}}) {
    GstContext* context = cuda_frames::as_gst_context(context_);
    gst_element_set_context(line_.element(), context);
    gst_context_unref(context);
    line_.use_context(context_);
  }

  /// Frames, no memory, more frames: what is wrong, or nothing. `from_start`: none already when the
  /// element gets its caps.
  std::string play(bool from_start) {
    if (!from_start) {
      line_.set_caps(info_, memories_);
      for (; number_ < 3; ++number_)
        if (line_.push(number_) != GST_FLOW_OK) return "refused before memory was exhausted";
      if (std::string problem = take_all(); !problem.empty()) return problem;
    }
    std::vector<GstBuffer*> inputs;
    for (int n = number_; n < number_ + kHeld; ++n) {
      const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(n));
      inputs.push_back(memories_.in_cuda ? cuda_frames::upload(context_, info_, frame, n)
                                         : check::make_buffer(frame, n));
    }
    GstFlowReturn flow = GST_FLOW_OK;
    {
      const Filling filling(context_);
      if (from_start) line_.set_caps(info_, memories_);
      for (GstBuffer* input : inputs) {
        if (flow != GST_FLOW_OK) break;
        flow = line_.push_buffer(gst_buffer_ref(input));
        number_ += flow == GST_FLOW_OK ? 1 : 0;
      }
      plan_ = line_.harness().get_string("active-plan");
    }
    for (GstBuffer* input : inputs)
      gst_buffer_unref(input);
    if (std::string problem = take_all(); !problem.empty()) return problem;
    std::size_t errors = 0;
    for (const check::Message& message : line_.harness().problems()) {
      errors += message.type == GST_MESSAGE_ERROR ? 1 : 0;
      said_ += said_.empty() ? message.text : "; " + message.text;
    }
    ended_ = flow != GST_FLOW_OK;
    if (memories_.out_cuda && !ended_) return "there was memory left";
    if (errors != (ended_ ? 1u : 0u)) return std::to_string(errors) + " errors: " + said_;
    if (ended_ && said_.find("out of memory") == std::string::npos) return "it only says: " + said_;
    return "";
  }

  std::string describe() const {
    return name_ + ": " + std::to_string(number_) + " frames" + (ended_ ? " and an error" : "") +
           ", " + plan_ + (said_.empty() ? "" : ", '" + said_ + "'");
  }

 private:
  /// Compares every frame that was accepted and not taken yet. Returns the first fault found, or
  /// nothing.
  std::string take_all() {
    for (; taken_ < number_; ++taken_)
      if (std::string problem = line_.take(taken_, kMask, memories_.out_cuda); !problem.empty())
        return problem;
    return "";
  }

  const std::string name_;
  const GstVideoInfo info_;
  const Memories memories_;
  const Context context_;
  Line line_;
  int number_ = 0;  ///< Frames that were accepted.
  int taken_ = 0;
  bool ended_ = false;
  std::string plan_, said_;
};

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  if (argc != 1 || !gst_cuda_load_library()) {
    std::fprintf(stderr, "usage: cuda_exhausted, where there is CUDA\n");
    return 2;
  }
  int passed = 0, failed = 0;
  for (const Memories& memories : kAllMemories)
    for (const char* backend : {"auto", "cuda"})
      for (const char* depth : {"0", "2"})
        for (const bool from_start : {false, true}) {
          Played played(memories, backend, depth);
          const std::string problem = played.play(from_start);
          ++(problem.empty() ? passed : failed);
          std::printf("%s%s, %s%s\n", problem.empty() ? "" : "FAIL ", played.describe().c_str(),
                      from_start ? "from the start" : "in mid-stream",
                      problem.empty() ? "" : (": " + problem).c_str());
        }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}
