// SPDX-License-Identifier: LGPL-2.1-or-later
// Programs that run a whole class of cases through a backend: many threads with a device each, a
// deadline for each frame, and counts that tell which ways have run.
//
//   PROGRAM [--backend=cuda|cpu] [--ways=NAME,...] [--shard=I/N] [--every=N] [--threads=N] [--list]
//           [--residues]
//
// A way is run if its name begins with one of the NAMEs. Exit status: 0 all passed, 1 failures, 2
// bad usage, 77 no GPU (a failure if the environment says CUDACONVOLVE_REQUIRE_GPU=1). The last
// line reads "N passed, N failed".
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "tests/kernels/ways.h"

namespace convolve::testing {

struct ClassArguments {
  BackendKind backend = BackendKind::kCuda;
  std::vector<std::string> ways;  ///< Prefixes of names; none: all ways.
  int shard = 0;                  ///< Of so many:
  int shards = 1;
  int every = 1;      ///< One job of so many is run.
  int threads = 0;    ///< 0: as many as there are processors.
  bool list = false;  ///< Says what an H100 would plan, and runs nothing.
  /// sizes_test: few sizes, for the sanitizers.
  bool residues = false;

  /// True if the way is asked for, and the backend has it.
  bool wants(const Way& way) const;
  bool wants_any(const std::vector<Way>& some) const;
};

/// Ends the program with status 2 if they are wrong.
ClassArguments parse_class_arguments(int argc, char** argv);

/// What became of a way with a format.
struct WayCount {
  long passed = 0;
  long failed = 0;
  long refused = 0;
};
using WayCounts = std::map<std::string, std::map<std::string, WayCount>>;

/// A thread of a run: its devices and counts.
class ClassWorker {
 public:
  ClassWorker(std::shared_ptr<Device> tested, std::shared_ptr<Device> truth)
      : tested_(std::move(tested)), truth_(std::move(truth)) {}

  /// Of the backend under test.
  const std::shared_ptr<Device>& tested() const { return tested_; }
  /// Opens it anew: the device planes of what ran before are larger than a small frame needs, which
  /// would hide from the sanitizers what is read behind it. False after a failure, which it notes.
  bool renew_tested(BackendKind backend);
  /// A CPU on the caller's thread alone.
  const std::shared_ptr<Device>& truth() const { return truth_; }

  /// Does what may hang; when it takes longer than it may, the program prints `name` and ends.
  Status timed(const std::string& name, const std::function<Status()>& work);

  void pass(const std::string& way, const std::string& format) { ++counts_[way][format].passed; }
  void refuse(const std::string& way, const std::string& format) { ++counts_[way][format].refused; }
  /// Prints it, too, if there have not been many.
  void fail(const std::string& way, const std::string& format, const std::string& what);
  /// Passes if there is no fault, else fails.
  void judge(const std::string& way, const std::string& format, const std::string& where,
             const std::string& fault);

  const WayCounts& counts() const { return counts_; }
  /// What is being done for longer than it may be; empty if nothing is.
  std::string overdue(std::chrono::steady_clock::time_point now);

 private:
  std::shared_ptr<Device> tested_, truth_;
  WayCounts counts_;
  std::mutex mutex_;  ///< Of what follows.
  std::string name_;
  std::chrono::steady_clock::time_point since_;
};

/// Runs tasks for every job of the shard, on as many threads, and prints what came of it: a key of
/// `wanted` fails unless it ran with as many formats as it names. Returns the program's exit
/// status.
using ClassTask = std::function<void(ClassWorker& worker, std::size_t job)>;
int run_class(const ClassArguments& arguments, std::size_t jobs,
              const std::function<ClassTask()>& make_task,
              const std::map<std::string, int>& wanted);

/// Prints which keys plans have, and with how many formats; returns the status of a program that
/// fails if these are not `wanted`. For machines without a GPU.
using PlannedFormats = std::map<std::string, std::set<std::string>>;
int report_plans(const PlannedFormats& planned, const std::map<std::string, int>& wanted);

}  // namespace convolve::testing
