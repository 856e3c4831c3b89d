// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/staging_buffers.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/page_locked.h"

namespace convolve {
namespace {

constexpr std::size_t kMostBuffers = 2;

static_assert(StagingBuffers::kLeastBytes >= std::size_t{4} * 32768 * 8, "a row must fit a buffer");

/// Keeps for good what a device that was left behind may still write; reachable, so that no tool
/// takes it for a leak.
void abandon(std::shared_ptr<std::uint8_t> memory) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::vector<std::shared_ptr<std::uint8_t>>;
  const std::lock_guard<std::mutex> lock(mutex);
  all.push_back(std::move(memory));
}

}  // namespace

Status StagingBuffers::add(const Context& context, std::size_t bytes) {
  auto buffer = std::make_unique<StagingBuffer>();
  Result<Event> crossed = Event::make(cudaEventDisableTiming);
  if (!crossed.ok()) return crossed.status();
  buffer->crossed = std::move(crossed.value());
  Result<std::shared_ptr<std::uint8_t>> memory =
      make_page_locked(context, bytes, bytes == kLeastBytes);
  if (!memory.ok()) return memory.status();
  buffer->memory = std::move(memory.value());
  buffers_.insert(buffers_.begin(), std::move(buffer));
  return {};
}

Status StagingBuffers::provide(const Context& context, std::size_t bytes) {
  if (!buffers_.empty()) return {};
  bytes_ = std::max(bytes, kLeastBytes);
  Status status = add(context, bytes_);
  if (status.code() != Code::kOutOfMemory || bytes_ == kLeastBytes) return status;
  // Where a whole frame finds no room, uploads and downloads make do with little.
  bytes_ = kLeastBytes;
  return add(context, bytes_);
}

Result<StagingBuffer*> StagingBuffers::take(const Context& context, const StagingWay& way) {
  const auto is_free = [](const std::unique_ptr<StagingBuffer>& b) {
    return !b->full && (!b->crossing || passes_within(b->crossed.get(), {}));
  };
  auto found = std::find_if(buffers_.begin(), buffers_.end(), is_free);
  if (found == buffers_.end() && buffers_.size() < kMostBuffers) {
    const Status status = add(context, bytes_);
    if (!status.ok() && status.code() != Code::kOutOfMemory) return status;
    if (status.ok()) found = buffers_.begin();
  }
  if (found == buffers_.end())
    found = std::find_if(buffers_.begin(), buffers_.end(),
                         [](const std::unique_ptr<StagingBuffer>& b) { return !b->full; });
  if (found == buffers_.end()) return static_cast<StagingBuffer*>(nullptr);
  if (Status status = settle(**found, way); !status.ok()) return status;
  std::rotate(found, found + 1, buffers_.end());
  return buffers_.back().get();
}

Status StagingBuffers::cross(StagingBuffer& buffer, const StagingWay& way) {
  Status status = CONVOLVE_CUDA(cudaEventRecord(buffer.crossed.get(), way.stream));
  buffer.crossing = status.ok();
  return status;
}

Status StagingBuffers::settle(StagingBuffer& buffer, const StagingWay& way) {
  if (!buffer.crossing) return {};
  if (Status status = wait_for(buffer.crossed.get(), way.device, way.stop, way.waiting);
      !status.ok())
    return status;
  buffer.crossing = false;
  return {};
}

void StagingBuffers::forget() {
  for (const std::unique_ptr<StagingBuffer>& buffer : buffers_)
    buffer->full = false;
}

void StagingBuffers::release() {
  for (const std::unique_ptr<StagingBuffer>& buffer : buffers_)
    if (buffer->crossing && !passes_within(buffer->crossed.get(), std::chrono::milliseconds(0)))
      abandon(std::move(buffer->memory));
  buffers_.clear();
  bytes_ = 0;
}

}  // namespace convolve
