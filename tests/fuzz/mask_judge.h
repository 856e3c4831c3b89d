// SPDX-License-Identifier: LGPL-2.1-or-later
// Tries a text or a file as a mask. Nothing may crash; what is accepted must read back from its
// canonical text as the same value; what is refused must be so with one line that names a place
// within the text, and that repeats nothing of a file.
#pragma once

#include <cstdint>
#include <string>

namespace convolve::fuzz {

/// A file without a name that `@path` can read, so that runs do not wait for a disk.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const;
  bool fill(const std::string& bytes);

 private:
  int fd_;
};

struct Verdict {
  bool accepted = false;
  std::string fault;  ///< What is wrong with the answer, or "".
};

/// `text` as the value of property `mask`. Opens no file: what would be a path is read as the
/// content of one. A mask of many taps is judged if `thorough` says so: that takes milliseconds.
Verdict try_text(const std::string& text, bool thorough);

/// `bytes` as the content of a mask file.
Verdict try_file(const std::string& bytes, MemoryFile& file, bool thorough);

/// Tries `bytes` as the content of a mask file with a secret inserted at a place that `number`
/// chooses. Only a refusal is judged: its message must not show the secret.
Verdict try_secret(const std::string& bytes, MemoryFile& file, std::uint64_t number);

}  // namespace convolve::fuzz
