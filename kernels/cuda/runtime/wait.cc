// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/wait.h"

#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "kernels/cuda/runtime/check.h"

namespace convolve {
namespace {

using Clock = std::chrono::steady_clock;

/// A frame of 1080p crosses the bus in some 60 us: for so long the thread asks again and again.
/// Later it sleeps in between, which costs it the time that the system takes to wake it.
constexpr Clock::duration kEagerly = std::chrono::microseconds{200};

/// So that a stop is seen within two milliseconds.
constexpr std::chrono::microseconds kLongestNap{2000};

/// Of a thread's timers while it waits for a frame in flight, in nanoseconds.
constexpr int kSlack = 1000;

/// When an event of the process was last seen to have passed on each device.
std::atomic<Clock::rep>& last_end(int device) {
  static std::array<std::atomic<Clock::rep>, 64> ends{};
  return ends[static_cast<std::size_t>(device) % ends.size()];
}

/// Ok once the event has passed; cudaErrorNotReady is no error here, and `ready` tells.
Status query(cudaEvent_t event, bool* ready) {
  *ready = false;
  if (!cuda_usable()) return cuda_unusable();
  const cudaError_t error = cudaEventQuery(event);
  if (error == cudaErrorNotReady) {
    (void)cudaGetLastError();
    return {};
  }
  *ready = error == cudaSuccess;
  return cuda_status(error, "cudaEventQuery");
}

/// Sleeps. The system adds 50 us to a sleep by default, so that threads wake together: here for
/// once it adds 1.
void nap(Clock::duration length) {
  const int slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  if (slack > kSlack) prctl(PR_SET_TIMERSLACK, kSlack, 0, 0, 0);
  std::this_thread::sleep_for(length);
  if (slack > kSlack) prctl(PR_SET_TIMERSLACK, slack, 0, 0, 0);
}

/// Lets other threads run until the event is worth another look. Sleeps are in proportion to what
/// was waited for, so that a frame takes about a tenth longer by them at most.
void rest(Clock::duration waited) {
  if (waited > kEagerly)
    nap(std::min<Clock::duration>(waited / 10, kLongestNap));
  else
    std::this_thread::yield();
}

/// The next sleep of a thread that expects its frame after `until_due`. A sleep costs some 6 us of
/// its time, however long it is, so the first goes on until then. Those that follow are short: the
/// frames behind the one awaited keep the device busy until the thread looks again. Where many
/// pipelines share the bus, frames take as many times longer, and so do the sleeps.
Clock::duration next_nap(Clock::duration waited, Clock::duration until_due,
                         Clock::duration expected, Clock::duration shortest) {
  const Clock::duration least = waited < 2 * expected
                                    ? std::min<Clock::duration>(expected / 4, shortest)
                                    : std::min<Clock::duration>(waited / 4, kLongestNap);
  return std::clamp<Clock::duration>(until_due, least, std::max(expected, least));
}

}  // namespace

Status wait_for(cudaEvent_t event, int device, const StopSignal* stop, Waiting waiting) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    bool ready = false;
    if (Status status = query(event, &ready); !status.ok()) return status;
    const Clock::time_point now = Clock::now();
    if (ready) {
      last_end(device) = now.time_since_epoch().count();
      return {};
    }
    if (stop != nullptr && stop->raised()) return stopped();
    const Clock::time_point last(Clock::duration(last_end(device).load()));
    const Clock::time_point heard = std::max(begin, last);
    if (now - heard > kLongestSilence || now - begin > 6 * kLongestSilence) return lose_cuda();
    const Clock::duration expected = std::min<Clock::duration>(waiting.expected, kLongestNap);
    if (expected > Clock::duration::zero())
      // In flight, frames end one crossing of the bus after another.
      nap(next_nap(now - begin, last + expected - now, expected, waiting.nap));
    else
      rest(now - begin);
  }
}

bool passes_within(cudaEvent_t event, std::chrono::milliseconds patience) {
  const Clock::time_point begin = Clock::now();
  for (;;) {
    bool ready = false;
    if (!query(event, &ready).ok()) return false;
    if (ready) return true;
    const Clock::duration waited = Clock::now() - begin;
    if (waited > patience) return false;
    rest(waited);
  }
}

}  // namespace convolve
