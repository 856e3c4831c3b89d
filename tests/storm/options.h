// SPDX-License-Identifier: LGPL-2.1-or-later
// The storm's command line and environment.
#pragma once

#include <cstdint>
#include <string>

namespace storm {

struct CommandLine {
  std::uint64_t seed = 0;
  std::int64_t cases = -1;  ///< At most so many; -1: until the time is over.
  double seconds = 60;
  double limit = 60;   ///< Seconds that a case may take.
  double shrink = 30;  ///< Seconds for making a failing case small.
  int failures = 5;    ///< Ends after so many: one fault found many times is still one.
  std::string backend;
  std::string replay;     ///< One case,
  std::string corpus;     ///< or the cases of a folder.
  bool together = false;  ///< Only cases of several elements at once.
  bool list = false;      ///< Print cases and play none.
  bool worker = false;
};

/// False with a message on standard error if the arguments mean nothing.
bool parse_command_line(int argc, char** argv, CommandLine* line);

}  // namespace storm
