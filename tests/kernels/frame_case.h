// SPDX-License-Identifier: LGPL-2.1-or-later
// One frame of a test of a whole class: a picture, a mask and how it is laid on; what should come
// of it, and a judge of what does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kernels/convolver.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/class_run.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {

class FrameCase {
 public:
  /// A picture of `frame`, whose format has the name `format`. `turn` spreads misaligned and
  /// bottom-up frames over the cases.
  FrameCase(std::string format, const FrameFormat& frame, TestMaskPtr mask, const RunArguments& how,
            AlphaMode alpha, std::uint64_t turn);

  FrameCase(const FrameCase&) = delete;
  FrameCase& operator=(const FrameCase&) = delete;

  const std::string& name() const { return name_; }
  const FrameFormat& frame() const { return frame_; }
  const FrameView& source() const { return source_.view(); }
  /// After make_truth().
  const FrameView& truth() const { return truth_.view(); }
  const Tolerance& tolerance() const { return tolerance_; }
  const RunArguments& how() const { return how_; }

  /// Has the CPU filter the picture and, if that is little work, compares it with the exact
  /// reference. False if it cannot, which is a failure.
  bool make_truth(ClassWorker& worker);

  /// What asks for `way`.
  Options options(const Way& way) const;

  /// The convolver of `way` for frames of `format`; nothing if it does not serve, which is noted.
  std::unique_ptr<Convolver> make_convolver(ClassWorker& worker, const Way& way,
                                            const FrameFormat& format) const;

  /// Filters the picture and judges the answer. It counts for `key`, a way or a part of one.
  void run(ClassWorker& worker, const std::string& key, Convolver& convolver,
           const std::string& how_made = "") const;

 private:
  std::string format_;
  FrameFormat frame_;
  TestMaskPtr mask_;
  RunArguments how_;
  AlphaMode alpha_;
  int turn_;
  std::string name_;
  GuardedFrame source_, truth_;
  Tolerance tolerance_;
};

}  // namespace convolve::testing
