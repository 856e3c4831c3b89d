// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/mask/mask_list.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace convolve {
namespace {

static_assert(kMaxMaskSide == 255, "the messages say so");

constexpr char kDecimalHint[] =
    "; if a comma was meant as the decimal mark: that is a point, as in 0.5";

/// A typed size, and an anchor if there is one.
struct Size {
  int width = 0;
  int height = 0;
  int anchor_x = 0;
  int anchor_y = 0;
};

struct Row {
  std::size_t offset = 0;  ///< Of its first number.
  int count = 0;
};

/// What stands between two numbers.
struct Gap {
  std::size_t end = 0;
  std::optional<std::size_t> comma, semicolon;
  bool blank = false;
  bool line_break = false;

  bool row_break() const { return semicolon.has_value() || line_break; }
};

class ListParser {
 public:
  ListParser(const MaskText& in, std::size_t offset) : in_(in), at_(offset) {}

  Result<MaskSource> parse();

 private:
  bool at_end() const { return at_ == in_.text.size(); }
  std::string_view token() const;
  Status read_size();
  Status read_numbers();
  Status read_number(bool new_row);
  Result<Gap> read_gap() const;
  Status read_divisor();
  Status check_shape();
  Status check_rows(int width) const;

  const MaskText& in_;
  std::size_t at_;
  std::optional<Size> size_;
  std::vector<Row> rows_;
  MaskSource source_;
  MaskNumber last_;
  std::size_t last_offset_ = 0;
  std::size_t last_end_ = 0;
  bool others_whole_ = true;      ///< All numbers before the last are digits only.
  bool tight_comma_ = false;      ///< A comma stood directly between two numbers,
  bool other_separator_ = false;  ///< and something else between two others.
};

/// From `at_` to the next separator.
std::string_view ListParser::token() const {
  const std::size_t end = in_.text.find_first_of(" \t\r\n,;|", at_);
  return in_.text.substr(at_, end == std::string_view::npos ? end : end - at_);
}

/// Reads a whole number of at most six digits at `at`, which moves behind it; larger ones come out
/// as 999999, which every limit refuses.
std::optional<int> read_whole(std::string_view text, std::size_t& at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end]))
    ++end;
  if (end == at) return std::nullopt;
  int value = 0;
  const auto read = std::from_chars(text.data() + at, text.data() + end, value);
  at = end;
  return read.ec == std::errc() && value < 999999 ? value : 999999;
}

/// A head "WxH:" or "WxH+X+Y:", if the text begins like one.
Status ListParser::read_size() {
  const std::string_view text = in_.text;
  const std::size_t end = text.find_first_not_of("0123456789x+-", at_);
  if (end == std::string_view::npos || text[end] != ':') return {};
  const std::string_view head = text.substr(at_, end - at_);
  if (head.find('x') == std::string_view::npos)
    return in_.error_of(text.substr(at_, end + 1 - at_), at_,
                        " is not a size: write width x height, as in 3x3:");

  constexpr char kMalformed[] = " is not a size: write WxH: or WxH+X+Y:";
  std::size_t at = at_;
  const auto take = [&](char c) {
    if (at >= end || text[at] != c) return false;
    ++at;
    return true;
  };
  Size size;
  for (int* side : {&size.width, &size.height}) {
    if (side == &size.height && !take('x')) return in_.error_of(head, at_, kMalformed);
    const std::size_t begin = at;
    const std::optional<int> value = read_whole(text, at);
    if (!value) return in_.error_of(head, at_, kMalformed);
    if (*value < 1 || *value > kMaxMaskSide)
      return in_.error_of(text.substr(begin, at - begin), begin,
                          side == &size.width ? " as a mask's width is not within 1 .. 255"
                                              : " as a mask's height is not within 1 .. 255");
    *side = *value;
  }
  if (at < end && text[at] == 'x')
    return in_.error_of(head, at_, ": masks in time, WxHxT:, are reserved for a later version");
  size.anchor_x = size.width / 2;
  size.anchor_y = size.height / 2;
  if (at < end) {
    const std::size_t begin = at;
    for (int* anchor : {&size.anchor_x, &size.anchor_y}) {
      const bool is_x = anchor == &size.anchor_x;
      const std::optional<int> value = take('+') ? read_whole(text, at) : std::nullopt;
      if (!value) return in_.error_of(head, begin, kMalformed);
      const int side = is_x ? size.width : size.height;
      if (*value >= side)
        return in_.error_either(begin,
                                "anchor " + quoted(text.substr(begin, end - begin)) + ": its " +
                                    (is_x ? "column" : "row") + " is not within 0 .. " +
                                    std::to_string(side - 1),
                                "the anchor lies outside the mask");
      *anchor = *value;
    }
    if (at != end) return in_.error_of(head, begin, kMalformed);
  }
  size_ = size;
  at_ = end + 1;
  return {};
}

