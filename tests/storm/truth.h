// SPDX-License-Identifier: LGPL-2.1-or-later
// The other opinion on a frame: the engine's CPU backend, with another kernel than the one that is
// judged if that ran on the CPU, too.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "kernels/convolver.h"
#include "tests/storm/picture.h"
#include "tests/storm/settings.h"

namespace storm {

/// The number of products that a kernel computes which multiplies every sample by every weight.
double products(const convolve::FrameFormat& format, const convolve::Mask& mask);

/// True if the CPU has no time for so many with the kernel that `options` force: those that take
/// every tap of a large mask would hang a case without being at fault.
bool too_slow(const convolve::FrameFormat& format, const convolve::Mask& mask,
              const convolve::Options& options);

/// True if the CPU has no time for so many products summed in whole digits, which it does in a
/// scalar loop whatever the kernel: 12 ns each, 12 s a case of seven frames of 25x1290 under a mask
/// of 468 weights that were divided by a sum near 0.
bool digits_too_slow(const convolve::FrameFormat& format, const convolve::Mask& mask,
                     const convolve::Options& options);

/// True if the CPU has no time for such a mask with colour weighted by alpha: quotients that lie
/// close to a boundary are decided by all taps again.
bool too_slow_by_alpha(const convolve::FrameFormat& format, const convolve::Mask& mask,
                       const convolve::Options& options);

class TruthMaker {
 public:
  TruthMaker();

  /// Gets ready for frames of `format`. `plan` is that of the convolver that is judged, as text.
  void prepare(const convolve::FrameFormat& format, const Settings& settings,
               const std::string& plan);

  /// Filters `source` into `target`. False if no kernel of the CPU serves.
  bool run(const convolve::FrameView& source, const convolve::FrameView& target,
           const convolve::RunArguments& arguments);

 private:
  std::shared_ptr<convolve::Device> device_;
  std::unique_ptr<convolve::Convolver> convolver_;
};

}  // namespace storm
