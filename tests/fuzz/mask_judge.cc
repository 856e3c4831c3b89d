// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/fuzz/mask_judge.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/core/mask/mask_file.h"
#include "kernels/core/mask/mask_grammar.h"

namespace convolve::fuzz {
namespace {

/// Formatting a mask of more taps takes a millisecond and more: done now and then.
constexpr std::int64_t kManyTaps = 2048;
constexpr std::size_t kLongestMessage = 1200;

std::vector<double> dense_weights(const MaskSource& source) {
  if (!source.weights.empty()) return source.weights;
  std::vector<double> weights;
  for (double c : source.column)
    for (double r : source.row)
      weights.push_back(c * r);
  return weights;
}

/// What is wrong with an accepted mask, or "".
std::string judge_value(const MaskSource& source, bool thorough) {
  const std::int64_t taps = static_cast<std::int64_t>(source.width) * source.height;
  if (taps > kManyTaps && !thorough) return "";
  for (const Normalize normalize :
       {Normalize::kAuto, Normalize::kNone, Normalize::kSum, Normalize::kAbs}) {
    const Result<Mask> mask = Mask::make(source, normalize, Operation::kConvolve);
    if (!mask.ok() && mask.status().message().empty()) return "refused without a reason";
    if (mask.ok() && !std::isfinite(mask.value().sum)) return "a sum that is not finite";
  }
  if (source.width > kMaxMaskSide || source.height > kMaxMaskSide)
    return format_mask(source).empty() ? "" : "a text for factors that no text can say";
  const std::string text = format_mask(source);
  const Result<MaskSource> back = parse_mask(text);
  if (!back.ok()) return "its canonical text is refused: " + back.status().message();
  const MaskSource& b = back.value();
  // A named mask is final as it stands, which a divisor of 1 says in a text.
  const std::optional<double> divisor =
      source.divisor || !source.normalized ? source.divisor : std::optional<double>(1);
  if (b.width != source.width || b.height != source.height || b.anchor_x != source.anchor_x ||
      b.anchor_y != source.anchor_y || b.weights != dense_weights(source) || b.divisor != divisor)
    return "its canonical text reads back as another mask";
  if (format_mask(b) != text) return "its canonical text has another canonical text";
  return "";
}

/// True if `line` and `column`, from 1, are a place in `text` or right behind one of its lines.
bool is_place(const std::string& text, unsigned long line, unsigned long column) {
  std::size_t begin = 0;
  for (unsigned long l = 1; l < line; ++l) {
    const std::size_t end = text.find('\n', begin);
    if (end == std::string::npos) return false;
    begin = end + 1;
  }
  const std::size_t end = std::min(text.find('\n', begin), text.size());
  return line >= 1 && column >= 1 && column <= end - begin + 1;
}

/// What is wrong with the refusal of `bytes`, or "". Files have an `origin`.
std::string judge_refusal(const std::string& bytes, const std::string& origin,
                          const std::string& message) {
  if (message.size() > kLongestMessage) return "a message of " + std::to_string(message.size());
  for (char c : message)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return "a control character: " + message;
  std::string rest = message;
  if (!origin.empty()) {
    if (rest.rfind(origin, 0) != 0) return "the file is not named: " + message;
    rest = rest.substr(origin.size());
    // Binary samples are no text: their messages count samples.
    if (rest.rfind(": ", 0) == 0 && rest.find("sample") != std::string::npos) return "";
    if (rest.rfind(", ", 0) != 0) return "no place: " + message;
    rest = rest.substr(2);
  }
  unsigned long line = 0, column = 0;
  int length = 0;
  if (std::sscanf(rest.c_str(), "line %lu, column %lu: %n", &line, &column, &length) != 2 ||
      length == 0)
    return "no place: " + message;
  if (!is_place(bytes, line, column)) return "a place outside the text: " + message;
  return rest.size() > static_cast<std::size_t>(length) ? "" : "no reason: " + message;
}

/// What is put into files to see whether a message lets it out, and how much of it no message holds
/// by chance: words have few numbers of their own, which are places.
struct Secret {
  std::string_view text;
  std::size_t part;
};
constexpr Secret kSecrets[] = {{"QzjXwv", 3}, {"9182736", 6}, {"97531/8642", 6}, {"Qz:jXw", 3}};

/// What is wrong with the refusal of a file that holds `secret`, or "".
std::string judge_secrecy(const Secret& secret, const std::string& message) {
  for (std::size_t k = 0; k + secret.part <= secret.text.size(); ++k)
    if (message.find(secret.text.substr(k, secret.part)) != std::string::npos)
      return "a part of the file: " + message;
  return "";
}

Verdict judge(const Result<MaskSource>& mask, const std::string& bytes, const std::string& origin,
              bool thorough) {
  if (mask.ok()) return {true, judge_value(mask.value(), thorough)};
  return {false, judge_refusal(bytes, origin, mask.status().message())};
}

}  // namespace

MemoryFile::MemoryFile() : fd_(memfd_create("mask", MFD_CLOEXEC)) {}

MemoryFile::~MemoryFile() {
  close(fd_);
}

std::string MemoryFile::path() const {
  return "/proc/self/fd/" + std::to_string(fd_);
}

bool MemoryFile::fill(const std::string& bytes) {
  return ftruncate(fd_, 0) == 0 &&
         pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
}

Verdict try_text(const std::string& text, bool thorough) {
  // Changes must not make up paths of this machine.
  const std::size_t begin = skip_space(text, 0);
  const bool path = begin < text.size() && text[begin] == '@';
  return judge(path ? parse_mask_text({text, ""}) : parse_mask(text), text, "", thorough);
}

Verdict try_file(const std::string& bytes, MemoryFile& file, bool thorough) {
  if (!file.fill(bytes)) return {false, "no memory for a file"};
  return judge(parse_mask("@" + file.path()), bytes, "mask file '" + file.path() + "'", thorough);
}

Verdict try_secret(const std::string& bytes, MemoryFile& file, std::uint64_t number) {
  const Secret& secret = kSecrets[number % std::size(kSecrets)];
  // Multiplied by a large odd number, so that places of successive numbers are far apart.
  const std::uint64_t place = number * 0x9E3779B97F4A7C15u >> 16;
  std::string told = bytes;
  told.insert(place % (bytes.size() + 1), secret.text);
  if (!file.fill(told)) return {false, "no memory for a file"};
  const Result<MaskSource> mask = parse_mask("@" + file.path());
  if (mask.ok()) return {true, ""};
  return {false, judge_secrecy(secret, mask.status().message())};
}

}  // namespace convolve::fuzz
