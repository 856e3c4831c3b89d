// SPDX-License-Identifier: LGPL-2.1-or-later
// The frames that were sent to a device and are not pushed yet, and the thread that pushes each, in
// order, as soon as it is finished, whether or not another follows.
#pragma once

#include <gst/gst.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "plugin/frames/sent_frame.h"

namespace cudaconvolve {

/// start(), stop() and discard() are called while no frames come; the others by the streaming
/// thread.
class FramesInFlight {
 public:
  /// `finish` waits for a frame and says whether its output may be pushed; `push` takes the output.
  /// Both are called by the thread, and throw nothing.
  using Finish = std::function<GstFlowReturn(SentFrame&)>;
  using Push = std::function<GstFlowReturn(GstBuffer*)>;
  FramesInFlight(Finish finish, Push push) : finish_(std::move(finish)), push_(std::move(push)) {}
  ~FramesInFlight() { stop(); }
  FramesInFlight(const FramesInFlight&) = delete;
  FramesInFlight& operator=(const FramesInFlight&) = delete;

  /// Adds a frame behind the others, and waits until no more than `most` are in flight. The thread
  /// begins with the first frame. Returns what the first frame that failed since the last call came
  /// to, here or downstream; frames that were in flight behind it are dropped.
  GstFlowReturn add(std::unique_ptr<SentFrame> frame, std::size_t most);

  /// Waits until all are pushed; returns as add() does.
  GstFlowReturn drain();

  /// Waits, after a flush, until no frame is left, and forgets what they came to.
  void discard();

  /// True if none is in flight, and none has failed that no caller knows of.
  bool is_clear() const {
    const std::lock_guard lock(mutex_);
    return frames_.empty() && failure_ == GST_FLOW_OK;
  }

  /// How many are in flight now; any thread may ask.
  std::size_t count() const {
    const std::lock_guard lock(mutex_);
    return frames_.size();
  }

  /// Ends the thread; no frame is left.
  void stop();

 private:
  void run();
  void finish_first(std::unique_lock<std::mutex>& lock);

  const Finish finish_;
  const Push push_;
  std::thread thread_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<SentFrame>> frames_;  ///< The first one is being waited for.
  GstFlowReturn failure_ = GST_FLOW_OK;            ///< Not told to a caller yet.
  bool ending_ = false;
};

}  // namespace cudaconvolve
