// SPDX-License-Identifier: LGPL-2.1-or-later
// A target under libFuzzer: a wrong answer ends the program as a crash does, so that the input is
// kept.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  // How GLib dies of a warning. libFuzzer keeps the input of an abort, and knows no trap.
  std::signal(SIGTRAP, [](int) { std::abort(); });
  convolve::fuzz::prepare();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(data, data + size);
  const std::string fault = convolve::fuzz::try_input(bytes);
  if (fault.empty()) return 0;
  std::fprintf(stderr, "FAIL %s\n", fault.c_str());
  std::abort();
}
