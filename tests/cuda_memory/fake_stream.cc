// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/cuda_memory/fake_stream.h"

#include <cuda.h>

#include <atomic>
#include <chrono>

#include "tests/cuda_memory/fake_driver.h"

namespace {

std::atomic<int> delay{0};  ///< Of all that is asked of streams, in milliseconds.

}  // namespace

CUstream_st::~CUstream_st() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void CUstream_st::add(std::function<void()> work) {
  const std::lock_guard lock(mutex_);
  work_.push_back(std::move(work));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  changed_.notify_all();
}

void CUstream_st::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return work_.empty(); });
}

void CUstream_st::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ending_ || !work_.empty(); });
    if (work_.empty()) return;
    const std::function<void()>& work = work_.front();
    lock.unlock();
    std::this_thread::sleep_for(std::chrono::milliseconds(delay));
    work();
    lock.lock();
    work_.pop_front();
    changed_.notify_all();
  }
}

extern "C" {

void fake_driver_delay(int milliseconds) {
  delay = milliseconds;
}
void fake_driver_wait_for(void* stream) {
  static_cast<CUstream>(stream)->wait();
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
  stream->add([function, data] { function(data); });
  return CUDA_SUCCESS;
}
CUresult cuStreamCreate(CUstream* stream, unsigned) {
  *stream = new CUstream_st;
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  delete stream;
  return CUDA_SUCCESS;
}
#undef cuStreamDestroy
CUresult cuStreamDestroy(CUstream stream) {
  return cuStreamDestroy_v2(stream);
}
}
