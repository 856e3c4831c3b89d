// SPDX-License-Identifier: LGPL-2.1-or-later
// Every kernel of a backend against the exact reference.
//
//   conformance [--backend=cpu|cuda] [--kernel=NICK] [--quick|--full] [--every=N] [--threads=N]
//               [--refusals=FILE | --list-refusals] [--forms=FILE | --list-forms] [--plans]
//               [--instruction-set=NAME]
//
// With --every=N one case of N is run. FILEs hold what a full run must refuse, and how many cases
// each form must serve and decline. With --plans nothing runs: the forms are those that would be
// planned, on CUDA for an H100, which needs no GPU. With --instruction-set=AVX2 kernels of the CPU
// use nothing better; "baseline" is what every machine has.
//
// Exit status: 0 all passed, 1 failures, 2 bad usage, 77 no GPU (a failure if the environment says
// CUDACONVOLVE_REQUIRE_GPU=1). The last line reads "N passed, N failed".
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/cpu/instruction_set.h"
#include "tests/kernels/runner.h"
#include "tests/kernels/ways.h"

namespace convolve::testing {
namespace {

constexpr int kExitSkipped = 77;
/// Runners that share a GPU: the largest masks of `constant` (41x41 doubles, 13 KB) must all fit
/// its 64 KB bank at once, or refusals would depend on timing.
constexpr int kMostRunnersOnCuda = 4;

struct Arguments {
  BackendKind backend = BackendKind::kCpu;
  KernelKind kernel = KernelKind::kAuto;  ///< kAuto: all of them.
  bool quick = false;
  int every = 1;
  bool list_refusals = false;
  bool list_forms = false;
  bool plans = false;
  std::string refusals_file;
  std::string forms_file;
  std::string instruction_set;  ///< Empty: the machine's best.
  int threads = 0;
};

bool parse_kernel(const std::string& nick, KernelKind* kernel) {
  for (const KernelInfo& info : kKernels)
    if (nick == info.nick) {
      *kernel = info.kind;
      return true;
    }
  return false;
}

bool parse_arguments(int argc, char** argv, Arguments* arguments) {
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (word == "--backend=cpu")
      arguments->backend = BackendKind::kCpu;
    else if (word == "--backend=cuda")
      arguments->backend = BackendKind::kCuda;
    else if (word == "--quick")
      arguments->quick = true;
    else if (word == "--full")
      arguments->quick = false;
    else if (word == "--list-refusals")
      arguments->list_refusals = true;
    else if (word == "--list-forms")
      arguments->list_forms = true;
    else if (word == "--plans")
      arguments->plans = true;
    else if (name == "--forms" && !value.empty())
      arguments->forms_file = value;
    else if (name == "--instruction-set" && !value.empty())
      arguments->instruction_set = value;
    else if (name == "--refusals" && !value.empty())
      arguments->refusals_file = value;
    else if (name == "--every" && std::atoi(value.c_str()) > 0)
      arguments->every = std::atoi(value.c_str());
    else if (name == "--threads" && std::atoi(value.c_str()) > 0)
      arguments->threads = std::atoi(value.c_str());
    else if (name != "--kernel" || !parse_kernel(value, &arguments->kernel))
      return false;
  }
  return true;
}

std::vector<KernelKind> chosen_kernels(const Arguments& arguments) {
  std::vector<KernelKind> kernels;
  for (const KernelInfo& info : kKernels) {
    const bool here = has_kernel(arguments.backend, info.kind);
    const bool asked = arguments.kernel == KernelKind::kAuto || arguments.kernel == info.kind;
    if (info.kind != KernelKind::kAuto && here && asked) kernels.push_back(info.kind);
  }
  return kernels;
}

/// One runner's devices: on the CPU, work on the caller's thread alone and work cut into bands.
Result<std::vector<std::shared_ptr<Device>>> open_devices(BackendKind backend) {
  std::vector<std::shared_ptr<Device>> devices;
  for (const int threads : {1, 3}) {
    DeviceOptions options;
    options.threads = threads;
    Result<std::shared_ptr<Device>> device = open_device(backend, options);
    if (!device.ok()) return device.status();
    devices.push_back(std::move(device.value()));
    if (backend == BackendKind::kCuda) break;
  }
  return devices;
}

/// What the kernels that the backend does not have answer.
void ask_for_absent_kernels(const Arguments& arguments, const std::shared_ptr<Device>& device,
                            Tally* tally) {
  const TestMaskPtr mask = random_mask(3, 3, Weights::kRational);
  const FrameFormat format = make_format(Arrangement::kPacked1, kU8, Levels::kFull, 8, 8);
  for (const KernelInfo& info : kKernels) {
    if (has_kernel(arguments.backend, info.kind)) continue;
    Options options;
    options.kernel = info.kind;
    const auto convolver = Convolver::create(format, mask->mask, options, device);
    const std::string ground = convolver.ok() ? "" : refusal_ground(convolver.status());
    tally->refusals.insert(std::string(backend_name(arguments.backend)) + " " + info.nick +
                           " *: " + (ground.empty() ? "none" : ground));
  }
}

/// All cases on `count` threads, each with devices of its own.
Result<Tally> run_all(const Arguments& arguments, std::vector<Case> cases, int count) {
  std::sort(cases.begin(), cases.end(),
            [](const Case& a, const Case& b) { return a.cost() > b.cost(); });
  std::vector<Runner> runners;
  Tally tally;
  for (int k = 0; k < count; ++k) {
    auto devices = open_devices(arguments.backend);
    if (!devices.ok()) return devices.status();
    if (k == 0) ask_for_absent_kernels(arguments, devices.value().front(), &tally);
    runners.emplace_back(std::move(devices.value()), chosen_kernels(arguments));
  }
  const auto every = static_cast<std::size_t>(arguments.every);
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (Runner& runner : runners)
    threads.emplace_back([&cases, &next, &runner, every] {
      for (std::size_t k = next++; k * every < cases.size(); k = next++)
        runner.run(cases[k * every]);
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const Runner& runner : runners)
    tally.add(runner.tally());
  return tally;
}

/// What each form would serve and decline.
FormCounts count_plans(const Arguments& arguments, int threads) {
  DeviceCapabilities device = h100();
  if (arguments.backend == BackendKind::kCpu) device = DeviceCapabilities();
  const std::vector<Case> cases = make_cases(arguments.quick);
  const std::vector<KernelKind> kernels = chosen_kernels(arguments);
  std::vector<FormCounts> counts(static_cast<std::size_t>(threads));
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> workers;
  for (FormCounts& mine : counts)
    workers.emplace_back([&cases, &kernels, &device, &next, &mine] {
      for (std::size_t k = next++; k < cases.size(); k = next++)
        mine.add_plans(cases[k], kernels, device);
    });
  for (std::thread& worker : workers)
    worker.join();
  FormCounts sum;
  for (const FormCounts& each : counts)
    sum.add(each);
  return sum;
}

int run_plans(const Arguments& arguments, int threads) {
  const std::set<std::string> lines = count_plans(arguments, threads).lines(arguments.backend);
  if (arguments.list_forms) {
    for (const std::string& line : lines)
      std::printf("%s\n", line.c_str());
    return 0;
  }
  const bool same =
      check_forms(arguments.forms_file, arguments.backend, chosen_kernels(arguments), lines);
  std::printf("%zu passed, %d failed\n", same ? lines.size() : 0, same ? 0 : 1);
  return same && !lines.empty() ? 0 : 1;
}

/// The pinned refusals of this backend and the chosen kernels.
std::set<std::string> pinned_refusals(const Arguments& arguments, std::istream& file) {
  std::set<std::string> pinned;
  const std::string backend = std::string(backend_name(arguments.backend)) + " ";
  const std::string kernel = std::string(kernel_info(arguments.kernel).nick) + " ";
  for (std::string line; std::getline(file, line);) {
    if (line.rfind(backend, 0) != 0) continue;
    const bool absent = line.find(" *: ") != std::string::npos;
    if (arguments.kernel == KernelKind::kAuto || absent ||
        line.compare(backend.size(), kernel.size(), kernel) == 0)
      pinned.insert(line);
  }
  return pinned;
}

/// True if they are the pinned ones. A run of a part need not meet every pinned refusal.
bool check_refusals(const Arguments& arguments, const Tally& tally) {
  std::ifstream file(arguments.refusals_file);
  if (!file) {
    std::printf("cannot read %s\n", arguments.refusals_file.c_str());
    return false;
  }
  const std::set<std::string> pinned = pinned_refusals(arguments, file);
  bool same = true;
  for (const std::string& line : tally.refusals)
    if (pinned.count(line) == 0) {
      std::printf("FAIL a refusal that is not pinned: %s\n", line.c_str());
      same = false;
    }
  for (const std::string& line : pinned)
    if (!arguments.quick && arguments.every == 1 && tally.refusals.count(line) == 0) {
      std::printf("FAIL a pinned refusal that did not occur: %s\n", line.c_str());
      same = false;
    }
  return same;
}

std::int64_t print_table(const Tally& tally) {
  std::int64_t failed = 0;
  std::printf("%-14s %10s %14s %10s %12s\n", "kernel", "cases", "samples", "differing",
              "neighbours");
  for (const auto& [kernel, row] : tally.kernels) {
    std::printf("%-14s %10lld %14lld %10lld %12lld\n", kernel_info(kernel).nick,
                static_cast<long long>(row.cases), static_cast<long long>(row.comparison.samples),
                static_cast<long long>(row.comparison.wrong),
                static_cast<long long>(row.comparison.neighbours));
    failed += row.failed;
  }
  return failed;
}

int run(const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (!arguments.instruction_set.empty()) {
    if (Status status = limit_instruction_set(arguments.instruction_set); !status.ok()) {
      std::printf("FAIL %s\n", status.message().c_str());
      return 1;
    }
    std::printf("instruction set: %s\n", vector_instruction_set());
  }
  if (arguments.plans)
    return run_plans(arguments, arguments.threads > 0 ? arguments.threads : processors);
  if (const auto devices = open_devices(arguments.backend); !devices.ok()) {
    const char* required = std::getenv("CUDACONVOLVE_REQUIRE_GPU");
    const bool must = required != nullptr && std::strcmp(required, "1") == 0;
    std::printf("%s: %s\n", must ? "FAIL" : "SKIP", devices.status().message().c_str());
    return must ? 1 : kExitSkipped;
  }
  int runners = arguments.threads > 0 ? arguments.threads : processors;
  if (arguments.backend == BackendKind::kCuda) runners = std::min(runners, kMostRunnersOnCuda);
  Result<Tally> result = run_all(arguments, make_cases(arguments.quick), runners);
  if (!result.ok()) {
    std::printf("FAIL %s\n", result.status().message().c_str());
    return 1;
  }
  const Tally& tally = result.value();
  if (arguments.list_refusals) {
    for (const std::string& line : tally.refusals)
      std::printf("%s\n", line.c_str());
    return 0;
  }
  const std::set<std::string> forms = tally.forms.lines(arguments.backend);
  if (arguments.list_forms) {
    for (const std::string& line : forms)
      std::printf("%s\n", line.c_str());
    return 0;
  }
  std::int64_t failed = print_table(tally);
  std::int64_t cases = 0;
  for (const auto& [kernel, row] : tally.kernels)
    cases += row.cases;
  for (const std::string& failure : tally.failures)
    std::printf("FAIL %s\n", failure.c_str());
  if (!arguments.refusals_file.empty()) {
    failed += check_refusals(arguments, tally) ? 0 : 1;
    ++cases;
  }
  // A part of the cases says nothing of their number.
  if (!arguments.forms_file.empty() && !arguments.quick && arguments.every == 1) {
    const bool same =
        check_forms(arguments.forms_file, arguments.backend, chosen_kernels(arguments), forms);
    failed += same ? 0 : 1;
    ++cases;
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("%s, %s run: %zu refusals, %.1f seconds\n", backend_name(arguments.backend),
              arguments.quick ? "quick" : "full", tally.refusals.size(), elapsed.count());
  std::printf("%lld passed, %lld failed\n",
              static_cast<long long>(std::max<std::int64_t>(0, cases - failed)),
              static_cast<long long>(failed));
  return failed == 0 && cases > 0 ? 0 : 1;
}

}  // namespace
}  // namespace convolve::testing

int main(int argc, char** argv) {
  convolve::testing::Arguments arguments;
  if (!convolve::testing::parse_arguments(argc, argv, &arguments)) {
    std::fprintf(stderr,
                 "usage: conformance [--backend=cpu|cuda] [--kernel=NICK] [--quick|--full] "
                 "[--every=N] [--threads=N] [--refusals=FILE | --list-refusals] "
                 "[--forms=FILE | --list-forms] [--plans] [--instruction-set=NAME]\n");
    return 2;
  }
  return convolve::testing::run(arguments);
}
