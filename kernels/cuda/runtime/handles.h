// SPDX-License-Identifier: LGPL-2.1-or-later
// Owners of CUDA streams, events and device memory. They are made and destroyed while their
// context is current (context.h). Destructors leave everything alone once CUDA is unusable; what
// else goes wrong there has nobody to hear it, except that sticky errors are latched.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <utility>

#include "kernels/core/base/status.h"
#include "kernels/cuda/runtime/check.h"

namespace convolve {

/// The part that all owners share: one handle, given back once.
template <class Handle, cudaError_t (*destroy)(Handle)>
class Owner {
 public:
  Owner() = default;
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owner() {
    if (handle_ != nullptr) (void)CONVOLVE_CUDA(destroy(handle_));
  }

  Handle get() const { return handle_; }

 protected:
  Handle handle_ = nullptr;
};

/// A stream that does not wait for the default stream, nor the other way round.
class Stream : public Owner<cudaStream_t, cudaStreamDestroy> {
 public:
  static Result<Stream> make() {
    Stream stream;
    Status status =
        CONVOLVE_CUDA(cudaStreamCreateWithFlags(&stream.handle_, cudaStreamNonBlocking));
    if (!status.ok()) return status;
    return stream;
  }
};

class Event : public Owner<cudaEvent_t, cudaEventDestroy> {
 public:
  /// `flags`: cudaEventDefault measures time, cudaEventDisableTiming only orders.
  static Result<Event> make(unsigned flags) {
    Event event;
    Status status = CONVOLVE_CUDA(cudaEventCreateWithFlags(&event.handle_, flags));
    if (!status.ok()) return status;
    return event;
  }
};

/// Device memory taken and freed in the order of a stream, which outlives it. cudaFree would wait
/// for all work of all streams; here a change of mask in one element does not stall the others.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~DeviceMemory() {
    if (data_ != nullptr) (void)CONVOLVE_CUDA(cudaFreeAsync(data_, stream_));
  }

  static Result<DeviceMemory> make(std::size_t bytes, cudaStream_t stream) {
    DeviceMemory memory;
    Status status = CONVOLVE_CUDA(cudaMallocAsync(&memory.data_, bytes, stream));
    if (!status.ok()) return status;
    memory.bytes_ = bytes;
    memory.stream_ = stream;
    return memory;
  }

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  cudaStream_t stream_ = nullptr;
};

}  // namespace convolve
