// SPDX-License-Identifier: LGPL-2.1-or-later
// The mask grammar and mask files under random changes of valid ones.
//
//   mask_fuzz [--runs=N] [--first=N] [--seconds=N] CORPUS-FOLDER
//
// Run number n always tries the same input, whatever came before it: --first=n --runs=1 repeats it.
// Files *.mask of the corpus are texts of the property, all others contents of files. Nothing may
// crash, and mask_judge.h says what is right. All runs are one test; their number stands beside it.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/core/mask/mask_text.h"
#include "tests/fuzz/death.h"
#include "tests/fuzz/mask_judge.h"
#include "tests/fuzz/mutate.h"

namespace convolve::fuzz {
namespace {

std::atomic<std::int64_t> g_run{0};

void say_run() {
  char line[64];
  const int length = std::snprintf(line, sizeof line, "FAIL died in run %lld\n",
                                   static_cast<long long>(g_run.load()));
  // Nothing is left to do if this fails.
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, line, static_cast<size_t>(length));
}

struct Tally {
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  std::int64_t failed = 0;
};

void try_input(const Input& input, MemoryFile& file, std::int64_t run, Tally& tally) {
  const bool thorough = run % 64 == 0;
  Verdict verdict =
      input.file ? try_file(input.bytes, file, thorough) : try_text(input.bytes, thorough);
  if (input.file && verdict.fault.empty())
    verdict.fault = try_secret(input.bytes, file, static_cast<std::uint64_t>(run)).fault;
  ++(verdict.accepted ? tally.accepted : tally.refused);
  if (verdict.fault.empty()) return;
  ++tally.failed;
  std::printf("FAIL run %lld, %s %s: %s\n", static_cast<long long>(run),
              input.file ? "file" : "text", quoted(input.bytes, 400).c_str(),
              verdict.fault.c_str());
}

struct Arguments {
  std::int64_t runs = 200000;
  std::int64_t first = 0;
  double seconds = 0;  ///< Stop after this time, 0 = never.
  const char* corpus = nullptr;
};

bool parse_arguments(int argc, char** argv, Arguments& arguments) {
  for (int k = 1; k < argc; ++k) {
    if (std::strncmp(argv[k], "--runs=", 7) == 0)
      arguments.runs = std::atoll(argv[k] + 7);
    else if (std::strncmp(argv[k], "--first=", 8) == 0)
      arguments.first = std::atoll(argv[k] + 8);
    else if (std::strncmp(argv[k], "--seconds=", 10) == 0)
      arguments.seconds = std::atof(argv[k] + 10);
    else if (argv[k][0] != '-' && arguments.corpus == nullptr)
      arguments.corpus = argv[k];
    else
      return false;
  }
  return arguments.corpus != nullptr;
}

/// The corpus itself: all of it is valid.
void try_corpus(const std::vector<Input>& corpus, MemoryFile& file, Tally& tally) {
  for (const Input& input : corpus) {
    const std::int64_t before = tally.accepted;
    try_input(input, file, 0, tally);
    if (tally.accepted == before) {
      std::printf("FAIL refused, though of the corpus: %s\n", quoted(input.bytes, 400).c_str());
      ++tally.failed;
    }
  }
}

int run(const Arguments& arguments) {
  const std::vector<Input> corpus = read_corpus(arguments.corpus);
  if (corpus.empty()) {
    std::printf("FAIL no corpus in %s\n", arguments.corpus);
    return 1;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  MemoryFile file;
  Tally tally;
  try_corpus(corpus, file, tally);
  for (std::int64_t n = arguments.first; n < arguments.first + arguments.runs; ++n) {
    if (arguments.seconds > 0 && elapsed() > arguments.seconds) break;
    g_run = n;
    try_input(mutated(corpus, static_cast<std::uint64_t>(n)), file, n, tally);
  }
  const long long tried = tally.accepted + tally.refused;
  std::printf("%lld accepted, %lld refused, %.1f seconds\n", static_cast<long long>(tally.accepted),
              static_cast<long long>(tally.refused), elapsed());
  std::printf("beside: %lld mutations\n", tried - static_cast<long long>(corpus.size()));
  std::printf("%d passed, %d failed\n", tally.failed == 0 ? 1 : 0, tally.failed == 0 ? 0 : 1);
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace convolve::fuzz

int main(int argc, char** argv) {
  convolve::fuzz::Arguments arguments;
  if (!convolve::fuzz::parse_arguments(argc, argv, arguments)) {
    std::fprintf(stderr, "usage: mask_fuzz [--runs=N] [--first=N] [--seconds=N] CORPUS-FOLDER\n");
    return 2;
  }
  convolve::fuzz::call_at_death(convolve::fuzz::say_run);
  return convolve::fuzz::run(arguments);
}
