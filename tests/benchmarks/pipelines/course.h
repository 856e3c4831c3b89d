// SPDX-License-Identifier: LGPL-2.1-or-later
// The rounds that the pipelines of a row run together, and when each frame left and arrived.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace cudaconvolve::pipelines {

using Clock = std::chrono::steady_clock;

class Course;

/// One pipeline's frames. They are numbered from 0; the number travels as the buffer's offset.
class Track {
 public:
  explicit Track(Course& course) : course_(course) {}

  /// The source has this frame's buffer in hand.
  void leaves(std::uint64_t number);
  /// The sink gets it.
  void arrives(std::uint64_t number);

  std::uint64_t arrived() const { return arrived_.load(std::memory_order_relaxed); }

 private:
  friend class Course;

  /// Far more than any pipeline has in flight.
  static constexpr std::uint64_t kMostInFlight = 1024;

  Course& course_;
  std::array<Clock::time_point, kMostInFlight> left_;
  std::vector<double> latencies_us_;
  std::atomic<std::uint64_t> arrived_{0};
  std::uint64_t wanted_ = 0;  ///< So many have arrived when the round ends.
  Clock::time_point last_arrival_;
};

/// What a round took.
struct Round {
  double seconds = 0;          ///< From its begin to the last frame of the slowest pipeline.
  double slowest_to_mean = 1;  ///< The slowest pipeline's rate to the mean of all.
  double cpu_seconds = 0;      ///< Of all threads of the process.
  /// Of a frame, from leaves() to arrives().
  double p50_us = 0, p99_us = 0, most_us = 0;
};

/// Sources wait at the end of a round until the next begins, so that all pipelines start it at the
/// same time and with nothing in flight, and none is rebuilt in between.
class Course {
 public:
  explicit Course(int pipelines);

  Track& track(int pipeline) { return *tracks_[static_cast<std::size_t>(pipeline)]; }

  enum class Turn : int { kGo, kEnd, kFlushing };
  /// May the frame of that number leave? Waits until it may. `flushing` is seen when wake()
  /// follows.
  Turn ask(std::uint64_t number, const std::atomic<bool>& flushing);
  /// When the round began that runs now.
  Clock::time_point round_begin();
  /// Waits until `due`. False if `flushing` came first.
  bool wait_until(Clock::time_point due, const std::atomic<bool>& flushing);
  void wake();

  /// Lets every pipeline pass `frames` frames and waits for all to arrive. Nothing after a problem.
  std::optional<Round> run(std::uint64_t frames);
  /// Lets every pipeline pass one frame more, whose picture is looked at. False after a problem.
  bool run_sampled();
  bool sampled(std::uint64_t number) const {
    return number >= first_sampled_.load(std::memory_order_relaxed);
  }
  /// No more rounds: sources end their streams. Waits for ended() of every pipeline. False after a
  /// problem.
  bool finish();

  /// A pipeline has seen the end of its stream.
  void ended();
  /// Whatever must not happen in a run; it ends all waiting. The first one counts.
  void fail(const std::string& problem);
  std::string problem();

 private:
  friend class Track;

  void track_done();
  /// Waits for `count` pipelines to be counted in `counter`. False after a problem.
  bool wait_for(const int& counter);
  std::uint64_t total_arrived() const;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Track>> tracks_;
  std::atomic<std::uint64_t> limit_{0};  ///< Frames below it may leave.
  std::atomic<std::uint64_t> first_sampled_{std::numeric_limits<std::uint64_t>::max()};
  bool finished_ = false;
  int done_ = 0, ended_ = 0;
  Clock::time_point begin_;
  std::string problem_;
};

}  // namespace cudaconvolve::pipelines
