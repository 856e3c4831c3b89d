// SPDX-License-Identifier: LGPL-2.1-or-later
// What the readers and writers of mask texts share: places in a text, quotations and numbers.
//
// A message repeats what was typed, and never what is in a file: an application may pass on the
// text of strangers, who could read any file with it. That words about a file hold nothing of it
// shows in their types: they are constants.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "kernels/core/base/status.h"

namespace convolve {

/// Most code points of a foreign text that a message repeats.
inline constexpr std::size_t kMaxQuotation = 40;

/// `text` in single quotes, fit for one line of any log: cut after `limit` code points, control
/// characters and bytes that are not UTF-8 written as \xNN.
std::string quoted(std::string_view text, std::size_t limit = kMaxQuotation);

/// A text being read and what to call it: empty for a property's value, else the quoted path.
struct MaskText {
  std::string_view text;
  std::string origin;

  /// "line 2, column 7: " and the words, with the origin before it. Both count from 1, columns in
  /// bytes: whatever is read without an error before the place is ASCII.
  Status error(std::size_t offset, std::initializer_list<const char*> words) const;

  /// An error at `offset` about `token`, which stands there: 'TOKEN' and the words. An error about
  /// a file says "what stands here" instead, since messages must not show what files hold.
  Status error_of(std::string_view token, std::size_t offset, const char* words) const;

  /// An error at `offset` in one of two wordings: `typed` may quote the mask that a user typed, and
  /// `in_file` is a constant, since messages must not show what files hold.
  Status error_either(std::size_t offset, const std::string& typed, const char* in_file) const;

 private:
  Status at(std::size_t offset, const std::string& what) const;
};

bool is_blank(char c);       ///< Within a row: space, tab, carriage return.
bool is_line_break(char c);  ///< '\n'.
bool is_digit(char c);       ///< '0' .. '9', whatever the locale.

/// The first offset from `offset` on that is neither blank nor line break.
std::size_t skip_space(std::string_view text, std::size_t offset);

/// nan, inf or infinity in any case, signed or not: refused, but not a name either.
bool is_non_finite(std::string_view token);

struct MaskNumber {
  double value = 0;
  bool whole = false;  ///< Written with digits only (and a sign).
  bool ratio = false;  ///< Written p/q.
};

/// A number, or what is wrong with its token, as MaskText::error_of() takes it.
struct ReadNumber {
  MaskNumber number;
  const char* fault = nullptr;
  bool ok() const { return fault == nullptr; }
};

/// Reads a decimal or scientific number, or a ratio of two whole numbers: the nearest double.
ReadNumber parse_number(std::string_view token);

/// The shortest decimal that reads back as `value`, with a point in every locale.
std::string shortest_text(double value);

}  // namespace convolve
