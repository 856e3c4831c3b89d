// SPDX-License-Identifier: LGPL-2.1-or-later
// Whether a frame is what the contract asks for: beside the frame of another backend or kernel,
// sample by sample, and beside the exact reference as far as there is time for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/core/base/view.h"
#include "tests/storm/settings.h"

namespace storm {

/// One frame, or a field of one. All views are in host memory.
struct Evidence {
  convolve::FrameFormat planned;  ///< Of the whole frame.
  convolve::FrameView source;
  convolve::FrameView given;
  std::optional<convolve::FrameView> truth;  ///< What another backend or kernel gave.
  bool passthrough = false;                  ///< The source itself must come back.
  unsigned seed = 0;                         ///< Which rows are compared with the reference.
};

struct Verdict {
  std::string fault;            ///< Empty if there is none.
  std::int64_t exact = 0;       ///< Samples that were compared with the reference,
  std::int64_t neighbours = 0;  ///< samples one code apart from the other backend, and
  std::int64_t unchecked = 0;   ///< those of them for which there was no time.
};

Verdict judge(const Evidence& evidence, const Settings& settings);

}  // namespace storm
