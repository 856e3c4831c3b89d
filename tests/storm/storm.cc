// SPDX-License-Identifier: LGPL-2.1-or-later
// The storm: random cases without end through element and engine, each frame compared with another
// backend's and with the exact reference. Cases are played in a child (child.h); what fails is
// printed as a line that replays it, and then as the smallest one that still fails.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/storm/child.h"
#include "tests/storm/draw.h"
#include "tests/storm/options.h"
#include "tests/storm/shrink.h"
#include "tests/storm/worker.h"

namespace storm {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = Child::Seconds;

/// Seconds for a worker to end by itself.
constexpr double kEndLimit = 120;

class Storm {
 public:
  explicit Storm(const CommandLine& line) : line_(line), child_(line.backend) {}

  /// Random cases until the time is over.
  int rage() {
    std::printf("seed %llu, backend %s\n", static_cast<unsigned long long>(line_.seed),
                line_.backend.c_str());
    std::fflush(stdout);
    const Clock::time_point begin = Clock::now();
    const auto elapsed = [&] { return Seconds(Clock::now() - begin).count(); };
    std::uint64_t index = 0;
    for (; elapsed() < line_.seconds && failures_ < line_.failures && child_.usable(); ++index) {
      if (line_.cases >= 0 && index >= static_cast<std::uint64_t>(line_.cases)) break;
      const Case drawn = draw_case(line_.seed, index);
      if (!line_.together || drawn.tracks.size() > 1) play(drawn, std::to_string(index));
    }
    finish();
    std::printf(
        "figure: seed %llu: %llu cases, %lld frames, %lld element / %lld engine, %lld refused, "
        "%lld samples exact, %lld neighbours (%lld unchecked), %d failed, %.0f seconds, the "
        "slowest "
        "case %.1f (%s)\n",
        static_cast<unsigned long long>(line_.seed), static_cast<unsigned long long>(played_),
        static_cast<long long>(all_.frames), static_cast<long long>(element_frames_),
        static_cast<long long>(all_.frames - element_frames_), static_cast<long long>(all_.refused),
        static_cast<long long>(all_.exact), static_cast<long long>(all_.neighbours),
        static_cast<long long>(all_.unchecked), failures_, elapsed(), slowest_.count(),
        slowest_name_.c_str());
    // However many frames: one test, which passes or does not.
    const bool good = failures_ == 0 && all_.frames > 0;
    std::printf("%d passed, %d failed\n", good ? 1 : 0, good ? 0 : 1);
    return good ? 0 : 1;
  }

  int replay(const std::string& text) {
    Case c;
    std::string error;
    if (!parse_line(text, &c, &error)) {
      std::fprintf(stderr, "storm: %s\n", error.c_str());
      return 2;
    }
    const Outcome outcome = child_.play(c, Seconds(line_.limit));
    const std::string end = child_.finish(Seconds(kEndLimit));
    const std::string fault = outcome.fault.empty() ? end : outcome.fault;
    if (!fault.empty()) std::printf("FAIL %s\n", fault.c_str());
    std::printf("%lld frames, %lld refused\n", static_cast<long long>(outcome.frames),
                static_cast<long long>(outcome.refused));
    std::printf("%d passed, %d failed\n", fault.empty() ? 1 : 0, fault.empty() ? 0 : 1);
    return fault.empty() ? 0 : 1;
  }

  /// Each line is a test.
  int replay_corpus() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(line_.corpus))
      if (entry.path().extension() == ".storm") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    int passed = 0;
    for (const std::filesystem::path& file : files) {
      std::ifstream in(file);
      int number = 0;
      for (std::string text; std::getline(in, text);) {
        ++number;
        if (text.empty() || text.front() == '#') continue;
        Case c;
        std::string error;
        const std::string name = file.filename().string() + ":" + std::to_string(number);
        if (!parse_line(text, &c, &error)) {
          std::printf("FAIL %s: %s\n", name.c_str(), error.c_str());
          ++failures_;
        } else if (play(c, name)) {
          ++passed;
        }
      }
    }
    finish();
    std::printf("figure: %lld frames\n%d passed, %d failed\n", static_cast<long long>(all_.frames),
                passed, failures_);
    return failures_ == 0 && passed > 0 ? 0 : 1;
  }

 private:
  /// True if nothing is wrong.
  bool play(const Case& c, const std::string& name) {
    ++played_;
    const Clock::time_point begin = Clock::now();
    const Outcome outcome = child_.play(c, Seconds(line_.limit));
    if (const Seconds taken = Clock::now() - begin; taken > slowest_) {
      slowest_ = taken;
      slowest_name_ = name;
    }
    all_.add(outcome);
    if (std::all_of(c.tracks.begin(), c.tracks.end(),
                    [](const Track& track) { return track.kind == Kind::kElement; }))
      element_frames_ += outcome.frames;
    if (outcome.fault.empty()) return true;
    ++failures_;
    report("FAIL case " + name + ": " + outcome.fault, c);
    child_.kill();
    if (child_.usable() && line_.shrink > 0) shrink_failure(c, outcome.fault);
    return false;
  }

  void report(const std::string& what, const Case& c) {
    std::printf("%s replay: storm --backend=%s --replay='%s'\n", what.c_str(),
                line_.backend.c_str(), to_line(c).c_str());
    std::fflush(stdout);
  }

  void shrink_failure(const Case& c, const std::string& fault) {
    // A case that hangs is seen to hang soon.
    const double limit = std::max(1.0, line_.limit / 10);
    std::string last = fault;
    const Case smallest = shrink(
        c, fault,
        [&](const Case& simpler) {
          const std::string seen = child_.play(simpler, Seconds(limit)).fault;
          if (!seen.empty()) child_.kill();
          if (alike(seen, fault)) last = seen;
          return seen;
        },
        Seconds(line_.shrink));
    child_.kill();
    report("SHRUNK " + last, smallest);
  }

  /// The worker's own end is judged as well: leaks show there.
  void finish() {
    const std::string end = child_.finish(Seconds(kEndLimit));
    if (end.empty()) return;
    ++failures_;
    std::printf("FAIL at the end: %s\n", end.c_str());
  }

  const CommandLine& line_;
  Child child_;
  Outcome all_;
  std::int64_t element_frames_ = 0;
  std::uint64_t played_ = 0;  ///< Cases.
  Seconds slowest_{0};        ///< What the slowest case took, to be seen beside the limit.
  std::string slowest_name_;
  int failures_ = 0;
};

int list_cases(const CommandLine& line) {
  for (std::int64_t index = 0; index < std::max<std::int64_t>(line.cases, 1); ++index)
    std::printf("%s\n", to_line(draw_case(line.seed, static_cast<std::uint64_t>(index))).c_str());
  return 0;
}

}  // namespace
}  // namespace storm

int main(int argc, char** argv) {
  storm::CommandLine line;
  if (!storm::parse_command_line(argc, argv, &line)) return 2;
  if (line.worker) return storm::run_worker(line.backend);
  if (line.list) return storm::list_cases(line);
  storm::Storm storm(line);
  if (!line.replay.empty()) return storm.replay(line.replay);
  return line.corpus.empty() ? storm.rage() : storm.replay_corpus();
}
