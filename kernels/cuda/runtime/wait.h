// SPDX-License-Identifier: LGPL-2.1-or-later
// How this backend waits for the GPU: by events, never in a call of the driver that may not return.
#pragma once

#include <cuda_runtime.h>

#include <chrono>

#include "kernels/core/base/status.h"
#include "kernels/core/base/stop_signal.h"

namespace convolve {

/// A device on which nothing has ended for this long is lost: launches take at most about 100 ms,
/// copies less. An event is waited for six times as long while others of the process on the same
/// device still end.
inline constexpr std::chrono::seconds kLongestSilence{5};

/// How a thread spends the time until an event has passed.
struct Waiting {
  /// It sleeps for about so long before it asks again: for one of several frames in flight, which
  /// keep the device busy meanwhile. 0: at first it asks again and again, and then sleeps for a
  /// tenth of what it has waited, for a frame that is alone, which takes longer by whatever its
  /// thread oversleeps.
  std::chrono::microseconds expected{0};
  /// What it sleeps at a time once that is over, at most a quarter of `expected`. By default a
  /// quarter of what a frame of 1080p takes on the bus, some 62 us.
  std::chrono::microseconds nap{16};
};

/// Waits until `event`, recorded in the current context on `device`, has passed. Looks for `stop`,
/// which may be null, at least every two milliseconds. Errors: kStopped, with the event still to
/// come; kDeviceLost, also after kLongestSilence, which is latched for the process as a sticky
/// error is; those of CUDA.
Status wait_for(cudaEvent_t event, int device, const StopSignal* stop, Waiting waiting = {});

/// Waits for `event` at most as long as `patience` says, with no regard to any stop: true if the
/// event has passed, false if it has not or CUDA is not usable.
bool passes_within(cudaEvent_t event, std::chrono::milliseconds patience);

}  // namespace convolve
