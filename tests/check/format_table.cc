// SPDX-License-Identifier: LGPL-2.1-or-later
// The format table: every format x size x mask x border through the real element, against the exact
// reference. Not one byte of a picture may differ, copied components and padding included.
//
//   format_table cpu|cuda [--every=N] [--threads=N]
//
// --every=N takes each N-th case only. Where N shares no divisor with the numbers of sizes, masks
// and borders, any two of them still meet. The last line reads `N passed, N failed`.
#include <gst/gst.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/check/format_cases.h"
#include "tests/check/format_oracle.h"
#include "tests/support/element.h"

namespace check {
namespace {

constexpr int kFailuresShown = 20;

struct Arguments {
  std::string backend;
  long every = 1;
  int threads = 0;  ///< 0 = one a core.
};

bool parse_arguments(int argc, char** argv, Arguments* arguments) {
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const std::size_t equals = word.find('=');
    const int number = equals == std::string::npos ? 0 : std::atoi(word.c_str() + equals + 1);
    if (word == "cpu" || word == "cuda")
      arguments->backend = word;
    else if (word.rfind("--every=", 0) == 0 && number > 0)
      arguments->every = number;
    else if (word.rfind("--threads=", 0) == 0 && number > 0)
      arguments->threads = number;
    else
      return false;
  }
  return !arguments->backend.empty();
}

struct Tally {
  long cases = 0;
  long failed = 0;
  long long differing = 0;
};

/// Runs formats on threads, one element each.
class Table {
 public:
  explicit Table(Arguments arguments) : arguments_(std::move(arguments)) {}

  /// True if all cases passed.
  bool run();

 private:
  void work();
  Tally run_format(Harness& harness, std::size_t format);
  void run_size(Harness& harness, std::size_t format, std::size_t size, Tally& tally);
  void fail(const std::string& what);

  const Arguments arguments_;
  const std::vector<GstVideoFormat>& formats_ = template_formats();
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;  ///< Guards what follows, and the output.
  Tally total_;
  std::size_t done_ = 0;
  int shown_ = 0;
};

void Table::fail(const std::string& what) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (shown_++ < kFailuresShown)
    std::printf("FAIL %s: %s\n", arguments_.backend.c_str(), what.c_str());
}

void Table::run_size(Harness& harness, std::size_t format, std::size_t size, Tally& tally) {
  const std::vector<MaskCase>& masks = format_masks();
  constexpr std::size_t kBorderCount = std::size(kBorders);
  const std::size_t first = (format * std::size(kSizes) + size) * masks.size() * kBorderCount;
  const auto every = static_cast<std::size_t>(arguments_.every);
  const std::size_t skip = (every - first % every) % every;
  if (skip >= masks.size() * kBorderCount) return;

  GstVideoInfo info = video_info(formats_[format], kSizes[size].width, kSizes[size].height);
  // The ranges take turns: they have other black levels.
  info.colorimetry.range =
      size % 2 == 0 ? GST_VIDEO_COLOR_RANGE_0_255 : GST_VIDEO_COLOR_RANGE_16_235;
  const FormatOracle oracle(info, random_bytes(info, static_cast<unsigned>(first)));
  harness.set_caps(info);
  std::size_t current = masks.size();
  for (std::size_t i = skip; i < masks.size() * kBorderCount; i += every) {
    const MaskCase& mask = masks[i / kBorderCount];
    const BorderCase& border = kBorders[i % kBorderCount];
    const bool new_mask = current != i / kBorderCount;
    if (new_mask) harness.set("mask", mask.text);
    current = i / kBorderCount;
    harness.set("border", border.nick);
    const bool pushed = harness.push(oracle.frame()) == GST_FLOW_OK;
    const oracle::Bytes output = harness.pull();
    const std::int64_t differing =
        oracle.differing_bytes(output, oracle.expected(mask.mask, {1, 0, border.border}));
    const bool elsewhere =
        new_mask && harness.get_string("active-plan").rfind(arguments_.backend + " ", 0) != 0;
    ++tally.cases;
    tally.differing += differing;
    if (pushed && differing == 0 && !elsewhere) continue;
    ++tally.failed;
    fail(std::string(gst_video_format_to_string(formats_[format])) + " " +
         std::to_string(info.width) + "x" + std::to_string(info.height) + " " + mask.text + " " +
         border.nick + ": " + std::to_string(differing) + " bytes differ" +
         (pushed ? "" : ", not served") + " [" + harness.get_string("active-plan") + "]");
  }
}

Tally Table::run_format(Harness& harness, std::size_t format) {
  Tally tally;
  for (std::size_t size = 0; size < std::size(kSizes); ++size)
    run_size(harness, format, size, tally);
  for (const auto& messages : {harness.errors(), harness.warnings()})
    for (const Message& message : messages) {
      ++tally.failed;
      fail(std::string(gst_video_format_to_string(formats_[format])) + ": " + message.text);
    }
  return tally;
}

void Table::work() {
  // One thread of the pool each: there is one element a core.
  Harness harness(Settings{{"backend", arguments_.backend}, {"threads", "1"}});
  for (;;) {
    const std::size_t format = next_++;
    if (format >= formats_.size()) return;
    const Tally tally = run_format(harness, format);
    const std::lock_guard<std::mutex> lock(mutex_);
    total_.cases += tally.cases;
    total_.failed += tally.failed;
    total_.differing += tally.differing;
    std::printf("%2zu/%zu %s: %ld cases, %ld failed\n", ++done_, formats_.size(),
                gst_video_format_to_string(formats_[format]), tally.cases, tally.failed);
    std::fflush(stdout);
  }
}

bool Table::run() {
  const auto start = std::chrono::steady_clock::now();
  int count = arguments_.threads;
  if (count == 0) count = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([this] { work(); });
  for (std::thread& thread : threads)
    thread.join();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf(
      "figure: %zu formats, %zu sizes, %zu masks, %zu borders: %ld cases on %s, %lld bytes "
      "differ, %.0f seconds\n",
      formats_.size(), std::size(kSizes), format_masks().size(), std::size(kBorders), total_.cases,
      arguments_.backend.c_str(), total_.differing, elapsed.count());
  const long failed = std::min(total_.failed, total_.cases);
  std::printf("%ld passed, %ld failed\n", total_.cases - failed, failed);
  return failed == 0 && total_.cases > 0;
}

}  // namespace
}  // namespace check

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  check::Arguments arguments;
  if (!check::parse_arguments(argc, argv, &arguments)) {
    std::fprintf(stderr, "usage: format_table cpu|cuda [--every=N] [--threads=N]\n");
    return 2;
  }
  return check::Table(arguments).run() ? 0 : 1;
}
