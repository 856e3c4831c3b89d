// SPDX-License-Identifier: LGPL-2.1-or-later
// What runs in the child: lines of cases come in on standard input, answers go out on a pipe.
#pragma once

#include <string>

#include "tests/storm/play.h"

namespace storm {

/// The file descriptor that a worker answers on.
inline constexpr int kAnswerDescriptor = 3;
/// What a worker says once it is ready for cases.
inline constexpr char kReady[] = "ready";

/// An outcome as one line without its end, and back; false if it is none.
std::string to_answer(const Outcome& outcome);
bool parse_answer(const std::string& line, Outcome* outcome);

/// Plays every case on standard input until its end. Returns the exit status.
int run_worker(const std::string& backend);

}  // namespace storm
