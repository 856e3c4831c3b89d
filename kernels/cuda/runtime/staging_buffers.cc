// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/staging_buffers.h"

#include <cstdlib>
#include <mutex>
#include <vector>

#include "kernels/cuda/runtime/page_locked.h"

namespace convolve {
namespace {

struct Pool {
  std::mutex mutex;
  std::vector<void*> buffers;
};

/// Never destroyed: nothing of CUDA may run in static destructors.
Pool& pool() {
  static Pool& pool = *new Pool;
  return pool;
}

}  // namespace

Result<void*> take_staging_buffer() {
  void* buffer = nullptr;
  {
    const std::lock_guard<std::mutex> lock(pool().mutex);
    if (!pool().buffers.empty()) {
      buffer = pool().buffers.back();
      pool().buffers.pop_back();
    }
  }
  if (buffer == nullptr) buffer = std::aligned_alloc(kPageBytes, kStagingBufferBytes);
  if (buffer == nullptr) return Status(Code::kOutOfMemory, "host memory is exhausted");
  if (Status status = lock_pages(buffer, kStagingBufferBytes); !status.ok()) {
    give_staging_buffer(buffer);
    return status;
  }
  return buffer;
}

void give_staging_buffer(void* buffer) {
  const std::lock_guard<std::mutex> lock(pool().mutex);
  pool().buffers.push_back(buffer);
}

}  // namespace convolve
