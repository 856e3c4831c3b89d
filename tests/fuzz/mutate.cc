// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

namespace convolve::fuzz {
namespace {

/// Inputs grow no longer than this: what matters happens in short ones.
constexpr std::size_t kLongest = 4096;

/// Words that mean something to the grammar or to picture headers.
constexpr std::string_view kWords[] = {" ",
                                       ",",
                                       ";",
                                       "\n",
                                       "\r\n",
                                       "\t",
                                       ":",
                                       "/",
                                       " / ",
                                       "#",
                                       "@",
                                       "|",
                                       "+",
                                       "-",
                                       "x",
                                       ".",
                                       "e",
                                       "nan",
                                       "inf",
                                       "0x1p3",
                                       "3x3:",
                                       "255x255:",
                                       "2x2+1+0:",
                                       "1x1+0+0:",
                                       "/ 0",
                                       "/ 16",
                                       "identity",
                                       "box:",
                                       "gaussian:",
                                       "binomial:",
                                       "disk:",
                                       "motion:",
                                       "laplacian",
                                       "sharpen:",
                                       "unsharp:",
                                       "log:",
                                       "dog:",
                                       "sobel-x",
                                       "emboss",
                                       "P2",
                                       "P5",
                                       "P6",
                                       "Pf",
                                       "PF",
                                       "-1.0",
                                       "\xEF\xBB\xBF",
                                       "\xC3\xA4",
                                       "\xFF",
                                       std::string_view("\0", 1)};

/// Numbers of every spelling, and those at the limits.
constexpr std::string_view kNumbers[] = {"0",
                                         "1",
                                         "-1",
                                         "+2",
                                         "3",
                                         "7",
                                         "-0",
                                         "-0.0",
                                         "1/3",
                                         "-2/7",
                                         "1/0",
                                         "355/113",
                                         "0.1",
                                         ".5",
                                         "5.",
                                         "1e3",
                                         "2.5E-3",
                                         "3.14159265358979",
                                         "1e38",
                                         "1.1e38",
                                         "-1e-320",
                                         "5e-324",
                                         "1e-400",
                                         "999999/1000000",
                                         "1/1000001",
                                         "9007199254740992",
                                         "9007199254740993",
                                         "1/9007199254740992",
                                         "254",
                                         "255",
                                         "256",
                                         "4097",
                                         "65535",
                                         "65536"};
constexpr char kNumberCharacters[] = "0123456789.+-/eE";

/// SplitMix64: small, and the same on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// 0 .. n - 1, n > 0.
  std::size_t below(std::size_t n) {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<std::size_t>((z ^ (z >> 31)) % n);
  }

 private:
  std::uint64_t state_;
};

struct Span {
  std::size_t begin;
  std::size_t length;
};

/// A part of `bytes`, mostly short.
Span some_span(Random& random, const std::string& bytes) {
  const std::size_t begin = random.below(bytes.size());
  const std::size_t most = random.below(8) == 0 ? kLongest : 16;
  return {begin, 1 + random.below(std::min(most, bytes.size() - begin))};
}

void change(std::string& bytes, const std::vector<Input>& corpus, Random& random) {
  const std::size_t at = random.below(bytes.size() + 1);
  const std::string_view word = kWords[random.below(std::size(kWords))];
  if (bytes.empty()) {
    bytes = word;
    return;
  }
  const Span span = some_span(random, bytes);
  switch (random.below(10)) {
    case 0:
      bytes[span.begin] = static_cast<char>(bytes[span.begin] ^ (1 << random.below(8)));
      break;
    case 1:
      bytes[span.begin] = static_cast<char>(random.below(256));
      break;
    case 2:
      bytes.erase(span.begin, span.length);
      break;
    case 3:
      bytes.insert(at, bytes.substr(span.begin, span.length));
      break;
    case 4:
      bytes.replace(span.begin, span.length, word);
      break;
    case 5: {
      const std::string& other = corpus[random.below(corpus.size())].bytes;
      const Span part = some_span(random, other);
      bytes.insert(at, other, part.begin, part.length);
      break;
    }
    case 6: {
      // Another number in its place: mostly still a mask.
      const std::size_t number = bytes.find_first_of(kNumberCharacters, span.begin);
      if (number == std::string::npos) break;
      const std::size_t end =
          std::min(bytes.find_first_not_of(kNumberCharacters, number), bytes.size());
      bytes.replace(number, end - number, kNumbers[random.below(std::size(kNumbers))]);
      break;
    }
    case 7:
    case 8: {
      // Another digit: sizes, counts and exponents that just do or do not fit.
      const std::size_t digit = bytes.find_first_of("0123456789", span.begin);
      if (digit == std::string::npos) break;
      bytes[digit] = static_cast<char>('0' + random.below(10));
      break;
    }
    default:
      bytes.insert(at, word);
  }
}

}  // namespace

std::vector<Input> read_corpus(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Input> corpus;
  for (const std::filesystem::path& path : paths) {
    std::ifstream stream(path, std::ios::binary);
    Input input{{std::istreambuf_iterator<char>(stream), {}}, path.extension() != ".mask"};
    if (!input.file && !input.bytes.empty() && input.bytes.back() == '\n') input.bytes.pop_back();
    corpus.push_back(std::move(input));
  }
  return corpus;
}

Input mutated(const std::vector<Input>& corpus, std::uint64_t seed) {
  Random random(seed);
  Input input = corpus[random.below(corpus.size())];
  // Text that is meant for the property may also stand in a file, and the other way round.
  if (random.below(16) == 0) input.file = !input.file;
  // Few changes mostly: what is far from valid is refused at its first word.
  for (std::size_t changes = 1 + random.below(1 + random.below(6)); changes > 0; --changes)
    change(input.bytes, corpus, random);
  if (input.bytes.size() > kLongest) input.bytes.resize(kLongest);
  return input;
}

}  // namespace convolve::fuzz
