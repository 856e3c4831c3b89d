// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/mask/mask_grammar.h"

#include <algorithm>
#include <cstddef>

#include "kernels/core/mask/mask_file.h"
#include "kernels/core/mask/mask_list.h"
#include "kernels/core/mask/mask_text.h"
#include "kernels/core/mask/named_masks.h"

namespace convolve {
namespace {

/// More arguments than any name takes, so that a long text is not read in vain.
constexpr std::size_t kMaxArguments = 8;

constexpr char kNoLists[] = "'|': lists of masks are reserved for a later version";

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name_character(char c) {
  return is_letter(c) || is_digit(c) || c == '-' || c == '_';
}

/// name, or name:arg,arg with blanks allowed around the arguments.
Result<MaskSource> parse_name(const MaskText& in, std::size_t name_offset) {
  const std::string_view text = in.text;
  std::size_t at = name_offset;
  while (at < text.size() && is_name_character(text[at]))
    ++at;
  const std::string_view name = text.substr(name_offset, at - name_offset);

  std::vector<double> arguments;
  std::vector<std::size_t> offsets;
  at = skip_space(text, at);
  if (at < text.size() && text[at] == '|') return in.error(at, {kNoLists});
  if (at < text.size() && text[at] != ':')
    return in.error_either(at,
                           quoted(text.substr(at)) + " after the name " + quoted(name) +
                               ": arguments follow a ':', as in gaussian:2",
                           "after the name of a mask its arguments follow a ':'");
  while (at < text.size()) {
    const std::size_t begin = skip_space(text, at + 1);
    at = std::min(text.find_first_of(",|", begin), text.size());
    if (at < text.size() && text[at] == '|') return in.error(at, {kNoLists});
    std::string_view token = text.substr(begin, at - begin);
    while (!token.empty() && (is_blank(token.back()) || is_line_break(token.back())))
      token.remove_suffix(1);
    if (token.empty())
      return in.error_either(begin, "an argument of " + quoted(name) + " is missing",
                             "an argument is missing");
    const ReadNumber read = parse_number(token);
    if (!read.ok()) return in.error_of(token, begin, read.fault);
    if (arguments.size() == kMaxArguments)
      return in.error_either(begin, quoted(token) + " is one argument too many for " + quoted(name),
                             "one argument too many");
    arguments.push_back(read.number.value);
    offsets.push_back(begin);
  }

  int wrong = -1;
  Result<MaskSource> mask = make_named_mask(name, arguments, &wrong);
  if (!mask.ok())
    return in.error_either(wrong < 0 ? name_offset : offsets[static_cast<std::size_t>(wrong)],
                           mask.status().message(),
                           wrong < 0 ? "no mask has this name and that many arguments"
                                     : "this argument is not within its range");
  return mask;
}

}  // namespace

Result<MaskSource> parse_mask_text(const MaskText& in) {
  const std::size_t begin = skip_space(in.text, 0);
  if (begin == in.text.size())
    return in.error(0,
                    {"'': the mask is empty; write numbers, a name such as gaussian:2, or @path"});
  if (in.text[begin] == '@')
    return in.error_of(in.text.substr(begin), begin, ": a file cannot name another file");
  // "nan 1 2" is a list with a bad number, not a name.
  const std::size_t end = std::min(in.text.find_first_of(" \t\r\n,;", begin), in.text.size());
  const bool name = is_letter(in.text[begin]) && !is_non_finite(in.text.substr(begin, end - begin));
  return name ? parse_name(in, begin) : parse_mask_list(in, begin);
}

bool names_file(std::string_view text) {
  const std::size_t begin = skip_space(text, 0);
  return begin < text.size() && text[begin] == '@';
}

Result<MaskSource> parse_mask(std::string_view text) {
  const MaskText in{text, ""};
  if (!names_file(text)) return parse_mask_text(in);
  const std::size_t begin = skip_space(text, 0);
  const std::string_view path = text.substr(begin + 1);
  if (path.empty()) return in.error(begin, {"'@': the path of a file is missing"});
  if (path.find('\0') != std::string_view::npos)
    return in.error_of(path, begin, ": a path holds no NUL character");
  return read_mask_file(std::string(path));
}

}  // namespace convolve
