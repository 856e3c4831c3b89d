// SPDX-License-Identifier: LGPL-2.1-or-later
// Why the frame in work is to be left unfinished.
#pragma once

#include <memory>
#include <mutex>

#include "kernels/convolver.h"

namespace cudaconvolve {

/// The reasons that hold now, and the signal to the engine, which is raised while there is one. Any
/// thread may call any function.
class StopReasons {
 public:
  enum Reason : unsigned {
    kStopping = 1,  ///< From the wish to leave PAUSED on.
    kFlushing = 2,  ///< Between FLUSH_START and FLUSH_STOP.
  };

  void add(Reason reason) { change(0, reason); }
  void remove(Reason reason) { change(reason, 0); }
  void remove_all() { change(kStopping | kFlushing, 0); }

  std::shared_ptr<const convolve::StopSignal> signal() const { return signal_; }

 private:
  void change(unsigned removed, unsigned added) {
    const std::lock_guard lock(mutex_);
    reasons_ = (reasons_ & ~removed) | added;
    if (reasons_ != 0)
      signal_->raise();
    else
      signal_->clear();
  }

  std::mutex mutex_;
  unsigned reasons_ = 0;
  const std::shared_ptr<convolve::StopSignal> signal_ = std::make_shared<convolve::StopSignal>();
};

}  // namespace cudaconvolve
