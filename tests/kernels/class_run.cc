// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/class_run.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>

#include "tests/kernels/devices.h"
#include "tests/kernels/runner.h"

namespace convolve::testing {
namespace {

constexpr int kExitSkipped = 77;
constexpr int kFailuresShown = 40;
constexpr int kMostThreads = 16;
/// The longest frame takes milliseconds, and the first one loads kernels.
constexpr std::chrono::seconds kDeadline{20};

std::atomic<int> failures_shown{0};

[[noreturn]] void usage(const char* program) {
  std::fprintf(stderr,
               "usage: %s [--backend=cuda|cpu] [--ways=NAME,...] [--shard=I/N] [--every=N] "
               "[--threads=N] [--list] [--residues]\n",
               program);
  std::exit(2);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t to = std::min(text.find(',', from), text.size());
    if (to > from) parts.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return parts;
}

/// Ends the program when a worker takes too long: a launch that hangs cannot be called off.
class Watchdog {
 public:
  explicit Watchdog(const std::vector<std::unique_ptr<ClassWorker>>& workers)
      : workers_(workers), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

 private:
  void watch() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!wake_.wait_for(lock, std::chrono::seconds(1), [this] { return done_; }))
      for (const std::unique_ptr<ClassWorker>& worker : workers_) {
        const std::string name = worker->overdue(std::chrono::steady_clock::now());
        if (name.empty()) continue;
        std::printf("FAIL hangs for %lld s: %s\n", static_cast<long long>(kDeadline.count()),
                    name.c_str());
        std::fflush(stdout);
        _exit(1);
      }
  }

  const std::vector<std::unique_ptr<ClassWorker>>& workers_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool done_ = false;
  std::thread thread_;
};

Result<std::shared_ptr<Device>> open_tested(BackendKind backend) {
  DeviceOptions options;
  options.threads = 3;
  return open_device(backend, options);
}

Result<std::unique_ptr<ClassWorker>> open_worker(BackendKind backend) {
  DeviceOptions options;
  options.threads = 1;
  auto truth = open_device(BackendKind::kCpu, options);
  if (!truth.ok()) return truth.status();
  auto tested = open_tested(backend);
  if (!tested.ok()) return tested.status();
  return std::make_unique<ClassWorker>(std::move(tested.value()), std::move(truth.value()));
}

WayCounts total(const std::vector<std::unique_ptr<ClassWorker>>& workers) {
  WayCounts all;
  for (const std::unique_ptr<ClassWorker>& worker : workers)
    for (const auto& [way, formats] : worker->counts())
      for (const auto& [format, count] : formats) {
        WayCount& to = all[way][format];
        to.passed += count.passed;
        to.failed += count.failed;
        to.refused += count.refused;
      }
  return all;
}

/// Formats that a way has run with.
int formats_run(const WayCounts& counts, const std::string& way) {
  const auto found = counts.find(way);
  if (found == counts.end()) return 0;
  return static_cast<int>(
      std::count_if(found->second.begin(), found->second.end(),
                    [](const auto& row) { return row.second.passed + row.second.failed > 0; }));
}

void print_counts(const WayCounts& counts) {
  for (const auto& [way, formats] : counts) {
    WayCount sum;
    std::string text;
    for (const auto& [format, count] : formats) {
      sum.passed += count.passed;
      sum.failed += count.failed;
      sum.refused += count.refused;
      text += " " + format + " " + std::to_string(count.passed + count.failed);
      if (count.refused > 0) text += " (refused " + std::to_string(count.refused) + ")";
    }
    constexpr std::size_t kFormatsShown = 8;
    if (formats.size() > kFormatsShown) text = " " + std::to_string(formats.size()) + " formats";
    std::printf("%-46s %7ld passed %5ld failed %7ld refused:%s\n", way.c_str(), sum.passed,
                sum.failed, sum.refused, text.c_str());
  }
}

}  // namespace

bool ClassArguments::wants(const Way& way) const {
  if (!(backend == BackendKind::kCpu ? way.on_cpu : way.on_cuda)) return false;
  return ways.empty() || std::any_of(ways.begin(), ways.end(), [&way](const std::string& prefix) {
           return way.name.compare(0, prefix.size(), prefix) == 0;
         });
}

bool ClassArguments::wants_any(const std::vector<Way>& some) const {
  return std::any_of(some.begin(), some.end(), [this](const Way& way) { return wants(way); });
}

