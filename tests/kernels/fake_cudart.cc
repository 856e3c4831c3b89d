// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/fake_cudart.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

namespace {

using Bytes = std::map<const std::uint8_t*, std::size_t>;

/// Memory by its first byte.
struct Memory {
  std::mutex mutex;
  Bytes device, page_locked;
  std::size_t lockable = std::numeric_limits<std::size_t>::max();
};

Memory& memory() {
  static Memory& all = *new Memory;
  return all;
}

/// True if one of the blocks holds all `bytes` bytes from `at` on.
bool holds(const Bytes& blocks, const void* at, std::size_t bytes) {
  const auto* first = static_cast<const std::uint8_t*>(at);
  auto block = blocks.upper_bound(first);
  if (block == blocks.begin()) return false;
  --block;
  return first + bytes <= block->first + block->second;
}

/// True if a copy that way may run by itself: the driver would copy pageable memory within the
/// call.
bool may_cross(const void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind) {
  const std::lock_guard lock(memory().mutex);
  const bool up = kind == cudaMemcpyHostToDevice;
  return holds(memory().device, up ? dst : src, bytes) &&
         holds(memory().page_locked, up ? src : dst, bytes);
}

}  // namespace

struct CUstream_st {
  CUstream_st() : thread([this] { run(); }) { thread.detach(); }

  void add(std::function<void()> work) {
    const std::lock_guard lock(mutex);
    queue.push_back(std::move(work));
    came.notify_one();
  }

  [[noreturn]] void run() {
    std::minstd_rand random(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(this)));
    std::unique_lock lock(mutex);
    for (;;) {
      came.wait(lock, [this] { return !queue.empty(); });
      const std::function<void()> work = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      work();
      lock.lock();
    }
  }

  std::mutex mutex;
  std::condition_variable came;
  std::deque<std::function<void()>> queue;
  std::thread thread;
};

/// A moment in a stream.
struct Moment {
  std::mutex mutex;
  std::condition_variable came;
  bool passed = false;
};

struct CUevent_st {
  std::mutex mutex;
  std::shared_ptr<Moment> moment;

  std::shared_ptr<Moment> get() {
    const std::lock_guard lock(mutex);
    return moment;
  }
};

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  auto moment = std::make_shared<Moment>();
  {
    const std::lock_guard lock(event->mutex);
    event->moment = moment;
  }
  stream->add([moment] {
    const std::lock_guard lock(moment->mutex);
    moment->passed = true;
    moment->came.notify_all();
  });
  return cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::shared_ptr<Moment> moment = event->get();
  if (moment == nullptr) return cudaSuccess;
  const std::lock_guard lock(moment->mutex);
  return moment->passed ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  stream->add([moment = event->get()] {
    if (moment == nullptr) return;
    std::unique_lock lock(moment->mutex);
    moment->came.wait(lock, [&] { return moment->passed; });
  });
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t last) {
  for (const cudaEvent_t event : {first, last}) {
    if (event->get() == nullptr) return cudaErrorInvalidResourceHandle;
    if (cudaEventQuery(event) != cudaSuccess) return cudaErrorNotReady;
  }
  *milliseconds = 0.5f;
  return cudaSuccess;
}

cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t) {
  *data = std::calloc(bytes, 1);
  const std::lock_guard lock(memory().mutex);
  memory().device[static_cast<const std::uint8_t*>(*data)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  stream->add([data] {
    const std::lock_guard lock(memory().mutex);
    memory().device.erase(static_cast<const std::uint8_t*>(data));
    std::free(data);
  });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  stream->add([=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* dst, const void* src, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (!may_cross(dst, src, bytes, kind)) return cudaErrorInvalidValue;
  stream->add([=] { std::memcpy(dst, src, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemcpy2DAsync(void* dst, std::size_t dst_pitch, const void* src,
                              std::size_t src_pitch, std::size_t row_bytes, std::size_t rows,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  if (dst_pitch < row_bytes || src_pitch < row_bytes) return cudaErrorInvalidPitchValue;
  for (std::size_t y : {std::size_t{0}, rows - 1})
    if (!may_cross(static_cast<std::uint8_t*>(dst) + y * dst_pitch,
                   static_cast<const std::uint8_t*>(src) + y * src_pitch, row_bytes, kind))
      return cudaErrorInvalidValue;
  stream->add([=] {
    for (std::size_t y = 0; y < rows; ++y)
      std::memcpy(static_cast<std::uint8_t*>(dst) + y * dst_pitch,
                  static_cast<const std::uint8_t*>(src) + y * src_pitch, row_bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned) {
  const std::lock_guard lock(memory().mutex);
  if (bytes > memory().lockable) return cudaErrorMemoryAllocation;
  memory().lockable -= bytes;
  memory().page_locked[static_cast<const std::uint8_t*>(data)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* data) {
  const std::lock_guard lock(memory().mutex);
  const auto block = memory().page_locked.find(static_cast<const std::uint8_t*>(data));
  if (block == memory().page_locked.end()) return cudaErrorHostMemoryNotRegistered;
  memory().lockable += block->second;
  memory().page_locked.erase(block);
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  const std::lock_guard lock(memory().mutex);
  *attributes = {};
  attributes->type =
      holds(memory().page_locked, data, 1) ? cudaMemoryTypeHost : cudaMemoryTypeUnregistered;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}
const char* cudaGetErrorName(cudaError_t) {
  return "cudaError";
}
const char* cudaGetErrorString(cudaError_t) {
  return "an error of the fake runtime";
}
#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char*, void**, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult*) {
#else
cudaError_t cudaGetDriverEntryPoint(const char*, void**, unsigned long long,
                                    cudaDriverEntryPointQueryResult*) {
#endif
  return cudaErrorNotSupported;
}

}  // extern "C"

namespace fake_cudart {

convolve::Context context() {
  convolve::Context context;
  context.driver.push = [](CUcontext) { return CUDA_SUCCESS; };
  context.driver.pop = [](CUcontext*) { return CUDA_SUCCESS; };
  context.driver.get_id = [](CUcontext, unsigned long long* id) {
    *id = 0;
    return CUDA_SUCCESS;
  };
  return context;
}

cudaStream_t make_stream() {
  return new CUstream_st;
}

void launch(cudaStream_t stream, std::function<void()> work) {
  stream->add(std::move(work));
}

void limit_page_locked(std::size_t bytes) {
  const std::lock_guard lock(memory().mutex);
  memory().lockable = bytes;
}

}  // namespace fake_cudart
