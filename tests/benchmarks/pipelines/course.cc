// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/course.h"

#include <sys/resource.h>

#include <algorithm>

#include "tests/benchmarks/figures.h"

namespace cudaconvolve::pipelines {
namespace {

/// A row in which nothing arrives for so long has failed.
constexpr std::chrono::seconds kPatience{30};

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

void Track::leaves(std::uint64_t number) {
  left_[number % kMostInFlight] = Clock::now();
}

void Track::arrives(std::uint64_t number) {
  const Clock::time_point now = Clock::now();
  const std::uint64_t expected = arrived_.load(std::memory_order_relaxed);
  if (number != expected) {
    course_.fail("frame " + std::to_string(expected) + " was to arrive, and " +
                 std::to_string(number) + " did");
    return;
  }
  latencies_us_.push_back(1e6 * seconds_between(left_[number % kMostInFlight], now));
  last_arrival_ = now;
  arrived_.store(expected + 1, std::memory_order_relaxed);
  if (expected + 1 == wanted_) course_.track_done();
}

Course::Course(int pipelines) {
  for (int k = 0; k < pipelines; ++k)
    tracks_.push_back(std::make_unique<Track>(*this));
}

Course::Turn Course::ask(std::uint64_t number, const std::atomic<bool>& flushing) {
  if (number < limit_.load(std::memory_order_acquire)) return Turn::kGo;
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return number < limit_ || finished_ || flushing; });
  if (flushing) return Turn::kFlushing;
  return number < limit_ ? Turn::kGo : Turn::kEnd;
}

Clock::time_point Course::round_begin() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return begin_;
}

bool Course::wait_until(Clock::time_point due, const std::atomic<bool>& flushing) {
  std::unique_lock<std::mutex> lock(mutex_);
  return !changed_.wait_until(lock, due, [&] { return flushing.load(); });
}

void Course::wake() {
  const std::lock_guard<std::mutex> lock(mutex_);
  changed_.notify_all();
}

std::optional<Round> Course::run(std::uint64_t frames) {
  const double cpu_before = cpu_seconds();
  {
    // Nothing is in flight: the sources wait, and their threads see this when they get the lock.
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::unique_ptr<Track>& track : tracks_) {
      track->wanted_ += frames;
      track->latencies_us_.clear();
      track->latencies_us_.reserve(frames);
    }
    done_ = 0;
    begin_ = Clock::now();
    limit_ += frames;
    changed_.notify_all();
  }
  if (!wait_for(done_)) return {};

  Round round;
  round.cpu_seconds = cpu_seconds() - cpu_before;
  double slowest = 0, rates = 0;
  std::vector<double> latencies;
  for (const std::unique_ptr<Track>& track : tracks_) {
    const double took = seconds_between(begin_, track->last_arrival_);
    slowest = std::max(slowest, took);
    rates += 1 / took;
    latencies.insert(latencies.end(), track->latencies_us_.begin(), track->latencies_us_.end());
  }
  round.seconds = slowest;
  round.slowest_to_mean = static_cast<double>(tracks_.size()) / (slowest * rates);
  round.p50_us = convolve::benchmarks::quantile(latencies, 0.5);
  round.p99_us = convolve::benchmarks::quantile(latencies, 0.99);
  round.most_us = convolve::benchmarks::quantile(std::move(latencies), 1);
  return round;
}

bool Course::run_sampled() {
  first_sampled_ = limit_.load();
  return run(1).has_value();
}

bool Course::finish() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }
  if (!wait_for(ended_)) return false;
  for (const std::unique_ptr<Track>& track : tracks_)
    if (track->arrived() != limit_)
      fail(std::to_string(limit_) + " frames left, " + std::to_string(track->arrived()) +
           " arrived");
  return problem().empty();
}

void Course::ended() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!finished_ && problem_.empty()) problem_ = "a stream ended before its time";
  ++ended_;
  changed_.notify_all();
}

void Course::fail(const std::string& problem) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (problem_.empty()) problem_ = problem;
  changed_.notify_all();
}

std::string Course::problem() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return problem_;
}

void Course::track_done() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (++done_ == static_cast<int>(tracks_.size())) changed_.notify_all();
}

bool Course::wait_for(const int& counter) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::uint64_t before = total_arrived();
  const auto over = [&] {
    return counter == static_cast<int>(tracks_.size()) || !problem_.empty();
  };
  while (!changed_.wait_for(lock, kPatience, over)) {
    const std::uint64_t now = total_arrived();
    if (now == before)
      problem_ = "no frame arrived for " + std::to_string(kPatience.count()) + " s";
    before = now;
  }
  return problem_.empty();
}

std::uint64_t Course::total_arrived() const {
  std::uint64_t total = 0;
  for (const std::unique_ptr<Track>& track : tracks_)
    total += track->arrived();
  return total;
}

}  // namespace cudaconvolve::pipelines
