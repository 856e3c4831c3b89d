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
