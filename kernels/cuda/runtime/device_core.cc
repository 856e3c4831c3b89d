// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/device_core.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "kernels/cuda/device/variant.h"
#include "kernels/cuda/runtime/capabilities.h"
#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/runtime/mask_bank.h"
#include "kernels/cuda/runtime/wait.h"

namespace convolve {
namespace {

/// Kernels are timed in the first frame of a job and then in one of so many. The two events with
/// time stamps take the device some 4 us: three pieces of a frame of 1080p 120 us in place of 107
/// (H100).
constexpr std::uint64_t kTimedOnceIn = 16;

/// Up to so many elements have a queue of the driver each for their kernels and copies.
constexpr long kFewElements = 4;

/// After so much work of frames that were handed over, and at least one, the host waits for those
/// of the last such wait: then up to twice as much is on its way, and the device has as much to do
/// while the host wakes. That is one nap of the host's at most (wait.cc). The longer, the fewer
/// frames find the thread's caches cold: with a quarter of it a frame of 4K under 31x31 takes the
/// host 13.8 us in place of 12.3 (H200).
constexpr std::chrono::microseconds kPace{2000};
/// Small frames take the host longer than the device, so that it would wait in vain.
constexpr std::int64_t kMostFramesOfPace = 32;
/// The driver keeps some thousand launches and events for a stream: beyond that it would wait
/// itself, stop or no stop.
constexpr std::int64_t kMostLaunchesOfPace = 256;
/// Frames whose kernels take so long are waited for one by one: a host that wakes late costs them
/// nothing, and a stop finds none of them ahead.
constexpr std::chrono::milliseconds kLongKernels{10};

/// The time in which `bytes` bytes cross a bus of 50 GB/s, the rate of the fastest bus measured
/// (PCIe 5, H100), so that a waiting thread never sleeps past the end of a frame for long.
std::chrono::microseconds crossing_time(std::size_t bytes) {
  constexpr std::size_t kBytesAMicrosecond = 50000;
  return std::chrono::microseconds(bytes / kBytesAMicrosecond);
}

}  // namespace

DeviceCore::DeviceCore(const Context& context, LogCallback log,
                       std::shared_ptr<const StopSignal> stop)
    : context_(context),
      log_(std::move(log)),
      stop_(std::move(stop)),
      staging_(context, stop_.get()) {}

Result<std::shared_ptr<DeviceCore>> DeviceCore::open(const Context& context, LogCallback log,
                                                     std::shared_ptr<const StopSignal> stop) {
  std::shared_ptr<DeviceCore> core(new DeviceCore(context, std::move(log), std::move(stop)));
  const CurrentContext current(core->context_);
  Status status = current.status();
  if (status.ok()) status = core->initialise();
  if (!status.ok()) return status;
  return core;
}

Status DeviceCore::initialise() {
  Result<DeviceCapabilities> capabilities = query_capabilities(context_);
  if (!capabilities.ok()) return capabilities.status();
  capabilities_ = capabilities.value();

  // Any kernel will do to learn whether this build has code for the GPU.
  LaunchArguments any;
  any.storage = MaskStorage::kGlobalMemory;
  if (Status status = CONVOLVE_CUDA(kBasicVariant.load(any)); !status.ok()) return status;

  Result<Stream> stream = Stream::make();
  if (!stream.ok()) return stream.status();
  stream_ = std::move(stream.value());
  staging_.use(stream_.get(), stream_.get(), Waiting());
  for (Event* event : {&done_, &paced_}) {
    Result<Event> made = Event::make(cudaEventDisableTiming);
    if (!made.ok()) return made.status();
    *event = std::move(made.value());
  }
  for (StreamSpans* spans : {&timed_before_, &timed_after_})
    if (Status status = spans->enable(); !status.ok()) return status;
  return set_frames_in_flight(1);
}

DeviceCore::~DeviceCore() {
  // Handles go while their context is current. Device memory is freed in the order of the stream,
  // and the wait lets it go back from the pool to the device. A device that hangs is left behind:
  // the driver keeps a stream until its work is done, and staging keeps what still crosses.
  const CurrentContext current(context_);
  (void)come_to_rest();
  order_frees();
  for (const std::unique_ptr<FrameSlot>& slot : slots_)
    slot->release();
  slots_.clear();
  staging_.release();
  sweep_mask_slots(context_.id);
  for (Event* event : {&done_, &frees_, &paced_})
    *event = Event();
  for (StreamSpans* spans : {&timed_before_, &timed_after_})
    spans->release();
  stream_ = Stream();
  shared_ = SharedStreams();
  download_ = Stream();
}

void DeviceCore::log(LogLevel level, const std::string& message) const {
  if (log_) log_(level, message);
}

FrameStreams DeviceCore::streams(bool may_share) const {
  if (one_at_a_time()) return streams_on_device();
  FrameStreams streams = streams_of_pieces();
  streams.waiting.expected = crossing_time(coming_bytes_);
  if (!may_share || !short_kernels_ || shared_.users() <= kFewElements) return streams;
  streams.waiting = waiting_among_others();
  streams.download = shared_.download->get();
  // Between the events that time kernels there must be no others.
  if (!times_kernels_) streams.kernels = shared_.kernels->get();
  return streams;
}

/// Where many elements take turns on the bus, the frames of this one end as far apart as its last
/// ones did. Until then its thread sleeps: a look at an event that has not passed costs some
/// microseconds, and the driver lets one thread in at a time.
Waiting DeviceCore::waiting_among_others() const {
  const std::chrono::microseconds crossing = crossing_time(coming_bytes_);
  const std::chrono::microseconds interval{interval_us_};
  // Frames that come more slowly than the bus takes them do not wait for those of others.
  const bool bus_binds = interval < 3 * shared_.users() * crossing / 2;
  const auto expected = bus_binds ? std::max(crossing, 4 * interval / 5) : crossing;
  return {expected, expected / 4};
}

FrameStreams DeviceCore::streams_on_device(cudaStream_t owner) const {
  FrameStreams streams{stream_.get(), stream_.get(), stream_.get(), Waiting()};
  // Between the events that time kernels there must be no others.
  if (owner != nullptr && hands_over() && !times_kernels_) {
    streams.upload = streams.kernels = streams.download = owner;
    streams.of_owner = true;
  }
  // A frame may take less than the thread that waits for it takes to wake up. So the thread sleeps
  // while half of those in flight are filtered, and then finishes all that are over.
  if (!one_at_a_time())
    streams.waiting.expected = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::nanoseconds(last_kernel_ns_) * slots_.size() / 2);
  return streams;
}

