// SPDX-License-Identifier: LGPL-2.1-or-later
// Chains of frames: each is filtered from the one before. What kernels can be asked for in them,
// and how they end.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {

/// One launch of a chain.
struct Step {
  std::string name;
  KernelKind kernel;
  std::optional<Form> form;
  TestMaskPtr mask;
  RunArguments how;

  Options options() const {
    Options options;
    options.kernel = kernel;
    options.form = form;
    options.scale = how.scale;
    options.bias = how.bias;
    return options;
  }
};

/// One launch of each CUDA kernel whose launches overlap, with each form of kernel tensor, and
/// of one kernel whose launches do not.
std::vector<Step> chain_steps();

/// What a chain begins with.
GuardedFrame chain_start(const FrameFormat& format);

/// Bytes of rows in which two frames of one format differ, both in host memory.
std::size_t differing_bytes(const FrameView& a, const FrameView& b);

/// `length` frames from `start` on, on the CPU, the steps of `chain` by turns.
class CpuChain {
 public:
  CpuChain(const FrameView& start, const std::vector<Step>& chain, int length);

  /// False if a call failed.
  bool good() const { return good_; }
  const FrameView& last() const { return frames_[last_].view(); }

 private:
  GuardedFrame frames_[2];
  int last_ = 0;  ///< Of the two.
  bool good_ = false;
};

}  // namespace convolve::testing
