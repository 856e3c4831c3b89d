// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams of the stand-in for NVIDIA's driver.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

/// Does one thing after another, each at its time, in a thread that begins with the first.
struct CUstream_st {
 public:
  ~CUstream_st();
  void add(std::function<void()> work);
  void wait();

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> work_;  ///< The first one is being done.
  bool ending_ = false;
  std::thread thread_;
};
