// SPDX-License-Identifier: LGPL-2.1-or-later
// How a thread asks others to leave a frame unfinished: an element that stops must not wait for a
// picture that takes seconds.
#pragma once

#include <atomic>

namespace convolve {

/// A wish to stop. Any thread may raise, clear or read it; work looks for it between pieces of some
/// milliseconds, and then returns Code::kStopped.
class StopSignal {
 public:
  void raise() { raised_.store(true, std::memory_order_release); }
  void clear() { raised_.store(false, std::memory_order_release); }
  bool raised() const { return raised_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> raised_{false};
};

}  // namespace convolve
