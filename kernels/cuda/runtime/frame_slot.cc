// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/frame_slot.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/page_locked.h"
#include "kernels/cuda/runtime/wait.h"

namespace convolve {
namespace {

Status wait_across(cudaStream_t stream, const Event& event) {
  return CONVOLVE_CUDA(cudaStreamWaitEvent(stream, event.get(), 0));
}

Status make_events(std::initializer_list<Event*> events, unsigned flags) {
  for (Event* event : events) {
    Result<Event> made = Event::make(flags);
    if (!made.ok()) return made.status();
    *event = std::move(made.value());
  }
  return {};
}

}  // namespace

Status FrameSlot::Span::begin(cudaStream_t stream) {
  marked = false;
  return first.get() != nullptr ? CONVOLVE_CUDA(cudaEventRecord(first.get(), stream)) : Status();
}

Status FrameSlot::Span::end(cudaStream_t stream) {
  if (last.get() == nullptr) return {};
  Status status = CONVOLVE_CUDA(cudaEventRecord(last.get(), stream));
  marked = status.ok();
  return status;
}

std::uint64_t FrameSlot::Span::read() {
  if (!std::exchange(marked, false)) return 0;
  float milliseconds = 0;
  // The frame is right, whether or not its time is known.
  const bool known =
      CONVOLVE_CUDA(cudaEventElapsedTime(&milliseconds, first.get(), last.get())).ok();
  return known ? static_cast<std::uint64_t>(std::lround(milliseconds * 1e6)) : 0;
}

FrameSlot::~FrameSlot() = default;

Status FrameSlot::initialise() {
  Status status = make_events({&kernels_.first, &kernels_.last}, cudaEventDefault);
  return status.ok() ? make_events({&uploaded_, &done_}, cudaEventDisableTiming) : status;
}

Status FrameSlot::measure_copies() {
  if (download_.last.get() != nullptr) return {};
  return make_events({&upload_.first, &upload_.last, &download_.first, &download_.last},
                     cudaEventDefault);
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

Status FrameSlot::reserve(std::size_t bytes, const FrameStreams& streams) {
  staging_.expect(bytes);
  Status status = grow(source_, bytes, streams.kernels);
  if (status.ok()) status = grow(destination_, bytes, streams.kernels);
  // The first upload goes to memory that was taken and filled on the stream of the kernels.
  if (status.ok() && streams.apart()) {
    status = CONVOLVE_CUDA(cudaEventRecord(kernels_.last.get(), streams.kernels));
    if (status.ok()) status = wait_across(streams.upload, kernels_.last);
  }
  return status;
}

Status FrameSlot::begin(const FrameStreams& streams) {
  // The other field of the frame, or a frame that a stop has left behind.
  const bool in_use = working_;
  if (!in_use) device_begins_work();
  working_ = true;
  streams_ = streams;
  staging_.use(streams.upload, streams.download, streams.waiting());
  Status status;
  // Rows of the first field that wait on the device for a buffer would be written over now.
  if (begun_ && staging_.has_more()) status = staging_.finish();
  if (status.ok() && in_use && streams.apart()) {
    // The memory of the slot is still read by its kernels, or on its way back.
    status = wait_across(streams.upload, kernels_.last);
    if (status.ok()) status = CONVOLVE_CUDA(cudaEventRecord(done_.get(), streams.download));
    if (status.ok()) status = wait_across(streams.kernels, done_);
  }
  if (!begun_) staging_.begin_times();
  begun_ = true;
  whole_ = false;
  if (status.ok()) status = upload_.begin(streams.upload);
  return status;
}

Status FrameSlot::source_enqueued() {
  Status status = upload_.end(streams_.upload);
  if (!status.ok() || !streams_.apart()) return status;
  status = CONVOLVE_CUDA(cudaEventRecord(uploaded_.get(), streams_.upload));
  return status.ok() ? wait_across(streams_.kernels, uploaded_) : status;
}

Status FrameSlot::kernels_begin() {
  return kernels_.begin(streams_.kernels);
}

Status FrameSlot::kernels_end() {
  Status status = kernels_.end(streams_.kernels);
  if (status.ok() && streams_.apart()) status = wait_across(streams_.download, kernels_.last);
  whole_ = status.ok();
  return status.ok() ? download_.begin(streams_.download) : status;
}

Status FrameSlot::end(const FrameStreams& streams) {
  const bool begun = std::exchange(begun_, false);
  const cudaStream_t last = begun ? streams.download : streams.kernels;
  // The download of a whole frame comes behind all else of it. But a plane that no kernel writes
  // goes from host memory to the owner's device memory by itself, and of a frame that failed, or
  // that a stop left behind, any stream may be at work.
  if (streams.apart() && (owes_wait_ || !begun || !whole_))
    for (const cudaStream_t stream : {streams.upload, streams.kernels, streams.download}) {
      if (stream == last) continue;
      Status status = CONVOLVE_CUDA(cudaEventRecord(uploaded_.get(), stream));
      if (status.ok()) status = wait_across(last, uploaded_);
      if (!status.ok()) return status;
    }
  if (!begun)
    upload_.marked = kernels_.marked = download_.marked = false;
  else if (Status status = download_.end(last); !status.ok())
    return status;
  return CONVOLVE_CUDA(cudaEventRecord(done_.get(), last));
}

Status FrameSlot::finish() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  // Copies that staging still has to enqueue come behind done_, which is then marked once more.
  const bool more = owes_wait_ && staging_.has_more();
  Status status = staging_.finish();
  if (more)
    if (Status marked = CONVOLVE_CUDA(cudaEventRecord(done_.get(), streams_.download)); status.ok())
      status = marked;
  if (status.ok() || (status.code() == Code::kStopped && owes_wait_))
    if (Status ended =
            wait_for(done_.get(), device_, owes_wait_ ? nullptr : stop_, streams_.waiting());
        !ended.ok())
      status = ended;
  owes_wait_ = false;
  staging_.forget();
  times_ = {};
  if (!status.ok()) return status;
  come_to_rest();
  const std::chrono::nanoseconds all = Clock::now() - begin;
  times_.host_copy = static_cast<std::uint64_t>((staging_.sent() + staging_.landed()).count());
  times_.waiting = static_cast<std::uint64_t>(
      std::max(all - staging_.landed(), std::chrono::nanoseconds::zero()).count());
  times_.upload = upload_.read();
  times_.kernels = kernels_.read();
  times_.download = download_.read();
  return cuda_usable() ? Status() : cuda_unusable();
}

void FrameSlot::come_to_rest() {
  if (working_) device_ends_work();
  working_ = false;
}

void FrameSlot::release() {
  source_ = DeviceMemory();
  destination_ = DeviceMemory();
  staging_.release();
  for (Event* event : {&uploaded_, &kernels_.first, &kernels_.last, &upload_.first, &upload_.last,
                       &download_.first, &download_.last, &done_})
    *event = Event();
}

}  // namespace convolve
