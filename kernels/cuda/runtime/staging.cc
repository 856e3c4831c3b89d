// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/staging.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/core/base/thread_pool.h"
#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/staging_buffers.h"

namespace convolve {
namespace {

// A row of the widest picture, 32,768 pixels of 8 bytes, fits four times. Buffers as small stay in
// the host's cache between the two copies.
static_assert(kStagingBufferBytes >= std::size_t{4} * 32768 * 8, "a row must fit a buffer");

/// A part is worth its copy across the bus, some microseconds of the driver's time, and a thread
/// that wakes for it.
constexpr std::size_t kLeastPartBytes = std::size_t{256} << 10;

}  // namespace

Staging::Staging(const Context& context, const StopSignal* stop)
    : context_(context),
      up_{nullptr, context.device, stop},
      down_{nullptr, context.device, stop},
      part_bytes_(kStagingBufferBytes) {}

void Staging::use(cudaStream_t upload, cudaStream_t download, Waiting waiting) {
  up_.stream = upload;
  down_.stream = download;
  up_.waiting = down_.waiting = waiting;
}

void Staging::expect(std::size_t bytes) {
  // Some fewer parts than there are buffers, as each plane is cut by itself.
  constexpr std::size_t kParts = kThreads * kBuffersUp - 3;
  if (bytes != frame_bytes_) made_ = false;
  frame_bytes_ = bytes;
  part_bytes_ = std::clamp(bytes / kParts, kLeastPartBytes, kStagingBufferBytes);
}

Status Staging::make_rings() {
  if (made_) return {};
  const std::size_t parts = frame_bytes_ / part_bytes_ + kMaxPlanes;
  const std::size_t threads = std::min(
      {kThreads, frame_bytes_ / part_bytes_ + 1, static_cast<std::size_t>(usable_cores())});
  while (rings_.size() < threads)
    rings_.emplace_back();
  Status status;
  for (std::size_t count = 1; status.ok() && count <= std::min(kBuffersDown, parts); ++count)
    status = add_buffers(count);
  // Fewer buffers do, too, and so do fewer rings.
  while (rings_.size() > 1 && rings_.back().down.buffers() == 0)
    rings_.pop_back();
  if (!status.ok() && (status.code() != Code::kOutOfMemory || rings_.front().down.buffers() == 0))
    return status;
  // Both fields of a frame may be noted at once.
  uploads_.reserve(2 * parts);
  for (Rings& rings : rings_)
    rings.down.reserve_rows(2 * parts);
  made_ = true;
  return {};
}

/// Sees to it that each ring has `count` buffers at least, or as many as it wants.
Status Staging::add_buffers(std::size_t count) {
  for (Rings& rings : rings_) {
    if (rings.up.buffers() < std::min(count, kBuffersUp))
      if (Status status = rings.up.add_buffer(); !status.ok()) return status;
    if (rings.down.buffers() < count)
      if (Status status = rings.down.add_buffer(); !status.ok()) return status;
  }
  return {};
}

/// Calls add(part) for parts of the rows.
template <class Add>
void Staging::cut(const PlaneMemory& host, const PlaneMemory& device, int row_bytes, int rows,
                  const Add& add) const {
  const int most = std::max(1, static_cast<int>(part_bytes_) / std::max(row_bytes, 1));
  for (int y = 0; y < rows; y += most) {
    StagedRows part;
    part.host = {host.data + y * host.pitch, host.pitch, Memory::kHost};
    part.device = {device.data + y * device.pitch, device.pitch, Memory::kCuda};
    part.row_bytes = row_bytes;
    part.rows = std::min(most, rows - y);
    add(part);
  }
}

/// work(r) for each pair of rings that has some of `parts` parts, each by one thread, in the
/// context. Returns the first failure.
template <class Work>
Status Staging::on_rings(std::size_t parts, const Work& work) {
  const int rings = static_cast<int>(std::min(parts, rings_.size()));
  std::array<Status, kThreads> status;
  run_bands(rings, rings, [&](int r, int) {
    const std::size_t i = static_cast<std::size_t>(r);
    const CurrentContext current(context_);
    status[i] = current.status().ok() ? work(i) : current.status();
  });
  const auto failed =
      std::find_if(status.begin(), status.end(), [](const Status& s) { return !s.ok(); });
  return failed == status.end() ? Status() : *failed;
}

Status Staging::add_upload(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes,
                           int rows) {
  if (Status status = make_rings(); !status.ok()) return status;
  cut(src, dst, row_bytes, rows, [this](const StagedRows& part) { uploads_.push_back(part); });
  return {};
}

Status Staging::upload() {
  if (uploads_.empty()) return {};
  Status status = on_rings(uploads_.size(), [this](std::size_t r) {
    Status sent;
    for (std::size_t p = r; sent.ok() && p < uploads_.size(); p += rings_.size())
      sent = up_.stop != nullptr && up_.stop->raised() ? stopped()
                                                       : rings_[r].up.send(uploads_[p], up_);
    return sent;
  });
  uploads_.clear();
  return status;
}

Status Staging::upload(const void* src, std::size_t bytes, const EnqueueCopy& copy) {
  if (Status status = make_rings(); !status.ok()) return status;
  for (std::size_t offset = 0; offset < bytes; offset += kStagingBufferBytes) {
    const std::size_t count = std::min(kStagingBufferBytes, bytes - offset);
    if (Status status = rings_.front().up.send(src, offset, count, copy, up_); !status.ok())
      return status;
  }
  return {};
}

Status Staging::upload(void* dst, const void* src, std::size_t bytes) {
  return upload(src, bytes, [&](const void* buffer, std::size_t offset, std::size_t count) {
    return cudaMemcpyAsync(static_cast<std::byte*>(dst) + offset, buffer, count,
                           cudaMemcpyHostToDevice, up_.stream);
  });
}

Status Staging::add_download(const PlaneMemory& dst, const PlaneMemory& src, int row_bytes,
                             int rows) {
  if (Status status = make_rings(); !status.ok()) return status;
  cut(dst, src, row_bytes, rows,
      [this](const StagedRows& part) { rings_[downloads_++ % rings_.size()].down.add(part); });
  return {};
}

Status Staging::download() {
  // By turns, in the order in which they were noted.
  for (std::size_t b = 0; b < kBuffersDown; ++b)
    for (Rings& rings : rings_)
      if (Status status = rings.down.fetch(down_); !status.ok()) return status;
  return {};
}

bool Staging::has_more() const {
  return std::any_of(rings_.begin(), rings_.end(),
                     [](const Rings& rings) { return rings.down.has_more(); });
}

Status Staging::finish() {
  const std::size_t parts = std::exchange(downloads_, 0);
  if (parts == 0) return {};
  // Others are not woken before there is something to copy.
  if (Status status = rings_.front().down.await(down_); !status.ok()) return status;
  return on_rings(parts, [this](std::size_t r) { return rings_[r].down.land(down_); });
}

std::chrono::nanoseconds Staging::sent() const {
  std::chrono::nanoseconds longest{};
  for (const Rings& rings : rings_)
    longest = std::max(longest, rings.up.copied());
  return longest;
}

std::chrono::nanoseconds Staging::landed() const {
  std::chrono::nanoseconds longest{};
  for (const Rings& rings : rings_)
    longest = std::max(longest, rings.down.copied());
  return longest;
}

void Staging::begin_times() {
  for (Rings& rings : rings_) {
    rings.up.begin_times();
    rings.down.begin_times();
  }
}

void Staging::forget() {
  uploads_.clear();
  downloads_ = 0;
  for (Rings& rings : rings_)
    rings.down.forget();
}

void Staging::release() {
  rings_.clear();
}

}  // namespace convolve
