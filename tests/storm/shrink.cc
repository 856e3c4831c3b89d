// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/shrink.h"

#include <algorithm>
#include <cstdlib>

namespace storm {
namespace {

/// Words that are about one frame alone and not about those that follow.
constexpr const char* kOfOneFrame[] = {"q",      "fill",   "layout", "flush", "interlaced",
                                       "memory", "source", "target", "view",  "spare",
                                       "times",  "form",   "burst",  "pieces"};

bool of_one_frame(const std::string& name) {
  return std::find(std::begin(kOfOneFrame), std::end(kOfOneFrame), name) != std::end(kOfOneFrame);
}

/// `step` with what the steps before it have set.
Words merged(const std::vector<Words>& steps, std::size_t from, std::size_t step) {
  Words all;
  for (std::size_t s = from; s <= step; ++s)
    for (const Words::Word& word : steps[s])
      if (s == step || !of_one_frame(word.first)) all.set(word.first, word.second);
  return all;
}

/// Calls visit(track of a copy of `c`) for each track and keeps the copies that it changed.
template <class Visit>
void each_track(const Case& c, std::vector<Case>* cases, Visit&& visit) {
  for (std::size_t t = 0; t < c.tracks.size(); ++t)
    visit(c.tracks[t], [&](Track changed) {
      Case simpler = c;
      simpler.tracks[t] = std::move(changed);
      if (!(simpler == c)) cases->push_back(std::move(simpler));
    });
}

void fewer_tracks(const Case& c, std::vector<Case>* cases) {
  for (std::size_t t = 0; c.tracks.size() > 1 && t < c.tracks.size(); ++t)
    cases->push_back({{c.tracks[t]}});
}

/// The last step alone, halves, and each step left out; what was set before stays set, or not.
void fewer_steps(const Case& c, std::vector<Case>* cases) {
  each_track(c, cases, [](const Track& track, auto&& keep) {
    const std::size_t count = track.steps.size();
    if (count < 2) return;
    const auto last = [&](std::size_t number, bool with_settings) {
      Track shorter = track;
      shorter.steps.assign(track.steps.end() - static_cast<std::ptrdiff_t>(number),
                           track.steps.end());
      if (with_settings) shorter.steps.front() = merged(track.steps, 0, count - number);
      keep(std::move(shorter));
    };
    last(1, true);
    last(1, false);
    if (count > 3) last(count / 2, true);
    for (std::size_t s = 0; s < count; ++s) {
      Track shorter = track;
      if (s + 1 < count) shorter.steps[s + 1] = merged(track.steps, s, s + 1);
      shorter.steps.erase(shorter.steps.begin() + static_cast<std::ptrdiff_t>(s));
      keep(std::move(shorter));
    }
  });
}

void fewer_words(const Case& c, std::vector<Case>* cases) {
  each_track(c, cases, [](const Track& track, auto&& keep) {
    for (std::size_t k = 0; k < track.head.size(); ++k) {
      if (track.head[k].first == "format" || track.head[k].first == "size") continue;
      Track shorter = track;
      shorter.head.erase(k);
      keep(std::move(shorter));
    }
    for (std::size_t s = 0; s < track.steps.size(); ++s)
      for (std::size_t k = 0; k < track.steps[s].size(); ++k) {
        Track shorter = track;
        shorter.steps[s].erase(k);
        keep(std::move(shorter));
      }
  });
}

void smaller_pictures(const Case& c, std::vector<Case>* cases) {
  each_track(c, cases, [](const Track& track, auto&& keep) {
    const std::string size = track.head.get("size");
    const int width = std::atoi(size.c_str());
    const int height = std::atoi(size.c_str() + size.find('x') + 1);
    const auto try_size = [&](int w, int h) {
      if (w < 1 || h < 1 || w > width || h > height) return;
      Track smaller = track;
      smaller.head.set("size", std::to_string(w) + "x" + std::to_string(h));
      keep(std::move(smaller));
    };
    for (const int n : {1, 2, 4, 8, 16, 32, 64, 128})
      if (n < width && n < height) try_size(n, n);
    // What a tile leaves over may matter.
    for (const int tile : {64, 128})
      if (height % tile > 0) try_size(width, height % tile), try_size(width, tile + height % tile);
    for (const int tile : {64, 128})
      if (width % tile > 0) try_size(width % tile, height), try_size(tile + width % tile, height);
    for (const int less : {width / 2, 64, 16, 4, 1})
      if (less > 0) try_size(width - less, height);
    for (const int less : {height / 2, 64, 16, 4, 1})
      if (less > 0) try_size(width, height - less);
  });
}

void simpler_values(const Case& c, std::vector<Case>* cases) {
  each_track(c, cases, [](const Track& track, auto&& keep) {
    static const std::vector<std::string> kFormats = {"GRAY8", "NV12", "I420", "RGBA", "GRAY16_LE"};
    for (const std::string& format : kFormats) {
      if (format == track.head.get("format")) break;
      Track simpler = track;
      simpler.head.set("format", format);
      keep(std::move(simpler));
    }
    for (std::size_t s = 0; s < track.steps.size(); ++s) {
      const auto with = [&](const char* name, const std::string& value) {
        if (!track.steps[s].has(name)) return;
        Track simpler = track;
        simpler.steps[s].set(name, value);
        keep(std::move(simpler));
      };
      for (const std::string& mask : simpler_masks(track.steps[s].get("mask")))
        with("mask", mask);
      for (const char* place : {"source", "target"})
        with(place, std::to_string(std::atoi(track.steps[s].get(place).c_str()) % 64));
      for (const char* value : {"2", "0.5"})
        if (track.steps[s].get("scale").size() > 3) with("scale", value);
      for (const char* value : {"0.25", "0.5"})
        if (track.steps[s].get("bias").size() > 4) with("bias", value);
      if (track.steps[s].get("q") != "0") with("q", "0");
    }
  });
}

}  // namespace

std::vector<Case> simpler_cases(const Case& c) {
  std::vector<Case> cases;
  fewer_tracks(c, &cases);
  fewer_steps(c, &cases);
  smaller_pictures(c, &cases);
  fewer_words(c, &cases);
  simpler_values(c, &cases);
  return cases;
}

bool alike(const std::string& fault, const std::string& other) {
  if (fault.empty() || other.empty()) return fault.empty() && other.empty();
  for (const char* kind : {"differs", "no frame", "crash"})
    if ((fault.find(kind) != std::string::npos) != (other.find(kind) != std::string::npos))
      return false;
  return true;
}

Case shrink(Case c, const std::string& fault, const std::function<std::string(const Case&)>& play,
            Child::Seconds budget) {
  const auto end = std::chrono::steady_clock::now() + budget;
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (Case& simpler : simpler_cases(c)) {
      if (std::chrono::steady_clock::now() > end) return c;
      if (!alike(play(simpler), fault)) continue;
      c = std::move(simpler);
      smaller = true;
      break;
    }
  }
  return c;
}

}  // namespace storm
