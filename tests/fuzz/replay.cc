// SPDX-License-Identifier: LGPL-2.1-or-later
// A target with the inputs that fuzzing has found, without libFuzzer.
//
//   TARGET_replay [--input=N] PACK
//
// PACK (pack.py) holds each input behind a line with its length. All inputs are one test; their
// number stands beside it.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tests/fuzz/death.h"
#include "tests/fuzz/target.h"

namespace convolve::fuzz {
namespace {

std::atomic<int> g_input{0};

void say_input() {
  char line[64];
  const int length = std::snprintf(line, sizeof line, "FAIL died with input %d\n", g_input.load());
  // Nothing is left to do if this fails.
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, line, static_cast<size_t>(length));
}

/// The inputs of a pack; none if it is not there or damaged.
std::vector<std::string> read_pack(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> inputs;
  std::size_t length = 0;
  while (file >> length) {
    std::string bytes(length, '\0');
    if (file.get() != '\n' || !file.read(bytes.data(), static_cast<std::streamsize>(length)))
      return {};
    inputs.push_back(std::move(bytes));
  }
  return file.eof() ? inputs : std::vector<std::string>{};
}

int replay(const char* path, int only) {
  const std::vector<std::string> inputs = read_pack(path);
  if (inputs.empty()) {
    std::printf("FAIL no inputs in %s\n", path);
    return 1;
  }
  int tried = 0;
  int failed = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (only >= 0 && i != static_cast<std::size_t>(only)) continue;
    g_input = static_cast<int>(i);
    const std::string fault = try_input(inputs[i]);
    ++tried;
    if (fault.empty()) continue;
    ++failed;
    std::printf("FAIL input %zu: %s\n", i, fault.c_str());
  }
  std::printf("beside: %d fuzz inputs\n", tried);
  const bool good = tried > 0 && failed == 0;
  std::printf("%d passed, %d failed\n", good ? 1 : 0, good ? 0 : 1);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace convolve::fuzz

int main(int argc, char** argv) {
  int only = -1;
  const char* pack = nullptr;
  for (int k = 1; k < argc; ++k)
    if (std::strncmp(argv[k], "--input=", 8) == 0)
      only = std::atoi(argv[k] + 8);
    else
      pack = argv[k];
  if (pack == nullptr) {
    std::fprintf(stderr, "usage: %s [--input=N] PACK\n", argv[0]);
    return 2;
  }
  convolve::fuzz::prepare();
  convolve::fuzz::call_at_death(convolve::fuzz::say_input);
  return convolve::fuzz::replay(pack, only);
}
