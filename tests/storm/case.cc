// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/case.h"

#include <algorithm>

namespace storm {
namespace {

constexpr std::string_view kBlanks = " \t";

/// One word or bar of a line, quotes taken away.
struct Token {
  std::string text;
  bool bar = false;
};

/// Splits at blanks outside of double quotes.
bool split(std::string_view line, std::vector<Token>* tokens, std::string* error) {
  std::size_t at = 0;
  while ((at = line.find_first_not_of(kBlanks, at)) != std::string_view::npos) {
    Token token;
    bool quoted = false;
    std::size_t end = at;
    for (; end < line.size() && (quoted || kBlanks.find(line[end]) == std::string_view::npos);
         ++end) {
      if (line[end] == '"')
        quoted = !quoted;
      else
        token.text += line[end];
    }
    if (quoted) {
      *error = "a quotation is not closed";
      return false;
    }
    token.bar = line.substr(at, end - at).find_first_not_of('|') == std::string_view::npos;
    tokens->push_back(std::move(token));
    at = end;
  }
  return true;
}

bool add_word(const std::string& text, Words* words, std::string* error) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    *error = "'" + text + "' is not name=value";
    return false;
  }
  words->add(text.substr(0, equals), text.substr(equals + 1));
  return true;
}

}  // namespace

std::string Words::get(std::string_view name, std::string_view fallback) const {
  for (std::size_t k = words_.size(); k-- > 0;)
    if (words_[k].first == name) return words_[k].second;
  return std::string(fallback);
}

bool Words::has(std::string_view name) const {
  return std::any_of(words_.begin(), words_.end(),
                     [name](const Word& word) { return word.first == name; });
}

void Words::set(std::string_view name, std::string_view value) {
  for (std::size_t k = words_.size(); k-- > 0;)
    if (words_[k].first == name) {
      words_[k].second = value;
      return;
    }
  add(name, value);
}

void Words::add(std::string_view name, std::string_view value) {
  words_.emplace_back(name, value);
}

void Words::erase(std::size_t index) {
  words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(index));
}

std::string Words::text() const {
  std::string text;
  for (const auto& [name, value] : words_) {
    const bool quote = value.empty() || value.find_first_of(" \t|") != std::string::npos;
    text += (text.empty() ? "" : " ") + name + "=" + (quote ? "\"" + value + "\"" : value);
  }
  return text;
}

bool operator==(const Case& a, const Case& b) {
  return std::equal(a.tracks.begin(), a.tracks.end(), b.tracks.begin(), b.tracks.end(),
                    [](const Track& x, const Track& y) {
                      return x.kind == y.kind && x.head == y.head && x.steps == y.steps;
                    });
}

std::string to_line(const Case& c) {
  std::string line;
  for (const Track& track : c.tracks) {
    if (!line.empty()) line += " || ";
    line += track.kind == Kind::kElement ? "element " : "engine ";
    line += track.head.text();
    for (const Words& step : track.steps)
      line += " | " + step.text();
  }
  return line;
}

bool parse_line(std::string_view line, Case* c, std::string* error) {
  std::vector<Token> tokens;
  if (!split(line, &tokens, error)) return false;
  *c = Case{};
  bool begins = true;  // The next token is the kind of a track.
  for (const Token& token : tokens) {
    if (begins) {
      if (token.text != "element" && token.text != "engine") {
        *error = "'" + token.text + "' is neither element nor engine";
        return false;
      }
      c->tracks.push_back({token.text == "element" ? Kind::kElement : Kind::kEngine, {}, {}});
      begins = false;
      continue;
    }
    Track& track = c->tracks.back();
    if (token.bar && token.text.size() == 1)
      track.steps.emplace_back();
    else if (token.bar)
      begins = true;
    else if (!add_word(token.text, track.steps.empty() ? &track.head : &track.steps.back(), error))
      return false;
  }
  if (c->tracks.empty() || begins) {
    *error = "a track is missing";
    return false;
  }
  for (const Track& track : c->tracks)
    if (!track.head.has("format") || !track.head.has("size") || track.steps.empty()) {
      *error = "a track needs format=, size= and a step";
      return false;
    }
  return true;
}

}  // namespace storm
