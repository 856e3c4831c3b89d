// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/frame_slot.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/page_locked.h"
#include "kernels/cuda/runtime/wait.h"

namespace convolve {
namespace {

Status wait_across(cudaStream_t stream, const Event& event) {
  return CONVOLVE_CUDA(cudaStreamWaitEvent(stream, event.get(), 0));
}

/// Makes all later work on stream `to` wait for all earlier work on stream `from`.
Status follow(cudaStream_t to, cudaStream_t from, const Event& event) {
  if (to == from) return {};
  Status status = CONVOLVE_CUDA(cudaEventRecord(event.get(), from));
  return status.ok() ? wait_across(to, event) : status;
}

}  // namespace

FrameSlot::~FrameSlot() = default;

Status FrameSlot::initialise() {
  for (Event* event : {&uploaded_[0], &uploaded_[1], &filtered_, &done_}) {
    Result<Event> made = Event::make(cudaEventDisableTiming);
    if (!made.ok()) return made.status();
    *event = std::move(made.value());
  }
  return kernels_.enable();
}

Status FrameSlot::measure_copies() {
  Status status = upload_.enable();
  return status.ok() ? download_.enable() : status;
}

Status FrameSlot::grow(DeviceMemory& memory, std::size_t bytes, cudaStream_t stream) {
  if (memory.bytes() >= bytes) return {};
  // The old memory stays until the new is there: an earlier job may have to run on without it.
  Result<DeviceMemory> larger = DeviceMemory::make(bytes, stream);
  if (!larger.ok()) return larger.status();
  memory = std::move(larger.value());
  // Bytes between the components of a plane are copied with it and written by nobody: what other
  // programs left in this memory must not leave through them.
  return CONVOLVE_CUDA(cudaMemsetAsync(memory.data(), 0, bytes, stream));
}

Status FrameSlot::reserve(std::size_t bytes, cudaStream_t stream) {
  staging_.expect(bytes);
  if (std::min(source_.bytes(), destination_.bytes()) < bytes) fresh_on_ = stream;
  Status status = grow(source_, bytes, stream);
  return status.ok() ? grow(destination_, bytes, stream) : status;
}

Status FrameSlot::begin(const FrameStreams& streams, cudaStream_t kernels_before) {
  const bool in_use = working_;
  if (!in_use) device_begins_work();
  working_ = true;
  const FrameStreams before = std::exchange(streams_, streams);
  staging_.use(streams.upload, streams.download, streams.waiting);
  Status status;
  // Rows of the first field that wait on the device for a buffer would be written over now.
  if (begun_ && staging_.has_more()) status = staging_.finish();
  if (in_use && !begun_) {
    // A stop has left a frame behind, which may still be at work with the slot's memory.
    for (const cudaStream_t to : {streams.kernels, streams.upload})
      if (status.ok()) status = wait_across(to, done_);
  }
  if (begun_) {
    // The destination of the first field is still on its way back.
    if (status.ok()) status = follow(streams.kernels, before.download, done_);
    if (!before.are(streams))
      for (const cudaStream_t from : {before.upload, before.kernels, before.download})
        for (const cudaStream_t to : {streams.kernels, streams.upload})
          if (status.ok()) status = follow(to, from, done_);
  }
  if (status.ok() && kernels_before != nullptr)
    status = follow(streams.kernels, kernels_before, done_);
  if (status.ok()) status = await_fresh_memory(streams);
  runs_before_owned_ = !begun_ || (runs_before_owned_ && run_owned_);
  run_owned_ = handed_over_ = false;
  if (!begun_) {
    taken_ = 0;
    staging_.begin_times();
    for (StreamSpans* spans : {&upload_, &kernels_, &download_})
      spans->clear();
  }
  first_run_ = !begun_;
  begun_ = true;
  whole_ = false;
  sent_ = awaited_ = 0;
  return status;
}

/// The host waits, as streams of others must not: that on which memory was taken may wait for an
/// owner of CUDA memory.
Status FrameSlot::await_fresh_memory(const FrameStreams& streams) {
  if (fresh_on_ == nullptr || (fresh_on_ == streams.kernels && fresh_on_ == streams.upload))
    return {};
  Status status = CONVOLVE_CUDA(cudaEventRecord(done_.get(), fresh_on_));
  if (status.ok()) status = wait_for(done_.get(), device_, stop_);
  if (status.ok()) fresh_on_ = nullptr;
  return status;
}

void FrameSlot::hand_over_to(cudaStream_t source_owner, cudaStream_t destination_owner) {
  const std::array<cudaStream_t, 2> owners{source_owner, destination_owner};
  runs_before_owned_ = runs_before_owned_ && (first_run_ || owners == owners_);
  owners_ = owners;
  run_owned_ = true;
}

Status FrameSlot::await_owner(cudaStream_t owner) {
  return follow(streams_.kernels, owner, done_);
}

Result<std::uint8_t*> FrameSlot::take_source(std::size_t bytes) {
  if (taken_ + bytes > source_.bytes()) {
    if (taken_ > 0)
      if (Status status = follow(streams_.upload, streams_.kernels, done_); !status.ok())
        return status;
    taken_ = 0;
  }
  std::uint8_t* const taken = static_cast<std::uint8_t*>(source_.data()) + taken_;
  taken_ += bytes;
  return taken;
}

Status FrameSlot::begin_source() {
  whole_ = false;
  return upload_.begin(streams_.upload);
}

Status FrameSlot::end_source() {
  Status status = upload_.end(streams_.upload);
  if (!status.ok() || !streams_.apart()) return status;
  return CONVOLVE_CUDA(
      cudaEventRecord(uploaded_[sent_++ % uploaded_.size()].get(), streams_.upload));
}

Status FrameSlot::await_source() {
  if (!streams_.apart()) return {};
  return wait_across(streams_.kernels, uploaded_[awaited_++ % uploaded_.size()]);
}

Status FrameSlot::begin_kernels() {
  whole_ = false;
  return times_kernels_ ? kernels_.begin(streams_.kernels) : Status();
}

Status FrameSlot::end_kernels() {
  Status status = kernels_.end(streams_.kernels);
  if (status.ok()) status = follow(streams_.download, streams_.kernels, filtered_);
  whole_ = status.ok() && sent_ == awaited_;
  return status;
}

Status FrameSlot::begin_destination() {
  return download_.begin(streams_.download);
}

Status FrameSlot::end_destination() {
  return download_.end(streams_.download);
}

Status FrameSlot::end(const FrameStreams& streams, bool may_hand_over) {
  const bool begun = std::exchange(begun_, false);
  const FrameStreams before = streams_;
  handed_over_ = false;
  if (!begun) {
    streams_ = streams;
    for (StreamSpans* spans : {&upload_, &kernels_, &download_})
      spans->clear();
  }
  const cudaStream_t last = begun ? streams_.download : streams_.kernels;
  // The download of a whole frame comes behind all else of it. But a plane that no kernel writes
  // goes from host memory to the owner's device memory by itself, and of a frame that failed, or
  // that a stop left behind, any stream may be at work.
  if (owes_wait_ || !begun || !whole_)
    for (const FrameStreams& from : {before, streams_}) {
      if (from.of_owner) continue;  // It may be gone, or is the only one.
      for (const cudaStream_t stream : {from.upload, from.kernels, from.download})
        if (stream != nullptr)
          if (Status status = follow(last, stream, done_); !status.ok()) return status;
    }
  Status status = CONVOLVE_CUDA(cudaEventRecord(done_.get(), last));
  return status.ok() && begun && may_hand_over ? hand_over() : status;
}

Status FrameSlot::hand_over() {
  if (!run_owned_ || !runs_before_owned_) return {};
  Status status;
  if (owners_[0] != streams_.kernels) status = wait_across(owners_[0], done_);
  if (status.ok() && owners_[1] != owners_[0] && owners_[1] != streams_.kernels)
    status = wait_across(owners_[1], done_);
  handed_over_ = status.ok();
  return status;
}

Status FrameSlot::finish() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  if (handed_over_) {
    // Nothing of the frame is the slot's, nor in host memory: what is still at work is for its
    // owners' streams to wait for.
    rest();
    owes_wait_ = false;
    times_ = {};
    return cuda_usable() ? Status() : cuda_unusable();
  }
  // Copies that staging still has to enqueue come behind done_, which is then marked once more,
  // whether they were awaited or not.
  const bool more = staging_.has_more();
  Status status = staging_.finish();
  if (more)
    if (Status marked = CONVOLVE_CUDA(cudaEventRecord(done_.get(), streams_.download)); status.ok())
      status = marked;
  if (status.ok() || (status.code() == Code::kStopped && owes_wait_))
    if (Status ended =
            wait_for(done_.get(), device_, owes_wait_ ? nullptr : stop_, streams_.waiting);
        !ended.ok())
      status = ended;
  owes_wait_ = false;
  staging_.forget();
  times_ = {};
  if (!status.ok()) return status;
  rest();
  const std::chrono::nanoseconds all = Clock::now() - begin;
  times_.host_copy = static_cast<std::uint64_t>((staging_.sent() + staging_.landed()).count());
  times_.waiting = static_cast<std::uint64_t>(
      std::max(all - staging_.landed(), std::chrono::nanoseconds::zero()).count());
  times_.upload = upload_.sum();
  times_.kernels = kernels_.sum();
  times_.download = download_.sum();
  return cuda_usable() ? Status() : cuda_unusable();
}

bool FrameSlot::come_to_rest(std::chrono::milliseconds patience) {
  if (!working_) return true;
  if (begun_ && !end(streams_).ok()) return false;
  if (!passes_within(done_.get(), patience)) return false;
  rest();
  return true;
}

void FrameSlot::rest() {
  if (working_) device_ends_work();
  working_ = false;
}

void FrameSlot::release() {
  source_ = DeviceMemory();
  destination_ = DeviceMemory();
  staging_.release();
  for (StreamSpans* spans : {&upload_, &kernels_, &download_})
    spans->release();
  for (Event* event : {&uploaded_[0], &uploaded_[1], &filtered_, &done_})
    *event = Event();
}

}  // namespace convolve
