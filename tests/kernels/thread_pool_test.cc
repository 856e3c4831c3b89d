// SPDX-License-Identifier: LGPL-2.1-or-later
// What a pool of threads must keep that no picture shows: who takes part, in which process, and
// that signals stay with the application.
#include "kernels/core/base/thread_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace convolve {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience{10};

/// Runs bands of which none ends before `threads` threads have taken part, or patience has ended;
/// gives how many have.
int threads_that_help(int threads, BandFunction also = nullptr, void* context = nullptr) {
  std::atomic<int> joined{0};
  const auto end = Clock::now() + kPatience;
  std::atomic<bool> has_joined[64] = {};
  run_bands(threads, threads, [&](int band, int worker) {
    if (!has_joined[worker].exchange(true)) ++joined;
    if (also != nullptr) also(context, band, worker);
    while (joined < threads && Clock::now() < end)
      std::this_thread::yield();
  });
  return joined;
}

int most_threads() {
  return std::min(usable_cores(), 4);
}

TEST(ThreadPool, RunsEachBandOnceAndReturnsWhenAllAreDone) {
  for (int round = 0; round < 200; ++round) {
    constexpr int kBands = 37;
    std::vector<int> done(kBands);  // On purpose no atomics: who returns early reads a zero.
    run_bands(2 + round % 7, kBands, [&](int band, int) {
      if (band % 5 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
      ++done[static_cast<std::size_t>(band)];
    });
    EXPECT_EQ(std::count(done.begin(), done.end(), 1), kBands) << "round " << round;
  }
}

TEST(ThreadPool, NoTwoThreadsOfACallHaveOneNumber) {
  for (const int share : {1, 2, 3, 8}) {
    std::atomic<int> inside[8] = {};
    std::atomic<int> wrong{0};
    run_bands(share, 400, [&](int, int worker) {
      if (worker < 0 || worker >= share) {
        ++wrong;
        return;
      }
      if (++inside[worker] != 1) ++wrong;
      std::this_thread::yield();
      --inside[worker];
    });
    EXPECT_EQ(wrong.load(), 0) << "share " << share;
  }
}

TEST(ThreadPool, NoMoreThreadsThanTheShareTakePart) {
  for (const int share : {1, 2, 3}) {
    std::atomic<int> inside{0}, most{0};
    run_bands(share, 100, [&](int, int) {
      const int now = ++inside;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      --inside;
    });
    EXPECT_LE(most.load(), share);
  }
}

TEST(ThreadPool, SeveralCallersAreServedAtTheSameTime) {
  std::vector<std::thread> callers;
  std::atomic<int> done{0};
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&done] {
      for (int round = 0; round < 100; ++round)
        run_bands(3, 8, [&](int, int) { ++done; });
    });
  for (std::thread& caller : callers)
    caller.join();
  EXPECT_EQ(done.load(), 4 * 100 * 8);
}

/// The handlers of an application run on its own threads, which know of them.
TEST(ThreadPool, ItsThreadsTakeNoSignals) {
  if (most_threads() < 2) GTEST_SKIP() << "one core: the caller works alone";
  std::atomic<int> open{0};
  const auto count = [](void* context, int, int worker) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGCHLD, SIGUSR1})
      if (worker > 0 && sigismember(&blocked, signal) == 0)
        ++*static_cast<std::atomic<int>*>(context);
  };
  EXPECT_EQ(threads_that_help(most_threads(), count, &open), most_threads());
  EXPECT_EQ(open.load(), 0);
  sigset_t own;
  pthread_sigmask(SIG_BLOCK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGUSR1), 0) << "the caller's are as they were";
}

/// A child has none of the threads that its parent had.
TEST(ThreadPool, AForkedChildHasThreadsOfItsOwn) {
  if (most_threads() < 2) GTEST_SKIP() << "one core: the caller works alone";
  ASSERT_EQ(threads_that_help(most_threads()), most_threads());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(threads_that_help(most_threads()));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), most_threads());
  EXPECT_EQ(threads_that_help(most_threads()), most_threads()) << "and the parent keeps its own";
}

}  // namespace
}  // namespace convolve
