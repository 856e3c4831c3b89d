// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/options.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace storm {
namespace {

constexpr char kUsage[] =
    "usage: storm [OPTION...]      plays random cases and compares every frame\n"
    "  --seed=N         another storm; default $SEED, or the time\n"
    "  --seconds=N      default $SECONDS, or 60\n"
    "  --cases=N        ends after so many cases, if not before\n"
    "  --backend=NAME   cpu or cuda; default $CUDACONVOLVE_TEST_BACKEND, or cpu\n"
    "  --replay=LINE    plays one case\n"
    "  --corpus=FOLDER  plays every line of its files *.storm\n"
    "  --limit=N        seconds that a case may take; default 60\n"
    "  --shrink=N       seconds for making a failing case small; default 30\n"
    "  --failures=N     ends after so many; default 5\n"
    "  --together       only cases of several elements at once\n"
    "  --list           prints the cases and plays none\n";

std::string environment(const char* name, const std::string& fallback) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : fallback;
}

/// True if `argument` is --name=VALUE.
bool value_of(const char* argument, const char* name, std::string* value) {
  const std::size_t length = std::strlen(name);
  if (std::strncmp(argument, name, length) != 0 || argument[length] != '=') return false;
  *value = argument + length + 1;
  return true;
}

bool set_flag(const char* argument, const char* name, bool* flag) {
  const bool found = std::strcmp(argument, name) == 0;
  *flag = *flag || found;
  return found;
}

bool parse_argument(const char* argument, CommandLine* line) {
  std::string value;
  if (value_of(argument, "--seed", &value))
    line->seed = std::strtoull(value.c_str(), nullptr, 10);
  else if (value_of(argument, "--seconds", &value))
    line->seconds = std::atof(value.c_str());
  else if (value_of(argument, "--cases", &value))
    line->cases = std::atoll(value.c_str());
  else if (value_of(argument, "--failures", &value))
    line->failures = std::atoi(value.c_str());
  else if (value_of(argument, "--limit", &value))
    line->limit = std::atof(value.c_str());
  else if (value_of(argument, "--shrink", &value))
    line->shrink = std::atof(value.c_str());
  else if (!value_of(argument, "--backend", &line->backend) &&
           !value_of(argument, "--replay", &line->replay) &&
           !value_of(argument, "--corpus", &line->corpus)) {
    return set_flag(argument, "--list", &line->list) ||
           set_flag(argument, "--together", &line->together) ||
           set_flag(argument, "--worker", &line->worker);
  }
  return true;
}

}  // namespace

bool parse_command_line(int argc, char** argv, CommandLine* line) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  line->seed = std::strtoull(environment("SEED", std::to_string(seconds)).c_str(), nullptr, 10);
  line->seconds = std::atof(environment("SECONDS", "60").c_str());
  const std::string backend = environment("CUDACONVOLVE_TEST_BACKEND", "cpu");
  line->backend = backend == "cuda" ? "cuda" : "cpu";
  bool good = true;
  for (int k = 1; k < argc; ++k)
    good = parse_argument(argv[k], line) && good;
  good = good && (line->backend == "cpu" || line->backend == "cuda");
  if (!good) std::fputs(kUsage, stderr);
  return good;
}

}  // namespace storm
