// SPDX-License-Identifier: LGPL-2.1-or-later
// Plays a case and judges each of its frames. No call of this file's functions ends a process that
// the product itself does not end.
#pragma once

#include <cstdint>
#include <string>

#include "tests/storm/case.h"
#include "tests/storm/judge.h"

namespace storm {

/// What became of a track or a case.
struct Outcome {
  std::string fault;         ///< The first one; empty if there is none.
  std::int64_t frames = 0;   ///< Judged.
  std::int64_t refused = 0;  ///< Settings that the product refused, as it may.
  std::int64_t exact = 0;    ///< As of Verdict, summed up.
  std::int64_t neighbours = 0;
  std::int64_t unchecked = 0;

  void add(const Verdict& verdict);
  void add(const Outcome& other);
};

/// `backend`: "cpu" or "cuda".
Outcome play_element(const Track& track, const std::string& backend);
Outcome play_engine(const Track& track, const std::string& backend);

/// All tracks of `c` at the same time.
Outcome play(const Case& c, const std::string& backend);

}  // namespace storm
