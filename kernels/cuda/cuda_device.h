// SPDX-License-Identifier: LGPL-2.1-or-later
// The CUDA backend's door. A stub stands behind it in builds without CUDA.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/core/base/stop_signal.h"
#include "kernels/core/plan/backend.h"

namespace convolve {

/// False in builds without CUDA.
bool has_cuda_backend();

/// Opens device `device_id`, or any usable one if -1: in the context that is current if it is asked
/// for and on that device, else in the primary one. First CUDA call of the process. `stop` may be
/// null.
Result<std::shared_ptr<Device>> open_cuda_device(int device_id, bool use_current_context,
                                                 LogCallback log,
                                                 std::shared_ptr<const StopSignal> stop);

/// For tests, which have no time for large frames: those that are alone on their way are cut into
/// pieces of so many bytes by convolvers that are made from now on; 0 stands for what pays.
void set_least_bytes_of_piece(std::size_t bytes);

}  // namespace convolve
