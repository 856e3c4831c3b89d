// SPDX-License-Identifier: LGPL-2.1-or-later
// The CPU backend's door.
#pragma once

#include <memory>

#include "kernels/core/backend.h"

namespace convolve {

/// A share of `threads` (0 = all) of the process-wide pool.
Result<std::shared_ptr<Device>> open_cpu_device(int threads, LogCallback log);

}  // namespace convolve
