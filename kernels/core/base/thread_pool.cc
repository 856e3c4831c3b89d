// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/base/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace convolve {
namespace {

/// For so long a caller looks again and again whether the others are done, and lets threads run
/// that want to meanwhile. Then it sleeps: to be woken takes some 50 us, a fifth of a frame of
/// 1080p.
constexpr std::chrono::microseconds kPatience{60};

/// One call of run_bands(). It lives on its caller's stack: a worker may touch it only between
/// joining, under the pool's mutex, and leaving.
struct Batch {
  BandFunction function;
  void* context;
  int bands;
  int share;
  int joined = 1;              ///< Threads that ever took part; the caller is worker 0.
  std::atomic<int> active{0};  ///< Workers inside, without the caller.
  std::atomic<int> next_band{0};
  Batch* next = nullptr;

  bool wants_help() const { return joined < share && next_band.load() < bands; }

  void work(int worker) {
    for (int band = next_band++; band < bands; band = next_band++)
      function(context, band, worker);
  }
};

class Pool {
 public:
  Pool(unsigned generation, Pool* orphan) : generation_(generation), orphan_(orphan) {}

  unsigned generation() const { return generation_; }

  void run(Batch& batch) {
    int helpers = 0;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!started_) start_workers();
      helpers = std::min({batch.share - 1, batch.bands - 1, workers_});
      batch.next = batches_;
      batches_ = &batch;
    }
    for (int i = 0; i < helpers; ++i)
      work_.notify_one();
    batch.work(0);
    const auto patience = std::chrono::steady_clock::now() + kPatience;
    while (batch.active.load() > 0 && std::chrono::steady_clock::now() < patience)
      std::this_thread::yield();

    std::unique_lock<std::mutex> lock(mutex_);
    Batch** link = &batches_;
    while (*link != &batch)
      link = &(*link)->next;
    *link = batch.next;
    done_.wait(lock, [&batch] { return batch.active.load() == 0; });
  }

 private:
  /// With the mutex held. Threads that cannot be had are done without. The caller of run_bands()
  /// works too, so one less than there are cores.
  void start_workers() {
    started_ = true;
    const int wanted = usable_cores() - 1;
    // Workers inherit the mask of signals: the application's handlers must not run on them.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      for (; workers_ < wanted; ++workers_)
        std::thread(&Pool::serve, this).detach();
    } catch (const std::system_error&) {
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  [[noreturn]] void serve() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      Batch* batch = batches_;
      while (batch != nullptr && !batch->wants_help())
        batch = batch->next;
      if (batch == nullptr) {
        work_.wait(lock);
        continue;
      }
      const int worker = batch->joined++;
      ++batch->active;
      lock.unlock();
      batch->work(worker);
      // Its caller may be gone once it has seen that nobody is inside.
      const bool last = --batch->active == 0;
      lock.lock();
      if (last) done_.notify_all();
    }
  }

  const unsigned generation_;
  /// The pool of the process that this one was forked from: only to stay reachable, so that no tool
  /// takes it for a leak.
  [[maybe_unused]] Pool* const orphan_;
  std::mutex mutex_;
  std::condition_variable work_;  ///< A batch came.
  std::condition_variable done_;  ///< A batch has no worker inside any more.
  Batch* batches_ = nullptr;
  bool started_ = false;
  int workers_ = 0;
};

/// The pool is never destroyed. Its threads wait on it until the process ends, and no order of
/// static destructors (ours, the application's, GStreamer's) lets it go before its last user.
std::atomic<Pool*> g_pool{nullptr};

/// Forks between this process and the one that it was started as.
std::atomic<unsigned> g_generation{0};

void count_fork() {
  ++g_generation;
}

/// A child has none of its parent's threads, and the parent's mutex may be locked for ever in it.
/// Registered while the module loads, when there is no race over who does it.
[[maybe_unused]] const int g_fork_handler = pthread_atfork(nullptr, nullptr, count_fork);

Pool& pool() {
  const unsigned generation = g_generation.load();
  Pool* current = g_pool.load();
  while (current == nullptr || current->generation() != generation) {
    // The parent's pool stays reachable: it can neither be used nor be destroyed here.
    Pool* made = new Pool(generation, current);
    if (g_pool.compare_exchange_strong(current, made)) return *made;
    delete made;
  }
  return *current;
}

}  // namespace

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // The process's mask, not the calling thread's. Fails where there are more cores than bits.
  if (sched_getaffinity(getpid(), sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

void run_bands(int share, int bands, BandFunction function, void* context) {
  Batch batch{function, context, bands, share};
  if (share <= 1 || bands <= 1)
    batch.work(0);
  else
    pool().run(batch);
}

}  // namespace convolve