FrameStreams DeviceCore::streams_of_pieces() const {
  return {shared_.upload->get(), stream_.get(), download_.get(), Waiting()};
}

Status DeviceCore::make_copy_streams() {
  if (shared_) return {};
  Result<Stream> download = Stream::make();
  if (!download.ok()) return download.status();
  Result<SharedStreams> shared = shared_streams(context_);
  if (!shared.ok()) return shared.status();
  Result<Event> frees = Event::make(cudaEventDisableTiming);
  if (!frees.ok()) return frees.status();
  const std::lock_guard lock(frees_mutex_);
  download_ = std::move(download.value());
  shared_ = std::move(shared.value());
  frees_ = std::move(frees.value());
  return {};
}

Status DeviceCore::begin(FrameSlot& slot, const FrameStreams& streams) {
  // The first frame of a plan is timed, so its kernels come behind what fills the plan's memory.
  Status status = streams.kernels == last_kernels_ ? Status() : follow_owner();
  if (status.ok()) status = slot.begin(streams, last_kernels_);
  if (status.ok()) last_kernels_ = streams.kernels;
  // Kernels of other elements that came before on that stream may still run.
  if (streams.of_owner) writes_.add_anything();
  return status;
}

/// An owner's stream may be gone, but not the event behind the kernels that it was lent for.
Status DeviceCore::follow_owner() {
  const std::lock_guard lock(frees_mutex_);
  const Event* const done = std::exchange(owner_done_, nullptr);
  if (done == nullptr) return {};
  last_kernels_ = stream_.get();
  return CONVOLVE_CUDA(cudaStreamWaitEvent(stream_.get(), done->get(), 0));
}

