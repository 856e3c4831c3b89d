// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/staging.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/cuda/runtime/check.h"

namespace convolve {
namespace {

/// Larger frames cross in several loads.
constexpr std::size_t kMostBytes = std::size_t{16} << 20;
/// Of a frame that is alone: twice as long on the bus as it takes to wake the threads that copy.
constexpr std::size_t kBytesOfPart = std::size_t{2} << 20;
/// Rows in a buffer begin on cache lines.
constexpr std::size_t kCacheLine = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + kCacheLine - 1) / kCacheLine * kCacheLine;
}

}  // namespace

Staging::Staging(const Context& context, const StopSignal* stop)
    : context_(context),
      up_way_{nullptr, context.device, stop},
      down_way_{nullptr, context.device, stop},
      wanted_(StagingBuffers::kLeastBytes) {}

void Staging::use(cudaStream_t upload, cudaStream_t download, Waiting waiting) {
  up_way_.stream = upload;
  down_way_.stream = download;
  up_way_.waiting = down_way_.waiting = waiting;
}

void Staging::expect(std::size_t bytes) {
  const std::size_t wanted =
      std::clamp(aligned(bytes) + kMaxPlanes * kCacheLine, StagingBuffers::kLeastBytes, kMostBytes);
  if (wanted <= wanted_) return;
  wanted_ = wanted;
  release();
}

/// Appends rows, as many of them as fit to the last load and the others to further ones of at most
/// `most` bytes.
void Staging::add(Loads& loads, Rows rows, std::size_t most) {
  const std::size_t row_bytes = static_cast<std::size_t>(rows.row_bytes);
  for (int left = rows.rows; left > 0; left -= rows.rows) {
    if (loads.empty() || loads.back().bytes + row_bytes > most) loads.emplace_back();
    Load& load = loads.back();
    const std::size_t room = (most - load.bytes) / row_bytes;
    rows.rows = static_cast<int>(std::min<std::size_t>(room, static_cast<std::size_t>(left)));
    rows.offset = load.bytes;
    load.rows.push_back(rows);
    load.bytes =
        std::min(most, aligned(load.bytes + row_bytes * static_cast<std::size_t>(rows.rows)));
    rows.host.data += rows.rows * rows.host.pitch;
    rows.device.data += rows.rows * rows.device.pitch;
  }
}

/// A frame that is alone goes in parts, of which one crosses while the host copies the next. Frames
/// in flight overlap as they are.
std::size_t Staging::most_of_load(const StagingBuffers& buffers) const {
  const bool alone = up_way_.waiting.expected.count() == 0;
  return alone ? std::min(buffers.bytes(), kBytesOfPart) : buffers.bytes();
}

/// Copies rows between host memory and the buffer.
Status Staging::copy_on_host(const Load& load, const StagingBuffer& buffer, bool up) {
  const auto begin = std::chrono::steady_clock::now();
  host_rows_.clear();
  for (const Rows& rows : load.rows) {
    std::uint8_t* const memory = buffer.memory.get() + rows.offset;
    const PlaneMemory& host = rows.host;
    host_rows_.push_back(
        up ? HostRows{memory, rows.row_bytes, host.data, host.pitch, rows.row_bytes, rows.rows}
           : HostRows{host.data, host.pitch, memory, rows.row_bytes, rows.row_bytes, rows.rows});
  }
  Status status = copy_host_rows(host_rows_, up_way_.stop);
  (up ? sent_ : landed_) += std::chrono::steady_clock::now() - begin;
  return status;
}

/// Enqueues copies between the buffer and the device.
Status Staging::copy_across(const Load& load, const StagingBuffer& buffer, bool up) {
  const cudaStream_t stream = up ? up_way_.stream : down_way_.stream;
  const cudaMemcpyKind kind = up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
  for (const Rows& rows : load.rows) {
    const std::size_t bytes = static_cast<std::size_t>(rows.row_bytes);
    // Of a single row the pitch may be any number, and the planes of an owner may be bottom-up.
    const bool by_row = rows.device.pitch < rows.row_bytes;
    const int most = by_row ? 1 : rows.rows;
    const std::size_t pitch = by_row ? bytes : static_cast<std::size_t>(rows.device.pitch);
    for (int y = 0; y < rows.rows; y += most) {
      std::uint8_t* const memory =
          buffer.memory.get() + rows.offset + bytes * static_cast<std::size_t>(y);
      std::uint8_t* const device = rows.device.data + y * rows.device.pitch;
      const std::size_t count = static_cast<std::size_t>(most);
      const Status status = CONVOLVE_CUDA(
          up ? cudaMemcpy2DAsync(device, pitch, memory, bytes, bytes, count, kind, stream)
             : cudaMemcpy2DAsync(memory, bytes, device, pitch, bytes, count, kind, stream));
      if (!status.ok()) return status;
    }
  }
  return {};
}

