// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/frames/frames_in_flight.h"

#include <sys/prctl.h>

#include <utility>

namespace cudaconvolve {

GstFlowReturn FramesInFlight::add(std::unique_ptr<SentFrame> frame, std::size_t most) {
  std::unique_lock lock(mutex_);
  frame->dropped = failure_ != GST_FLOW_OK;
  frames_.push_back(std::move(frame));
  if (!thread_.joinable()) {
    ending_ = false;
    thread_ = std::thread([this] { run(); });
  }
  changed_.notify_all();
  changed_.wait(lock, [this, most] { return frames_.size() <= most; });
  return std::exchange(failure_, GST_FLOW_OK);
}

GstFlowReturn FramesInFlight::drain() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return frames_.empty(); });
  return std::exchange(failure_, GST_FLOW_OK);
}

void FramesInFlight::discard() {
  (void)drain();
}

void FramesInFlight::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  failure_ = GST_FLOW_OK;
}

void FramesInFlight::run() {
  // The thread sleeps for as long as frames take, which may be less than the 50 us that the system
  // adds to a sleep by default: here it adds 1.
  (void)prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !frames_.empty(); });
    if (frames_.empty()) return;
    finish_first(lock);
  }
}

/// The frame stays among the others until it is pushed, so that who waits for it waits for that.
void FramesInFlight::finish_first(std::unique_lock<std::mutex>& lock) {
  SentFrame& frame = *frames_.front();
  lock.unlock();
  GstFlowReturn flow = finish_(frame);
  if (flow == GST_FLOW_OK && !frame.dropped) flow = push_(frame.take_output());
  lock.lock();
  const std::unique_ptr<SentFrame> done = std::move(frames_.front());
  frames_.pop_front();
  if (!done->dropped && flow != GST_FLOW_OK) {
    failure_ = flow;
    for (const std::unique_ptr<SentFrame>& behind : frames_)
      behind->dropped = true;
  }
  changed_.notify_all();
}

}  // namespace cudaconvolve
