// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/frame_slot.h"

#include <cmath>
#include <utility>

#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/page_locked.h"
#include "kernels/cuda/runtime/wait.h"

namespace convolve {
namespace {

Status wait_across(cudaStream_t stream, const Event& event) {
  return CONVOLVE_CUDA(cudaStreamWaitEvent(stream, event.get(), 0));
}

}  // namespace

FrameSlot::~FrameSlot() = default;

Status FrameSlot::initialise() {
  for (Event* event : {&begin_, &end_}) {
    Result<Event> made = Event::make(cudaEventDefault);
    if (!made.ok()) return made.status();
    *event = std::move(made.value());
  }
  for (Event* event : {&uploaded_, &done_}) {
    Result<Event> made = Event::make(cudaEventDisableTiming);
    if (!made.ok()) return made.status();
    *event = std::move(made.value());
  }
  return {};
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
  Status status = grow(source_, bytes, streams.kernels);
  if (status.ok()) status = grow(destination_, bytes, streams.kernels);
  // The first upload goes to memory that was taken and filled on the stream of the kernels.
  if (status.ok() && streams.apart()) {
    status = CONVOLVE_CUDA(cudaEventRecord(end_.get(), streams.kernels));
    if (status.ok()) status = wait_across(streams.upload, end_);
  }
  return status.ok() ? staging_.reserve(bytes) : status;
}

Status FrameSlot::begin(const FrameStreams& streams) {
  // The other field of the frame, or a frame that a stop has left behind.
  const bool in_use = working_;
  if (!in_use) device_begins_work();
  working_ = true;
  streams_ = streams;
  staging_.use(streams.upload, streams.download, streams.waiting());
  Status status;
  // What the other field of the frame left on the device is about to be written over.
  if (begun_ && staging_.has_more()) status = staging_.finish();
  if (status.ok() && in_use && streams.apart()) {
    // It is still read by its kernels, or on its way back.
    status = wait_across(streams.upload, end_);
    if (status.ok()) status = CONVOLVE_CUDA(cudaEventRecord(done_.get(), streams.download));
    if (status.ok()) status = wait_across(streams.kernels, done_);
  }
  begun_ = true;
  return status;
}

Status FrameSlot::source_enqueued() {
  if (!streams_.apart()) return {};
  Status status = CONVOLVE_CUDA(cudaEventRecord(uploaded_.get(), streams_.upload));
  return status.ok() ? wait_across(streams_.kernels, uploaded_) : status;
}

Status FrameSlot::kernels_begin() {
  timing_ = false;
  return CONVOLVE_CUDA(cudaEventRecord(begin_.get(), streams_.kernels));
}

Status FrameSlot::kernels_end() {
  Status status = CONVOLVE_CUDA(cudaEventRecord(end_.get(), streams_.kernels));
  timing_ = status.ok();
  if (status.ok() && streams_.apart()) status = wait_across(streams_.download, end_);
  return status;
}

Status FrameSlot::end(const FrameStreams& streams) {
  const cudaStream_t last = begun_ ? streams.download : streams.kernels;
  // A plane that no kernel writes goes from host memory to the owner's device memory by itself.
  if (begun_ && owes_wait_ && streams.apart()) {
    Status status = CONVOLVE_CUDA(cudaEventRecord(uploaded_.get(), streams.upload));
    if (status.ok()) status = wait_across(last, uploaded_);
    if (!status.ok()) return status;
  }
  begun_ = false;
  return CONVOLVE_CUDA(cudaEventRecord(done_.get(), last));
}

Status FrameSlot::finish() {
  Status status = staging_.finish();
  if (status.ok() || (status.code() == Code::kStopped && owes_wait_))
    if (Status ended =
            wait_for(done_.get(), device_, owes_wait_ ? nullptr : stop_, streams_.waiting());
        !ended.ok())
      status = ended;
  owes_wait_ = false;
  staging_.forget();
  if (!status.ok()) return status;
  come_to_rest();
  if (!timing_) return {};
  timing_ = false;
  float milliseconds = 0;
  status = CONVOLVE_CUDA(cudaEventElapsedTime(&milliseconds, begin_.get(), end_.get()));
  if (status.ok()) kernel_ns_ = static_cast<std::uint64_t>(std::lround(milliseconds * 1e6));
  return status;
}

void FrameSlot::come_to_rest() {
  if (working_) device_ends_work();
  working_ = false;
}

void FrameSlot::release() {
  source_ = DeviceMemory();
  destination_ = DeviceMemory();
  staging_.release();
  for (Event* event : {&uploaded_, &begin_, &end_, &done_})
    *event = Event();
}

}  // namespace convolve