Status Staging::add_upload(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes,
                           int rows) {
  if (Status status = up_.provide(context_, wanted_); !status.ok()) return status;
  add(uploads_, {src, dst, row_bytes, rows, 0}, most_of_load(up_));
  return {};
}

Status Staging::upload() {
  Status status;
  for (const Load& load : uploads_) {
    Result<StagingBuffer*> buffer = up_.take(context_, up_way_);
    status = buffer.status();
    if (status.ok()) status = copy_on_host(load, *buffer.value(), /*up=*/true);
    if (status.ok()) status = copy_across(load, *buffer.value(), /*up=*/true);
    if (status.ok()) status = StagingBuffers::cross(*buffer.value(), up_way_);
    if (!status.ok()) break;
  }
  uploads_.clear();
  return status;
}

Status Staging::upload(const void* src, std::size_t bytes, const EnqueueCopy& copy) {
  if (Status status = up_.provide(context_, wanted_); !status.ok()) return status;
  for (std::size_t offset = 0, count = 0; offset < bytes; offset += count) {
    count = std::min(up_.bytes(), bytes - offset);
    Result<StagingBuffer*> taken = up_.take(context_, up_way_);
    if (!taken.ok()) return taken.status();
    StagingBuffer& buffer = *taken.value();
    std::memcpy(buffer.memory.get(), static_cast<const std::byte*>(src) + offset, count);
    Status status = CONVOLVE_CUDA(copy(buffer.memory.get(), offset, count));
    if (status.ok()) status = StagingBuffers::cross(buffer, up_way_);
    if (!status.ok()) return status;
  }
  return {};
}

Status Staging::upload(void* dst, const void* src, std::size_t bytes) {
  return upload(src, bytes, [&](const void* buffer, std::size_t offset, std::size_t count) {
    return cudaMemcpyAsync(static_cast<std::byte*>(dst) + offset, buffer, count,
                           cudaMemcpyHostToDevice, up_way_.stream);
  });
}

Status Staging::add_download(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes,
                             int rows) {
  if (Status status = down_.provide(context_, wanted_); !status.ok()) return status;
  // A load whose copy is enqueued cannot take more rows, so those of another field begin a new
  // load.
  if (!has_more()) downloads_.emplace_back();
  add(downloads_, {dst, src, row_bytes, rows, 0}, most_of_load(down_));
  return {};
}

/// Enqueues the copies of the next load, if there is a buffer for it.
Status Staging::fetch() {
  if (!has_more()) return {};
  Result<StagingBuffer*> buffer = down_.take(context_, down_way_);
  if (!buffer.ok() || buffer.value() == nullptr) return buffer.status();
  Load& load = downloads_[fetched_];
  Status status = copy_across(load, *buffer.value(), /*up=*/false);
  if (status.ok()) status = StagingBuffers::cross(*buffer.value(), down_way_);
  if (!status.ok()) return status;
  load.buffer = buffer.value();
  load.buffer->full = true;
  ++fetched_;
  return {};
}

Status Staging::download() {
  for (std::size_t before = fetched_; has_more(); before = fetched_) {
    if (Status status = fetch(); !status.ok()) return status;
    if (fetched_ == before) break;
  }
  return {};
}

Status Staging::finish() {
  while (landing_ < downloads_.size()) {
    Status status;
    if (landing_ == fetched_) status = fetch();
    if (!status.ok()) return status;
    const Load& load = downloads_[landing_];
    status = StagingBuffers::settle(*load.buffer, down_way_);
    if (status.ok()) status = copy_on_host(load, *load.buffer, /*up=*/false);
    if (!status.ok()) return status;
    load.buffer->full = false;
    ++landing_;
    if (status = fetch(); !status.ok()) return status;
  }
  downloads_.clear();
  fetched_ = landing_ = 0;
  return {};
}

void Staging::forget() {
  uploads_.clear();
  downloads_.clear();
  fetched_ = landing_ = 0;
  down_.forget();
}

void Staging::release() {
  forget();
  up_.release();
  down_.release();
}

}  // namespace convolve
