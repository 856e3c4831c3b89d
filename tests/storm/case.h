// SPDX-License-Identifier: LGPL-2.1-or-later
// A case of the storm as a value, and as one line of text that replays it:
//
//   element format=I420 size=423x252 | q=0 mask="3x1: 1 2 1 / 4" border=mirror | q=1 flush=1
//
// A track is the life of one element or of one device of the engine: what it begins with, then its
// steps behind bars. A step is one frame, its words in the order in which they take effect. Tracks
// are parted by two bars and run at the same time, each on a thread of its own.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace storm {

/// Names with values, in their order.
class Words {
 public:
  using Word = std::pair<std::string, std::string>;

  /// The value of the last word of this name, or `fallback`.
  std::string get(std::string_view name, std::string_view fallback = {}) const;
  bool has(std::string_view name) const;
  /// Replaces the value of the last word of this name, or adds one.
  void set(std::string_view name, std::string_view value);
  void add(std::string_view name, std::string_view value);
  void erase(std::size_t index);

  std::size_t size() const { return words_.size(); }
  const Word& operator[](std::size_t index) const { return words_[index]; }
  auto begin() const { return words_.begin(); }
  auto end() const { return words_.end(); }

  /// name=value name="value with blanks" ...
  std::string text() const;

  friend bool operator==(const Words& a, const Words& b) { return a.words_ == b.words_; }

 private:
  std::vector<Word> words_;
};

enum class Kind { kElement, kEngine };

struct Track {
  Kind kind = Kind::kElement;
  Words head;                ///< format, size, mode, colorimetry, threads.
  std::vector<Words> steps;  ///< q (the frame's seed), settings and events of each frame.
};

struct Case {
  std::vector<Track> tracks;
};

bool operator==(const Case& a, const Case& b);

/// One line, without its end.
std::string to_line(const Case& c);

/// The case that `line` means. False, with what is wrong in `error`, if it means none.
bool parse_line(std::string_view line, Case* c, std::string* error);

}  // namespace storm
