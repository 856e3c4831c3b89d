// SPDX-License-Identifier: LGPL-2.1-or-later
// The mask grammar and mask files under random changes of valid ones.
//
//   mask_fuzz [--runs=N] [--first=N] [--seconds=N] CORPUS-FOLDER
//
// Run number n always tries the same input, whatever came before it: --first=n --runs=1 repeats it.
// Files *.mask of the corpus are texts of the property, all others contents of files. Nothing may
// crash; what is accepted must read back from its canonical text as the same value; what is refused
// must be so with one line that names a place within the text. The last line reads "N passed, N
// failed".
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/core/mask_file.h"
#include "kernels/core/mask_grammar.h"
#include "tests/fuzz/mutate.h"

/// Of the sanitizers' run-time library, where there is one.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)());

namespace convolve::fuzz {
namespace {

/// Formatting a mask of more taps takes a millisecond and more: done now and then.
constexpr std::int64_t kManyTaps = 2048;
constexpr std::size_t kLongestMessage = 1200;

std::atomic<std::int64_t> g_run{0};

void say_run() {
  char line[64];
  const int length = std::snprintf(line, sizeof line, "FAIL died in run %lld\n",
                                   static_cast<long long>(g_run.load()));
  // Nothing is left to do if this fails.
  [[maybe_unused]] const ssize_t written = write(STDOUT_FILENO, line, static_cast<size_t>(length));
}

extern "C" void die(int signal_number) {
  say_run();
  std::signal(signal_number, SIG_DFL);
  std::raise(signal_number);
}

/// A file without a name that `@path` can read, so that runs do not wait for a disk.
class MemoryFile {
 public:
  MemoryFile() : fd_(memfd_create("mask", MFD_CLOEXEC)) {}
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }
  bool fill(const std::string& bytes) {
    return ftruncate(fd_, 0) == 0 &&
           pwrite(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  }

 private:
  int fd_;
};

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

/// What is wrong with the refusal of `input`, or "".
std::string judge_refusal(const Input& input, const std::string& origin,
                          const std::string& message) {
  if (message.size() > kLongestMessage) return "a message of " + std::to_string(message.size());
  for (char c : message)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return "a control character: " + message;
  std::string rest = message;
  if (input.file) {
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
  if (!is_place(input.bytes, line, column)) return "a place outside the text: " + message;
  return rest.size() > static_cast<std::size_t>(length) ? "" : "no reason: " + message;
}

struct Tally {
  std::int64_t accepted = 0;
  std::int64_t refused = 0;
  std::int64_t failed = 0;
};

void try_input(const Input& input, MemoryFile& file, std::int64_t run, Tally& tally) {
  std::string origin;
  Result<MaskSource> mask = invalid_argument("");
  if (input.file) {
    if (!file.fill(input.bytes)) {
      std::printf("FAIL no memory for a file\n");
      ++tally.failed;
      return;
    }
    origin = "mask file '" + file.path() + "'";
    mask = parse_mask("@" + file.path());
  } else {
    // Changes must not make up paths of this machine.
    const std::size_t begin = skip_space(input.bytes, 0);
    const bool path = begin < input.bytes.size() && input.bytes[begin] == '@';
    mask = path ? parse_mask_text({input.bytes, ""}) : parse_mask(input.bytes);
  }
  ++(mask.ok() ? tally.accepted : tally.refused);
  const std::string fault = mask.ok() ? judge_value(mask.value(), run % 64 == 0)
                                      : judge_refusal(input, origin, mask.status().message());
  if (fault.empty()) return;
  ++tally.failed;
  std::printf("FAIL run %lld, %s %s: %s\n", static_cast<long long>(run),
              input.file ? "file" : "text", quoted(input.bytes, 400).c_str(), fault.c_str());
}

struct Arguments {
  std::int64_t runs = 200000;
  std::int64_t first = 0;
  double seconds = 0;  ///< Stop after this time, 0 = never.
  const char* corpus = nullptr;
};

bool parse_arguments(int argc, char** argv, Arguments& arguments) {
  for (int k = 1; k < argc; ++k) {
    if (std::strncmp(argv[k], "--runs=", 7) == 0)
      arguments.runs = std::atoll(argv[k] + 7);
    else if (std::strncmp(argv[k], "--first=", 8) == 0)
      arguments.first = std::atoll(argv[k] + 8);
    else if (std::strncmp(argv[k], "--seconds=", 10) == 0)
      arguments.seconds = std::atof(argv[k] + 10);
    else if (argv[k][0] != '-' && arguments.corpus == nullptr)
      arguments.corpus = argv[k];
    else
      return false;
  }
  return arguments.corpus != nullptr;
}

/// The corpus itself: all of it is valid.
void try_corpus(const std::vector<Input>& corpus, MemoryFile& file, Tally& tally) {
  for (const Input& input : corpus) {
    const std::int64_t before = tally.accepted;
    try_input(input, file, 0, tally);
    if (tally.accepted == before) {
      std::printf("FAIL refused, though of the corpus: %s\n", quoted(input.bytes, 400).c_str());
      ++tally.failed;
    }
  }
}

int run(const Arguments& arguments) {
  const std::vector<Input> corpus = read_corpus(arguments.corpus);
  if (corpus.empty()) {
    std::printf("FAIL no corpus in %s\n", arguments.corpus);
    return 1;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [start] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  MemoryFile file;
  Tally tally;
  try_corpus(corpus, file, tally);
  for (std::int64_t n = arguments.first; n < arguments.first + arguments.runs; ++n) {
    if (arguments.seconds > 0 && elapsed() > arguments.seconds) break;
    g_run = n;
    try_input(mutated(corpus, static_cast<std::uint64_t>(n)), file, n, tally);
  }
  const long long tried = tally.accepted + tally.refused;
  std::printf("%lld inputs from a corpus of %zu: %lld accepted, %lld refused, %.1f seconds\n",
              tried, corpus.size(), static_cast<long long>(tally.accepted),
              static_cast<long long>(tally.refused), elapsed());
  std::printf("%lld passed, %lld failed\n",
              std::max(0LL, tried - static_cast<long long>(tally.failed)),
              static_cast<long long>(tally.failed));
  return tally.failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace convolve::fuzz

int main(int argc, char** argv) {
  convolve::fuzz::Arguments arguments;
  if (!convolve::fuzz::parse_arguments(argc, argv, arguments)) {
    std::fprintf(stderr, "usage: mask_fuzz [--runs=N] [--first=N] [--seconds=N] CORPUS-FOLDER\n");
    return 2;
  }
  if (__sanitizer_set_death_callback != nullptr)
    __sanitizer_set_death_callback(convolve::fuzz::say_run);
  else
    for (const int signal_number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
      std::signal(signal_number, convolve::fuzz::die);
  return convolve::fuzz::run(arguments);
}