void DeviceCore::order_frees() {
  const std::lock_guard lock(frees_mutex_);
  if (owner_done_ != nullptr)
    (void)CONVOLVE_CUDA(cudaStreamWaitEvent(stream_.get(), owner_done_->get(), 0));
  if (frees_.get() == nullptr) return;
  const auto follow = [this](cudaStream_t from) {
    if (CONVOLVE_CUDA(cudaEventRecord(frees_.get(), from)).ok())
      (void)CONVOLVE_CUDA(cudaStreamWaitEvent(stream_.get(), frees_.get(), 0));
  };
  follow(download_.get());
  // Others may have filled these for longer.
  if (at_rest()) return;
  for (const auto* stream : {&shared_.upload, &shared_.kernels, &shared_.download})
    follow((*stream)->get());
}

Result<std::unique_ptr<FrameSlot>> DeviceCore::make_slot() const {
  auto slot = std::make_unique<FrameSlot>(context_, stop_.get());
  if (Status status = slot->initialise(); !status.ok()) return status;
  return slot;
}

Status DeviceCore::set_frames_in_flight(int count) {
  const std::size_t wanted = static_cast<std::size_t>(std::clamp(count, 1, kMostFramesInFlight));
  if (!at_rest()) (void)come_to_rest();  // A stop has left frames behind.
  Status status = follow_owner();
  if (status.ok() && wanted > 1) status = make_copy_streams();
  if (!status.ok()) return status;
  const std::size_t before = slots_.size();
  while (status.ok() && slots_.size() < wanted) {
    Result<std::unique_ptr<FrameSlot>> slot = make_slot();
    status = slot.status();
    if (status.ok()) slots_.push_back(std::move(slot.value()));
  }
  // Slots are as large as any frame was; frames of the size that comes are waited for as such.
  const std::size_t coming = coming_bytes_;
  if (status.ok()) status = reserve_frames(frame_bytes_, most_launches_);
  if (status.ok()) status = reserve_frames(coming, most_launches_);
  while (slots_.size() > (status.ok() ? wanted : std::max<std::size_t>(before, 1))) {
    slots_.back()->release();
    slots_.pop_back();
  }
  const std::lock_guard lock(mutex_);
  free_.clear();
  for (const std::unique_ptr<FrameSlot>& slot : slots_)
    free_.push_back(slot.get());
  return status;
}

Status DeviceCore::reserve_frames(std::size_t bytes, int most_launches) {
  order_frees();
  for (const std::unique_ptr<FrameSlot>& slot : slots_)
    if (Status status = slot->reserve(bytes, stream_.get()); !status.ok()) return status;
  frame_bytes_ = std::max(frame_bytes_, bytes);
  coming_bytes_ = bytes;
  most_launches_ = most_launches;
  frames_ = 0;
  short_kernels_ = pace_known_ = false;
  timed_ns_ = 0;
  timed_before_.clear();
  timed_after_.clear();
  return {};
}

Result<FrameSlot*> DeviceCore::frame() {
  if (FrameSlot* const begun = current_) return begun;
  const std::lock_guard lock(mutex_);
  if (free_.empty())
    return invalid_argument("as many frames are in flight as the device was told to expect");
  abandoned_ = false;
  if (at_rest()) writes_.clear();
  FrameSlot* const slot = free_.back();
  free_.pop_back();
  // Without events for them, the times of copies are not known.
  if (measures_stages_) (void)slot->measure_copies();
  times_kernels_ = measures_stages_ || frames_++ % kTimedOnceIn == 0;
  slot->time_kernels(times_kernels_);
  current_ = slot;
  return slot;
}

Result<FrameSlot*> DeviceCore::end_frame(bool may_hand_over) {
  Result<FrameSlot*> slot = frame();
  if (!slot.ok()) return slot;
  current_ = nullptr;
  Status status = slot.value()->has_begun() ? Status() : follow_owner();
  if (status.ok())
    status = slot.value()->end(streams(/*may_share=*/false), may_hand_over && hands_over());
  if (status.ok() && slot.value()->streams().of_owner) {
    const std::lock_guard lock(frees_mutex_);
    owner_done_ = &slot.value()->done();
  }
  if (!status.ok()) {
    FrameTimes unused;
    (void)finish(*slot.value(), &unused);
    return status;
  }
  return slot;
}

