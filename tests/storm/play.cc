// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/play.h"

#include <thread>
#include <vector>

namespace storm {
namespace {

Outcome play_track(const Track& track, const std::string& backend) {
  return track.kind == Kind::kElement ? play_element(track, backend) : play_engine(track, backend);
}

}  // namespace

void Outcome::add(const Verdict& verdict) {
  exact += verdict.exact;
  neighbours += verdict.neighbours;
  unchecked += verdict.unchecked;
  if (fault.empty()) fault = verdict.fault;
}

void Outcome::add(const Outcome& other) {
  frames += other.frames;
  refused += other.refused;
  exact += other.exact;
  neighbours += other.neighbours;
  unchecked += other.unchecked;
  if (fault.empty()) fault = other.fault;
}

Outcome play(const Case& c, const std::string& backend) {
  if (c.tracks.size() == 1) return play_track(c.tracks.front(), backend);
  std::vector<Outcome> outcomes(c.tracks.size());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < c.tracks.size(); ++t)
    threads.emplace_back([&, t] { outcomes[t] = play_track(c.tracks[t], backend); });
  Outcome all;
  for (std::size_t t = 0; t < threads.size(); ++t) {
    threads[t].join();
    if (!outcomes[t].fault.empty())
      outcomes[t].fault = "track " + std::to_string(t + 1) + ": " + outcomes[t].fault;
    all.add(outcomes[t]);
  }
  return all;
}

}  // namespace storm