/// Consumes blanks, line breaks and at most one separator.
Result<Gap> ListParser::read_gap() const {
  Gap gap;
  std::size_t at = at_;
  for (; at < in_.text.size(); ++at) {
    const char c = in_.text[at];
    if (is_blank(c)) {
      gap.blank = true;
    } else if (is_line_break(c)) {
      gap.line_break = true;
    } else if (c == ',') {
      if (gap.comma) return in_.error(at, {"',': a number is missing between two commas"});
      gap.comma = at;
    } else if (c == ';') {
      if (gap.semicolon) return in_.error(at, {"';': a row without numbers"});
      gap.semicolon = at;
    } else {
      break;
    }
    if (gap.comma && gap.semicolon)
      return in_.error(at, {c == ',' ? "','" : "';'", ": a comma beside a row's end"});
  }
  gap.end = at;
  return gap;
}

Status ListParser::read_number(bool new_row) {
  const std::string_view text = token();
  const ReadNumber read = parse_number(text);
  if (!read.ok()) return in_.error_of(text, at_, read.fault);
  if (new_row) rows_.push_back({at_, 0});
  // A single row may hold a whole square mask, so only the total is bounded here.
  if (source_.weights.size() == static_cast<std::size_t>(kMaxMaskSide) * kMaxMaskSide)
    return in_.error_of(text, at_, " is one number too many: a mask has at most 255 x 255");
  if (!source_.weights.empty()) others_whole_ = others_whole_ && last_.whole;
  last_ = read.number;
  last_offset_ = at_;
  at_ += text.size();
  last_end_ = at_;
  source_.weights.push_back(last_.value);
  ++rows_.back().count;
  return {};
}

Status ListParser::read_numbers() {
  at_ = skip_space(in_.text, at_);
  if (!at_end() && (in_.text[at_] == ',' || in_.text[at_] == ';'))
    return in_.error(at_, {in_.text[at_] == ',' ? "','" : "';'", " before the first number"});
  for (bool new_row = true; !at_end();) {
    if (in_.text[at_] == '|')
      return in_.error(at_, {"'|': lists of masks are reserved for a later version"});
    if (in_.text[at_] == '/') return read_divisor();
    if (Status status = read_number(new_row); !status.ok()) return status;

    const Result<Gap> gap = read_gap();
    if (!gap.ok()) return gap.status();
    const bool last = gap.value().end == in_.text.size() || in_.text[gap.value().end] == '/';
    if (gap.value().comma && gap.value().line_break && !last)
      return in_.error(*gap.value().comma,
                       {"',' at the end of a line: the line's end separates rows by itself"});
    const bool tight = gap.value().comma && !gap.value().blank && !gap.value().line_break;
    if (!last) (tight ? tight_comma_ : other_separator_) = true;
    new_row = gap.value().row_break();
    at_ = gap.value().end;
  }
  return {};
}

/// At the '/' of the divisor.
Status ListParser::read_divisor() {
  const char before = at_ == 0 ? ' ' : in_.text[at_ - 1];
  if (!is_blank(before) && !is_line_break(before))
    return in_.error(at_, {"'/': a divisor comes last and has a blank before its '/'"});
  if (source_.weights.empty()) return in_.error(at_, {"'/': a divisor without weights before it"});
  at_ = skip_space(in_.text, at_ + 1);
  if (at_end()) return in_.error(at_, {"the divisor after '/' is missing"});
  const std::string_view text = token();
  const ReadNumber read = parse_number(text);
  if (!read.ok()) return in_.error_of(text, at_, read.fault);
  if (read.number.value == 0) return in_.error_of(text, at_, " as divisor: it is 0");
  at_ += text.size();
  const std::size_t rest = skip_space(in_.text, at_);
  if (rest < in_.text.size())
    return in_.error_of(in_.text.substr(rest), rest, " after the divisor, which comes last");
  source_.divisor = read.number.value;
  at_ = rest;
  return {};
}