/// The first frame of a plan is waited for, so that it is known how long its kernels take.
bool DeviceCore::hands_over() const {
  return !measures_stages_ && frames_ > 1 &&
         std::chrono::nanoseconds(last_kernel_ns_) < kLongKernels;
}

/// Frames that are handed over are not waited for one by one.
Status DeviceCore::pace(FrameSlot& slot) {
  if (slot.kernels_are_timed()) timed_after_ = slot.exchange_kernel_spans(std::move(timed_after_));
  const std::chrono::nanoseconds kernels(last_kernel_ns_);
  const std::int64_t most = std::min(kMostFramesOfPace, kMostLaunchesOfPace / most_launches_);
  const std::int64_t frames =
      std::clamp<std::int64_t>(kernels.count() > 0 ? kPace / kernels : 1, 1, most);
  if (++handed_over_ < frames) return {};
  handed_over_ = 0;
  Status status;
  if (pace_known_) {
    // Sleeping too long by a quarter costs nothing, as the device has as much to do again.
    const auto expected = std::chrono::duration_cast<std::chrono::microseconds>(frames * kernels);
    const Waiting waiting{expected, expected / 4};
    status = wait_for(paced_.get(), context_.device, stop_.get(), waiting);
    // The owners' streams wait on, whatever the stop is for.
    if (status.code() == Code::kStopped) return {};
    if (!status.ok()) return status;
    timed_ns_ = timed_before_.sum();
  }
  std::swap(timed_before_, timed_after_);
  timed_after_.clear();
  status = CONVOLVE_CUDA(cudaEventRecord(paced_.get(), slot.streams().kernels));
  pace_known_ = status.ok();
  return status;
}

Status DeviceCore::finish(FrameSlot& slot, FrameTimes* times) {
  Status status = slot.finish();
  *times = slot.times();
  if (status.ok() && slot.is_handed_over()) status = pace(slot);
  if (slot.is_handed_over()) times->kernels = std::exchange(timed_ns_, 0);  // Of one before it.
  if (times->kernels > 0) {
    last_kernel_ns_ = times->kernels;
    short_kernels_ = std::chrono::nanoseconds(times->kernels) < crossing_time(coming_bytes_);
  }
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  using Microseconds = std::chrono::microseconds;
  const auto interval = std::min<Microseconds>(
      std::chrono::duration_cast<Microseconds>(now - std::exchange(last_finish_, now)),
      std::chrono::seconds(1));
  interval_us_ = (3 * interval_us_ + interval.count()) / 4;
  free_.push_back(&slot);
  return status;
}

Status DeviceCore::finish() {
  Result<FrameSlot*> slot = end_frame(/*may_hand_over=*/false);
  if (!slot.ok()) return slot.status();
  FrameTimes unused;
  Status status = finish(*slot.value(), &unused);
  if (status.ok() && at_rest()) writes_.clear();
  return status;
}

bool DeviceCore::at_rest() const {
  return std::all_of(slots_.begin(), slots_.end(),
                     [](const std::unique_ptr<FrameSlot>& slot) { return slot->at_rest(); });
}

bool DeviceCore::come_to_rest() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(100);
  const auto left = [end] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::max(end - Clock::now(), Clock::duration(0)));
  };
  if (abandoned_ || done_.get() == nullptr) return at_rest();
  (void)follow_owner();
  // Masks and memory.
  bool rests = CONVOLVE_CUDA(cudaEventRecord(done_.get(), stream_.get())).ok() &&
               passes_within(done_.get(), left());
  for (const std::unique_ptr<FrameSlot>& slot : slots_)
    rests = rests && slot->come_to_rest(left());
  abandoned_ = !rests;
  return at_rest();
}

Status DeviceCore::wait(const Event& event) const {
  return wait_for(event.get(), context_.device, stop_.get());
}

}  // namespace convolve
