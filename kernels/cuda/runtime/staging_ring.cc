// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/staging_ring.h"

#include <cstdint>
#include <cstring>
#include <utility>

#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/staging_buffers.h"

namespace convolve {
namespace {

std::size_t device_pitch(const StagedRows& rows) {
  // Of a single row the pitch may be any number, also one that a copy of rows does not take.
  return static_cast<std::size_t>(rows.rows == 1 ? rows.row_bytes : rows.device.pitch);
}

}  // namespace

Status StagingRing::add_buffer() {
  Result<Event> crossed = Event::make(cudaEventDisableTiming);
  if (!crossed.ok()) return crossed.status();
  Result<void*> memory = take_staging_buffer();
  if (!memory.ok()) return memory.status();
  buffers_.push_back({memory.value(), std::move(crossed.value()), false});
  return {};
}

Result<StagingRing::Buffer*> StagingRing::take(const StagingWay& way) {
  Buffer& buffer = buffers_[next_];
  if (Status status = settle(buffer, way); !status.ok()) return status;
  return &buffer;
}

Status StagingRing::settle(Buffer& buffer, const StagingWay& way) {
  if (!buffer.busy) return {};
  if (Status status = wait_for(buffer.crossed.get(), way.device, way.stop, way.waiting);
      !status.ok())
    return status;
  buffer.busy = false;
  return {};
}

/// The copy of `buffer`, whose turn it was, is enqueued.
Status StagingRing::cross(Buffer& buffer, const StagingWay& way) {
  Status status = CONVOLVE_CUDA(cudaEventRecord(buffer.crossed.get(), way.stream));
  buffer.busy = status.ok();
  if (status.ok()) next_ = (next_ + 1) % buffers_.size();
  return status;
}

/// Between host planes; one copy where both are dense.
void StagingRing::copy_rows(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes,
                            int rows) {
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t bytes = static_cast<std::size_t>(row_bytes);
  if (dst.pitch == row_bytes && src.pitch == row_bytes)
    std::memcpy(dst.data, src.data, bytes * static_cast<std::size_t>(rows));
  else
    for (int y = 0; y < rows; ++y)
      std::memcpy(dst.data + y * dst.pitch, src.data + y * src.pitch, bytes);
  copied_ += std::chrono::steady_clock::now() - begin;
}

Status StagingRing::send(const StagedRows& rows, const StagingWay& way) {
  Result<Buffer*> buffer = take(way);
  if (!buffer.ok()) return buffer.status();
  const std::size_t bytes = static_cast<std::size_t>(rows.row_bytes);
  void* const memory = buffer.value()->memory;
  copy_rows({static_cast<std::uint8_t*>(memory), rows.row_bytes, Memory::kHost}, rows.host,
            rows.row_bytes, rows.rows);
  Status status = CONVOLVE_CUDA(cudaMemcpy2DAsync(rows.device.data, device_pitch(rows), memory,
                                                  bytes, bytes, static_cast<std::size_t>(rows.rows),
                                                  cudaMemcpyHostToDevice, way.stream));
  return status.ok() ? cross(*buffer.value(), way) : status;
}

Status StagingRing::send(const void* src, std::size_t offset, std::size_t bytes,
                         const EnqueueCopy& copy, const StagingWay& way) {
  Result<Buffer*> buffer = take(way);
  if (!buffer.ok()) return buffer.status();
  std::memcpy(buffer.value()->memory, static_cast<const std::byte*>(src) + offset, bytes);
  Status status = CONVOLVE_CUDA(copy(buffer.value()->memory, offset, bytes));
  return status.ok() ? cross(*buffer.value(), way) : status;
}

Status StagingRing::fetch(const StagingWay& way) {
  if (!has_more() || fetched_ - landed_ == buffers_.size()) return {};
  Result<Buffer*> buffer = take(way);
  if (!buffer.ok()) return buffer.status();
  const StagedRows& rows = rows_[fetched_];
  const std::size_t bytes = static_cast<std::size_t>(rows.row_bytes);
  Status status = CONVOLVE_CUDA(
      cudaMemcpy2DAsync(buffer.value()->memory, bytes, rows.device.data, device_pitch(rows), bytes,
                        static_cast<std::size_t>(rows.rows), cudaMemcpyDeviceToHost, way.stream));
  if (status.ok()) status = cross(*buffer.value(), way);
  if (status.ok()) ++fetched_;
  return status;
}

/// The buffer of the rows that land next. Rows lie in buffers in the order in which they were
/// fetched, the last ones right before the buffer whose turn it is.
StagingRing::Buffer& StagingRing::landing() {
  const std::size_t back = fetched_ - landed_;
  return buffers_[(next_ + buffers_.size() - back) % buffers_.size()];
}

Status StagingRing::await(const StagingWay& way) {
  return landed_ < fetched_ ? settle(landing(), way) : Status();
}

Status StagingRing::land(const StagingWay& way) {
  while (landed_ < rows_.size()) {
    Status status;
    if (landed_ == fetched_) status = fetch(way);
    if (!status.ok()) return status;
    Buffer& buffer = landing();
    if (status = settle(buffer, way); !status.ok()) return status;
    const StagedRows& rows = rows_[landed_];
    copy_rows(rows.host, {static_cast<std::uint8_t*>(buffer.memory), rows.row_bytes, Memory::kHost},
              rows.row_bytes, rows.rows);
    ++landed_;
    if (status = fetch(way); !status.ok()) return status;
  }
  forget();
  return {};
}

void StagingRing::forget() {
  rows_.clear();
  fetched_ = landed_ = 0;
}

void StagingRing::release() {
  forget();
  for (Buffer& buffer : buffers_)
    if (!buffer.busy || passes_within(buffer.crossed.get(), std::chrono::milliseconds(0)))
      give_staging_buffer(buffer.memory);
  buffers_.clear();
  next_ = 0;
}

}  // namespace convolve
