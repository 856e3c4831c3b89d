// SPDX-License-Identifier: LGPL-2.1-or-later
// An element between two pads whose caps are in CUDA memory or in system memory.
#pragma once

#include <string>

#include "tests/cuda_memory/cuda_frames.h"
#include "tests/support/element.h"

namespace cuda_frames {

/// In which memory frames come and leave.
struct Memories {
  bool in_cuda = true;
  bool out_cuda = true;
};

inline constexpr Memories kAllMemories[] = {
    {false, false}, {false, true}, {true, false}, {true, true}};

std::string text(const Memories& memories);

/// What is pushed has come out when push() returns, unless `settings` ask for frames in flight.
class Line {
 public:
  explicit Line(const check::Settings& settings);
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  check::Harness& harness() { return harness_; }
  GstElement* element() { return harness_.element(); }

  /// Frames of `info` from here on, which leave in the memory that is named.
  void set_caps(const GstVideoInfo& info, Memories memories);
  /// They leave in whatever memory the element chooses.
  void set_input_caps(const GstVideoInfo& info, bool cuda);

  /// The context in which frames in CUDA memory are made: what the element shares, unless the
  /// application has given it one.
  Context context();
  void use_context(const Context& context) { context_ = context; }

  /// Downstream offers `pool`, which is configured and outlives this; before set_caps().
  void offer_downstream(GstBufferPool* pool);

  /// Pushes the frame that random_frame() makes of `number`, in the memory of the caps.
  GstFlowReturn push(int number);
  GstFlowReturn push_buffer(GstBuffer* buffer) { return harness_.push_buffer(buffer); }

  /// What is wrong with the next frame out, which is to be `number`, filtered with `mask`, in the
  /// memory that is named; empty if nothing is.
  std::string take(int number, const oracle::Mask& mask, bool out_cuda,
                   const oracle::Options& options = {});

  /// Nothing is wrong with it.
  void expect(int number, const oracle::Mask& mask, bool out_cuda,
              const oracle::Options& options = {});

  const GstVideoInfo& info() const { return info_; }

 private:
  check::Harness harness_;
  GstVideoInfo info_;
  bool in_cuda_ = false;
  Context context_;
};

}  // namespace cuda_frames
