// SPDX-License-Identifier: LGPL-2.1-or-later
// From the types that a plan names to the types that a kernel is compiled for.
#pragma once

#include <cstdint>

#include "kernels/core/weights/arithmetic.h"
#include "kernels/cpu/component_task.h"

namespace convolve {

/// Pass<Real, Stored>::run(task, arguments...) for `accumulator` (kFloat32 or kFloat64) and the
/// task's samples.
template <template <class, class> class Pass, class... Arguments>
void run_typed(Accumulator accumulator, const ComponentTask& task, const Arguments&... arguments) {
  const bool bytes = task.sample_bytes == 1;
  if (accumulator == Accumulator::kFloat32)
    bytes ? Pass<float, std::uint8_t>::run(task, arguments...)
          : Pass<float, std::uint16_t>::run(task, arguments...);
  else
    bytes ? Pass<double, std::uint8_t>::run(task, arguments...)
          : Pass<double, std::uint16_t>::run(task, arguments...);
}

}  // namespace convolve
