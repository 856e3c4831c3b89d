// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/mask/mask_text.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>

#include "kernels/core/mask/mask.h"

namespace convolve {
namespace {

/// Parts of a ratio are exact doubles, so that their quotient is rounded once.
constexpr std::int64_t kMaxRatioPart = std::int64_t{1} << 53;

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// Bytes of the UTF-8 sequence that starts at `text`: 0 if it is none (overlong forms, surrogates
/// and code points beyond U+10FFFF are none).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : (first >= 0xE0 ? 3 : 2);
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!is_continuation(text[i])) return 0;
  const unsigned second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

ReadNumber fault(const char* words) {
  return {{}, words};
}

std::string_view without_sign(std::string_view token) {
  if (!token.empty() && (token[0] == '-' || token[0] == '+')) token.remove_prefix(1);
  return token;
}

bool all_digits(std::string_view text) {
  for (char c : text)
    if (!is_digit(c)) return false;
  return !text.empty();
}

/// The whole number `digits`, or nothing if it is beyond kMaxRatioPart.
std::optional<std::int64_t> parse_part(std::string_view digits) {
  std::int64_t value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec != std::errc() || value > kMaxRatioPart) return std::nullopt;
  return value;
}

ReadNumber parse_ratio(std::string_view num, std::string_view den, bool negative) {
  if (num.empty() || den.empty())
    return fault(
        " is not a number: a ratio such as 1/9 has no blank in it, and a divisor comes last, as "
        "'/ 9' after a blank");
  if (!all_digits(num) || !all_digits(den))
    return fault(" is not a number: a ratio is made of two whole numbers, as 1/9 or -1/9");
  const std::optional<std::int64_t> p = parse_part(num), q = parse_part(den);
  if (!p || !q) return fault(" is out of range: the parts of a ratio go up to 9007199254740992");
  if (*q == 0) return fault(" divides by 0");
  const double value = static_cast<double>(*p) / static_cast<double>(*q);
  return {{negative ? -value : value, false, true}, nullptr};
}

}  // namespace

std::string quoted(std::string_view text, std::size_t limit) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "'";
  for (std::size_t points = 0; !text.empty(); ++points) {
    if (points == limit) return out + "...'";
    const std::size_t length = utf8_length(text);
    const unsigned first = static_cast<unsigned char>(text[0]);
    // U+0080 .. U+009F are control characters too.
    const bool control =
        first < 0x20 || first == 0x7F ||
        (first == 0xC2 && length == 2 && static_cast<unsigned char>(text[1]) < 0xA0);
    if (length == 0 || control) {
      out += {'\\', 'x', kHex[first >> 4], kHex[first & 15]};
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out + "'";
}

Status MaskText::error(std::size_t offset, std::initializer_list<const char*> words) const {
  std::string what;
  for (const char* word : words)
    what += word;
  return at(offset, what);
}

Status MaskText::error_of(std::string_view token, std::size_t offset, const char* words) const {
  return at(offset, (origin.empty() ? quoted(token) : "what stands here") + words);
}

Status MaskText::error_either(std::size_t offset, const std::string& typed,
                              const char* in_file) const {
  return at(offset, origin.empty() ? typed : in_file);
}

Status MaskText::at(std::size_t offset, const std::string& what) const {
  std::size_t line = 1, column = 1;
  for (char c : text.substr(0, offset)) {
    if (is_line_break(c)) {
      ++line;
      column = 1;
    } else {
      ++column;
    }
  }
  return invalid_argument((origin.empty() ? "" : origin + ", ") + "line " + std::to_string(line) +
                          ", column " + std::to_string(column) + ": " + what);
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}
bool is_line_break(char c) {
  return c == '\n';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t skip_space(std::string_view text, std::size_t offset) {
  while (offset < text.size() && (is_blank(text[offset]) || is_line_break(text[offset])))
    ++offset;
  return offset;
}

bool is_non_finite(std::string_view token) {
  const std::string_view word = without_sign(token);
  if (word.size() > 8) return false;
  std::string lower;
  for (char c : word)
    lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return lower == "nan" || lower == "inf" || lower == "infinity";
}

ReadNumber parse_number(std::string_view token) {
  const std::string_view digits = without_sign(token);
  const bool negative = !token.empty() && token[0] == '-';
  if (is_non_finite(token)) return fault(" is refused: numbers are finite");
  if (digits.substr(0, 2) == "0x" || digits.substr(0, 2) == "0X")
    return fault(" is not a number: hexadecimal is not accepted");
  if (const std::size_t slash = digits.find('/'); slash != std::string_view::npos)
    return parse_ratio(digits.substr(0, slash), digits.substr(slash + 1), negative);

  // std::from_chars takes a sign of its own, which would make "+-1" a number.
  if (digits.empty() || !(is_digit(digits[0]) || digits[0] == '.'))
    return fault(" is not a number");
  double value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (read.ec == std::errc::invalid_argument || read.ptr != digits.data() + digits.size())
    return fault(digits.find('x') != std::string_view::npos
                     ? " is not a number; a size is followed by ':', as in 3x3: 1 2 1 ..."
                     : " is not a number");
  if (read.ec != std::errc() || value > kMaxWeight)
    return fault(" is out of range: numbers are 0, or 4.9e-324 to 1e38 in magnitude");
  return {{negative ? -value : value, all_digits(digits), false}, nullptr};
}

std::string shortest_text(double value) {
  char text[32];
  const auto written = std::to_chars(text, text + sizeof text, value);
  return std::string(text, written.ptr);
}

}  // namespace convolve
