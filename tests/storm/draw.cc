// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/draw.h"

#include <algorithm>

namespace storm {
namespace {

const std::vector<std::string> kFills = {"random", "random", "random",   "random",
                                         "random", "rows",   "extremes", "impulse"};
const std::vector<std::string> kLayouts = {"StridePlus1",
                                           "StridesUnequal",
                                           "StridePlus4096",
                                           "OddStartAndStride",
                                           "UpsideDown",
                                           "LastPlaneFirst",
                                           "LastPlaneFirstUpsideDownInMemories",
                                           "PlanesSideBySide",
                                           "MemoryPerPlane",
                                           "MemoriesCutInPlanes",
                                           "MemoriesOfSevenBytes",
                                           "ReadOnly",
                                           "ReadOnlyCutInPlanes",
                                           "Shared",
                                           "SharedMemoryPerPlane",
                                           "RegionOfLarger",
                                           "RegionOfLargerMemoryPerPlane",
                                           "MemoryShare",
                                           "MemorySharePerPlane"};

/// How large the pictures of a track may be. Small ones are many, as they cost least.
std::int64_t draw_max_pixels(Random& random) {
  const int kind = random.integer(1, 1000);
  if (kind <= 4) return 8 << 20;
  if (kind <= 100) return 1 << 20;
  return kind <= 450 ? 300'000 : 20'000;
}

void draw_frame(Random& random, Words* step) {
  step->add("q", std::to_string(random.integer(0, 999'999)));
  const std::string fill = random.pick(kFills);
  if (fill != "random") step->add("fill", fill);
}

Track draw_element(Random& random, std::int64_t max_pixels, int steps) {
  Track track;
  track.head = draw_picture(random, max_pixels);
  if (random.chance(20)) track.head.add("threads", std::to_string(random.integer(1, 4)));
  Words picture = track.head;
  if (random.chance(10)) track.head.add("backend", "auto");
  const bool in_flight = random.chance(40);
  if (in_flight) track.head.add("async-depth", std::to_string(random.integer(1, 8)));
  for (int s = 0; s < steps; ++s) {
    Words step;
    draw_frame(random, &step);
    if (s > 0 && random.chance(8)) {
      picture = draw_picture(random, max_pixels);
      for (const Words::Word& word : picture)
        step.add(word.first, word.second);
    }
    if (s > 0 && random.chance(8)) step.add("flush", "1");
    if (in_flight && max_pixels <= 1 << 20 && random.chance(60))
      step.add("burst", std::to_string(random.integer(2, 10)));
    if (random.chance(35)) step.add("layout", random.pick(kLayouts));
    if (picture.get("mode") == "mixed" && random.chance(50)) step.add("interlaced", "1");
    draw_properties(random, extent_of(picture), s == 0, &step);
    track.steps.push_back(std::move(step));
  }
  return track;
}

Track draw_engine(Random& random, std::int64_t max_pixels, int steps) {
  Track track;
  track.kind = Kind::kEngine;
  track.head = draw_picture(random, max_pixels);
  if (random.chance(20)) track.head.add("threads", std::to_string(random.integer(1, 4)));
  for (int s = 0; s < steps; ++s) {
    Words step;
    draw_frame(random, &step);
    draw_properties(random, extent_of(track.head), s == 0, &step);
    draw_ways(random, &step);
    track.steps.push_back(std::move(step));
  }
  return track;
}

}  // namespace

Case draw_case(std::uint64_t seed, std::uint64_t index) {
  Random random(seed, index);
  Case c;
  const int kind = random.integer(1, 100);
  if (kind <= 8) {
    for (int tracks = random.integer(2, 3); tracks > 0; --tracks)
      c.tracks.push_back(random.chance(75) ? draw_element(random, 20'000, random.integer(2, 8))
                                           : draw_engine(random, 20'000, random.integer(2, 8)));
  } else if (kind <= 35) {
    c.tracks.push_back(draw_engine(random, draw_max_pixels(random), random.integer(1, 10)));
  } else {
    c.tracks.push_back(draw_element(random, draw_max_pixels(random), random.integer(1, 16)));
  }
  return c;
}

}  // namespace storm
