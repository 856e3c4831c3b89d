// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies of a frame's rows within host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/core/base/status.h"
#include "kernels/core/base/stop_signal.h"

namespace convolve {

/// `rows` rows of `row_bytes` bytes; pitches in bytes, negative for pictures stored bottom-up.
struct HostRows {
  std::uint8_t* to = nullptr;
  std::ptrdiff_t to_pitch = 0;
  const std::uint8_t* from = nullptr;
  std::ptrdiff_t from_pitch = 0;
  int row_bytes = 0;
  int rows = 0;
};

/// Copies all of them, with several threads of the process's pool where that is faster, past the
/// caches: who reads next is the GPU, or another element. `stop` may be null. Errors: kStopped,
/// with some of them copied.
Status copy_host_rows(const std::vector<HostRows>& all, const StopSignal* stop);

}  // namespace convolve