/// All rows as long as `width`, which the size or the first row says.
Status ListParser::check_rows(int width) const {
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (rows_[r].count == width) continue;
    std::string what = "row " + std::to_string(r + 1) + " has " + std::to_string(rows_[r].count) +
                       (rows_[r].count == 1 ? " number, " : " numbers, ") +
                       (size_ ? "the size says " : "row 1 has ") + std::to_string(width);
    if (tight_comma_ && other_separator_) what += kDecimalHint;
    return in_.error_either(
        rows_[r].offset, what,
        size_ ? "the row is not as long as the size says" : "the row is not as long as the first");
  }
  return {};
}

/// Width and height from the size, the rows or the count.
Status ListParser::check_shape() {
  const int count = static_cast<int>(source_.weights.size());
  const int row_count = static_cast<int>(rows_.size());
  const std::string hint = tight_comma_ && other_separator_ ? kDecimalHint : "";
  if (size_) {
    source_.width = size_->width;
    source_.height = size_->height;
    source_.anchor_x = size_->anchor_x;
    source_.anchor_y = size_->anchor_y;
    const int expected = size_->width * size_->height;
    if (row_count > 1) {
      if (Status status = check_rows(size_->width); !status.ok()) return status;
      if (row_count != size_->height)
        return in_.error_either(
            rows_.back().offset,
            std::to_string(row_count) + " rows, the size says " + std::to_string(size_->height),
            "the last row: there are not as many as the size says");
    } else if (count != expected) {
      return in_.error_either(
          last_end_,
          std::to_string(count) + (count == 1 ? " number, the size " : " numbers, the size ") +
              std::to_string(size_->width) + "x" + std::to_string(size_->height) + " asks for " +
              std::to_string(expected) + hint,
          "the last number: there are not as many as the size asks for");
    }
    return {};
  }
  if (row_count > 1) {
    if (Status status = check_rows(rows_[0].count); !status.ok()) return status;
    source_.width = rows_[0].count;
    source_.height = row_count;
    for (const auto& [side, name] :
         {std::pair(source_.width, " numbers in a row"), std::pair(source_.height, " rows")})
      if (side > kMaxMaskSide)
        return in_.error_either(
            rows_[0].offset,
            std::to_string(side) + name + ": the limit is " + std::to_string(kMaxMaskSide),
            "the mask is larger than 255 a side");
  } else {
    const int side = static_cast<int>(std::lround(std::sqrt(static_cast<double>(count))));
    if (side * side != count)
      return in_.error_either(rows_[0].offset,
                              std::to_string(count) +
                                  " numbers are no square: separate rows by ';' or write "
                                  "the size first, as in " +
                                  std::to_string(count) + "x1:" + hint,
                              "the numbers are no square: give each row a line or write the size "
                              "first");
    source_.width = source_.height = side;
  }
  source_.anchor_x = source_.width / 2;
  source_.anchor_y = source_.height / 2;
  return {};
}

Result<MaskSource> ListParser::parse() {
  if (Status status = read_size(); !status.ok()) return status;
  last_end_ = at_;
  if (Status status = read_numbers(); !status.ok()) return status;
  if (source_.weights.size() > 1 && last_.ratio && others_whole_) {
    const std::string_view typed = in_.text.substr(last_offset_, last_end_ - last_offset_);
    return in_.error_of(typed, last_offset_,
                        ", a lone ratio after whole numbers: if it is a divisor, write a blank "
                        "before '/'; if not, write it as a decimal");
  }
  if (Status status = check_shape(); !status.ok()) return status;
  return std::move(source_);
}

}  // namespace

Result<MaskSource> parse_mask_list(const MaskText& in, std::size_t offset) {
  return ListParser(in, offset).parse();
}

}  // namespace convolve