ClassArguments parse_class_arguments(int argc, char** argv) {
  ClassArguments arguments;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    const int number = std::atoi(value.c_str());
    if (word == "--backend=cpu")
      arguments.backend = BackendKind::kCpu;
    else if (word == "--backend=cuda")
      arguments.backend = BackendKind::kCuda;
    else if (word == "--list")
      arguments.list = true;
    else if (word == "--residues")
      arguments.residues = true;
    else if (name == "--ways" && !value.empty())
      arguments.ways = split(value);
    else if (name == "--every" && number > 0)
      arguments.every = number;
    else if (name == "--threads" && number > 0)
      arguments.threads = number;
    else if (name != "--shard" ||
             std::sscanf(value.c_str(), "%d/%d", &arguments.shard, &arguments.shards) != 2 ||
             arguments.shard < 0 || arguments.shard >= arguments.shards)
      usage(argv[0]);
  }
  return arguments;
}

bool ClassWorker::renew_tested(BackendKind backend) {
  tested_.reset();
  auto opened = open_tested(backend);
  if (opened.ok())
    tested_ = std::move(opened.value());
  else
    fail("device", "any", opened.status().message());
  return opened.ok();
}

Status ClassWorker::timed(const std::string& name, const std::function<Status()>& work) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    name_ = name;
    since_ = std::chrono::steady_clock::now();
  }
  Status status = work();
  const std::lock_guard<std::mutex> lock(mutex_);
  name_.clear();
  return status;
}

std::string ClassWorker::overdue(std::chrono::steady_clock::time_point now) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return !name_.empty() && now - since_ > kDeadline ? name_ : std::string();
}

void ClassWorker::fail(const std::string& way, const std::string& format, const std::string& what) {
  ++counts_[way][format].failed;
  if (failures_shown++ >= kFailuresShown) return;
  std::printf("FAIL %s %s %s\n", way.c_str(), format.c_str(), what.c_str());
  std::fflush(stdout);
}

void ClassWorker::judge(const std::string& way, const std::string& format, const std::string& where,
                        const std::string& fault) {
  if (fault.empty()) return pass(way, format);
  fail(way, format, where + ": " + fault);
}

int run_class(const ClassArguments& arguments, std::size_t jobs,
              const std::function<ClassTask()>& make_task,
              const std::map<std::string, int>& wanted) {
  const auto start = std::chrono::steady_clock::now();
  int count = arguments.threads;
  if (count == 0)
    count = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
  std::vector<std::unique_ptr<ClassWorker>> workers;
  for (int k = 0; k < count; ++k) {
    auto worker = open_worker(arguments.backend);
    if (!worker.ok()) {
      std::printf("%s: %s\n", gpu_required() ? "FAIL" : "SKIP", worker.status().message().c_str());
      return gpu_required() ? 1 : kExitSkipped;
    }
    workers.push_back(std::move(worker.value()));
  }
  {
    const Watchdog watchdog(workers);
    // Jobs of this shard, one of `every`.
    const auto stride = static_cast<std::size_t>(arguments.shards * arguments.every);
    std::atomic<std::size_t> next{static_cast<std::size_t>(arguments.shard)};
    std::vector<std::thread> threads;
    for (const std::unique_ptr<ClassWorker>& worker : workers)
      threads.emplace_back([&] {
        const ClassTask task = make_task();
        for (std::size_t job = next.fetch_add(stride); job < jobs; job = next.fetch_add(stride))
          task(*worker, job);
      });
    for (std::thread& thread : threads)
      thread.join();
  }
  const WayCounts counts = total(workers);
  print_counts(counts);
  long passed = 0, failed = 0, refused = 0;
  for (const auto& [way, formats] : counts)
    for (const auto& [format, row] : formats) {
      passed += row.passed;
      failed += row.failed;
      refused += row.refused;
    }
  for (const auto& [way, formats] : wanted) {
    const int seen = formats_run(counts, way);
    if (seen >= formats) continue;
    std::printf("FAIL %s ran with %d formats, not %d\n", way.c_str(), seen, formats);
    ++failed;
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("figure: %ld frames in %zu ways on %s, %ld failed, %ld refused, %.1f s\n",
              passed + failed, counts.size(), backend_name(arguments.backend), failed, refused,
              elapsed.count());
  std::printf("%ld passed, %ld failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

int report_plans(const PlannedFormats& planned, const std::map<std::string, int>& wanted) {
  long missing = 0;
  for (const auto& [key, formats] : planned)
    std::printf("%-50s %3zu formats\n", key.c_str(), formats.size());
  for (const auto& [key, formats] : wanted) {
    const auto found = planned.find(key);
    const std::size_t count = found == planned.end() ? 0 : found->second.size();
    if (count >= static_cast<std::size_t>(formats)) continue;
    std::printf("FAIL an H100 plans %s for %zu formats, not %d\n", key.c_str(), count, formats);
    ++missing;
  }
  std::printf("%ld passed, %ld failed\n", static_cast<long>(wanted.size()) - missing, missing);
  return missing == 0 && !wanted.empty() ? 0 : 1;
}

}  // namespace convolve::testing
