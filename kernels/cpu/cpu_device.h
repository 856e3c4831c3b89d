// SPDX-License-Identifier: LGPL-2.1-or-later
// The CPU backend's door.
#pragma once

#include <memory>

#include "kernels/core/base/stop_signal.h"
#include "kernels/core/plan/backend.h"

namespace convolve {

/// A share of `threads` (0 = all) of the process-wide pool. `stop` may be null.
Result<std::shared_ptr<Device>> open_cpu_device(int threads, LogCallback log,
                                                std::shared_ptr<const StopSignal> stop);

}  // namespace convolve
