// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fuzz/death.h"

#include <csignal>
#include <initializer_list>

/// Of the sanitizers' run-time library, where there is one.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace convolve::fuzz {
namespace {

void (*g_say)() = nullptr;

extern "C" void die(int signal_number) {
  g_say();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

}  // namespace

void call_at_death(void (*say)()) {
  g_say = say;
  if (__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(say);
    return;
  }
  for (const int signal_number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
    std::signal(signal_number, die);
}

}  // namespace convolve::fuzz
