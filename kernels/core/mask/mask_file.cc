// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/mask/mask_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "kernels/core/mask/mask_picture.h"

namespace convolve {
namespace {

/// Most code points of a path that a message repeats.
constexpr std::size_t kMaxQuotedPath = 256;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Result<std::string> read_regular_file(const std::string& path) {
  const auto failed = [&path](const std::string& why) {
    return invalid_argument("mask file " + quoted(path, kMaxQuotedPath) + ": " + why);
  };
  const auto system_error = [] { return std::generic_category().message(errno); };
  const std::string too_large =
      "larger than the limit of " + std::to_string(kMaxMaskFileBytes) + " bytes";

  // Without O_NONBLOCK, opening a pipe that nobody writes to would hang.
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return failed(system_error());
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return failed(system_error());
  if (!S_ISREG(info.st_mode))
    return failed(S_ISDIR(info.st_mode) ? "a directory, not a regular file" : "not a regular file");
  if (info.st_size > static_cast<off_t>(kMaxMaskFileBytes)) return failed(too_large);

  // The size is a hint: files may grow, and those of /proc claim to be empty.
  std::string bytes;
  char block[65536];
  while (true) {
    const ssize_t count = read(file.get(), block, sizeof block);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(system_error());
    if (count == 0) return bytes;
    bytes.append(block, static_cast<std::size_t>(count));
    if (bytes.size() > kMaxMaskFileBytes) return failed(too_large);
  }
}

/// Comments become blanks, so that places in the text stay what they are in the file.
void blank_comments(std::string& text) {
  bool comment = false;
  for (char& c : text) {
    if (c == '#') comment = true;
    if (is_line_break(c)) comment = false;
    if (comment) c = ' ';
  }
}

}  // namespace

Result<MaskSource> read_mask_file(const std::string& path) {
  Result<std::string> bytes = read_regular_file(path);
  if (!bytes.ok()) return bytes.status();
  const std::string origin = "mask file " + quoted(path, kMaxQuotedPath);
  if (is_mask_picture(bytes.value())) return parse_mask_picture({bytes.value(), origin});
  std::string_view text = bytes.value();
  blank_comments(bytes.value());
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark)
    text.remove_prefix(kByteOrderMark.size());
  return parse_mask_text({text, origin});
}

}  // namespace convolve
