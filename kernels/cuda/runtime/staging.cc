// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/staging.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/staging_buffers.h"
#include "kernels/cuda/runtime/wait.h"

namespace convolve {
namespace {

// A row of the widest picture, 32,768 pixels of 8 bytes, fits four times. Buffers as small stay in
// the host's cache between the two copies.
static_assert(kStagingBufferBytes >= std::size_t{4} * 32768 * 8, "a row must fit a buffer");

/// Buffers that may cross while the host copies another.
constexpr std::size_t kMostSlots = 8;

constexpr std::chrono::milliseconds kNoWait{0};

/// Copies rows between host planes; one copy where both are dense.
void copy_rows(std::uint8_t* dst, std::ptrdiff_t dst_pitch, const std::uint8_t* src,
               std::ptrdiff_t src_pitch, std::size_t row_bytes, int rows) {
  const std::ptrdiff_t dense = static_cast<std::ptrdiff_t>(row_bytes);
  if (dst_pitch == dense && src_pitch == dense) {
    std::memcpy(dst, src, row_bytes * static_cast<std::size_t>(rows));
    return;
  }
  for (int y = 0; y < rows; ++y)
    std::memcpy(dst + y * dst_pitch, src + y * src_pitch, row_bytes);
}

}  // namespace

Staging::~Staging() {
  release();
}

Status Staging::reserve(std::size_t bytes) {
  while (slots_.size() < std::min(kMostSlots, bytes / kStagingBufferBytes + 1))
    if (Status status = add(); !status.ok()) return status;
  return {};
}

/// The slot taken last that nothing crosses any more, or the end. What was used last is most likely
/// in the host's cache still.
Staging::Slots::iterator Staging::last_passed() {
  for (auto slot = slots_.end(); slot != slots_.begin();) {
    --slot;
    if (!slot->busy || passes_within(slot->crossed.get(), kNoWait)) return slot;
  }
  return slots_.end();
}

/// A slot that nothing crosses any more: a new one if all are busy and there may be more of them,
/// else the one that was taken first.
Result<Staging::Slot*> Staging::take() {
  auto slot = last_passed();
  if (slot == slots_.end() && slots_.size() < kMostSlots) {
    Status status = add();
    // Fewer buffers do, too.
    if (!status.ok() && (status.code() != Code::kOutOfMemory || slots_.empty())) return status;
    if (status.ok()) slot = std::prev(slots_.end());
  }
  if (slot == slots_.end()) slot = slots_.begin();
  if (Status status = settle(*slot); !status.ok()) return status;
  slots_.splice(slots_.end(), slots_, slot);
  return &*slot;
}

Status Staging::add() {
  Result<Event> crossed = Event::make(cudaEventDisableTiming);
  if (!crossed.ok()) return crossed.status();
  Result<void*> memory = take_staging_buffer();
  if (!memory.ok()) return memory.status();
  Slot slot;
  slot.memory = memory.value();
  slot.crossed = std::move(crossed.value());
  slots_.push_back(std::move(slot));
  return {};
}

/// Waits for what crosses in `slot`, and brings it to host memory if that is where it belongs.
Status Staging::settle(Slot& slot) {
  if (!slot.busy) return {};
  if (Status status = wait_for(slot.crossed.get(), device_, stop_); !status.ok()) return status;
  slot.busy = false;
  if (slot.dst.data != nullptr)
    copy_rows(slot.dst.data, slot.dst.pitch, static_cast<const std::uint8_t*>(slot.memory),
              slot.row_bytes, static_cast<std::size_t>(slot.row_bytes), slot.rows);
  slot.dst = PlaneMemory();
  return {};
}

/// The copy of `slot` is enqueued.
Status Staging::cross(Slot& slot, cudaStream_t stream) {
  Status status = CONVOLVE_CUDA(cudaEventRecord(slot.crossed.get(), stream));
  slot.busy = status.ok();
  return status;
}

Status Staging::upload(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes, int rows) {
  const std::size_t bytes = static_cast<std::size_t>(row_bytes);
  const int most = static_cast<int>(kStagingBufferBytes / std::max<std::size_t>(bytes, 1));
  for (int y = 0; y < rows; y += most) {
    const int count = std::min(most, rows - y);
    Result<Slot*> slot = take();
    if (!slot.ok()) return slot.status();
    auto* const buffer = static_cast<std::uint8_t*>(slot.value()->memory);
    copy_rows(buffer, row_bytes, src.data + y * src.pitch, src.pitch, bytes, count);
    Status status = CONVOLVE_CUDA(cudaMemcpy2DAsync(
        dst.data + y * dst.pitch, static_cast<std::size_t>(dst.pitch), buffer, bytes, bytes,
        static_cast<std::size_t>(count), cudaMemcpyHostToDevice, upload_));
    if (status.ok()) status = cross(*slot.value(), upload_);
    if (!status.ok()) return status;
  }
  return {};
}

Status Staging::upload(const void* src, std::size_t bytes, const EnqueueCopy& copy) {
  for (std::size_t offset = 0; offset < bytes; offset += kStagingBufferBytes) {
    const std::size_t count = std::min(kStagingBufferBytes, bytes - offset);
    Result<Slot*> slot = take();
    if (!slot.ok()) return slot.status();
    std::memcpy(slot.value()->memory, static_cast<const std::byte*>(src) + offset, count);
    Status status = CONVOLVE_CUDA(copy(slot.value()->memory, offset, count));
    if (status.ok()) status = cross(*slot.value(), upload_);
    if (!status.ok()) return status;
  }
  return {};
}

Status Staging::upload(void* dst, const void* src, std::size_t bytes) {
  return upload(src, bytes, [&](const void* buffer, std::size_t offset, std::size_t count) {
    return cudaMemcpyAsync(static_cast<std::byte*>(dst) + offset, buffer, count,
                           cudaMemcpyHostToDevice, upload_);
  });
}

Status Staging::download(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes, int rows) {
  const std::size_t bytes = static_cast<std::size_t>(row_bytes);
  const int most = static_cast<int>(kStagingBufferBytes / std::max<std::size_t>(bytes, 1));
  for (int y = 0; y < rows; y += most) {
    const int count = std::min(most, rows - y);
    Result<Slot*> taken = take();
    if (!taken.ok()) return taken.status();
    Slot& slot = *taken.value();
    Status status = CONVOLVE_CUDA(cudaMemcpy2DAsync(
        slot.memory, bytes, src.data + y * src.pitch, static_cast<std::size_t>(src.pitch), bytes,
        static_cast<std::size_t>(count), cudaMemcpyDeviceToHost, download_));
    if (status.ok()) status = cross(slot, download_);
    if (!status.ok()) return status;
    slot.dst = {dst.data + y * dst.pitch, dst.pitch, Memory::kHost};
    slot.row_bytes = row_bytes;
    slot.rows = count;
  }
  return {};
}

Status Staging::finish() {
  // In the order in which they were enqueued, so that the host copies what has come while the rest
  // crosses.
  for (Slot& slot : slots_) {
    if (slot.dst.data == nullptr) continue;
    if (Status status = settle(slot); !status.ok()) return status;
  }
  return {};
}

void Staging::forget_downloads() {
  for (Slot& slot : slots_)
    slot.dst = PlaneMemory();
}

void Staging::release() {
  forget_downloads();
  for (Slot& slot : slots_)
    if (!slot.busy || passes_within(slot.crossed.get(), kNoWait)) give_staging_buffer(slot.memory);
  slots_.clear();
}

}  // namespace convolve
