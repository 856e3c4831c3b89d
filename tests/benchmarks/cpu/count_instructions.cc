// SPDX-License-Identifier: LGPL-2.1-or-later
// How many instructions the CPU backend takes for a sample, in one thread: a figure that is the
// same however busy the machine is.
//
//   count_instructions [--instruction-set=NAME] [--cells=TEXT] [--width=N]
//
// The processor is told to trap after every instruction, and a signal handler counts: that works
// with every instruction that it has, as no simulator does, and asks for no privileges. A step
// takes microseconds, so frames are small, through the forms that 1080p is planned for: what a
// frame costs once, and what its first and last rows cost, drops out as two heights are counted and
// only the difference is told. What the ends of a row cost does not, and is less in wider pictures:
// --width=1920 --cells=TEXT counts a few cells as 1080p has them.
//
// With --instruction-set=AVX2 the kernels use nothing better. --cells: only those whose mask and
// format, as in "box:3 GRAY8", have this text in them. Prints Markdown. Samples are all of a frame,
// alpha among them. Exit status: 0, 1 after a failed call, 2 bad usage or a build that must not be
// measured, 77 if no trap follows an instruction here.
#include <signal.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/cpu/instruction_set.h"
#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/frames.h"
#include "tests/benchmarks/measure.h"
#include "tests/benchmarks/pipelines/mask_texts.h"
#include "tests/kernels/named_formats.h"
#include "tests/kernels/test_masks.h"

namespace convolve::benchmarks {
namespace {

constexpr int kUsualWidth = 512;
constexpr int kLeastWidth = 16;
constexpr int kMostWidth = 16384;
/// Rows that kernels compute together, 4 or 6 of them, divide these.
constexpr int kBlockOfRows = 12;
/// Masks of more rows than this may be split by a fast FIR algorithm, which computes 16 or 32 rows
/// together (64 for masks higher than those counted): these divide kHighBlockOfRows.
constexpr int kMostLowRows = 12;
constexpr int kHighBlockOfRows = 96;
/// The picture whose plan says which form is counted: a small picture alone would get other forms.
constexpr int kPlannedWidth = 1920;
constexpr int kPlannedHeight = 1080;

struct Cell {
  std::string mask;  ///< A name of mask_text().
  const char* format;

  std::string label() const { return mask + " " + format; }
};

/// A choice of bench_cpu's cells, one for each path through the kernels.
std::vector<Cell> all_cells() {
  std::vector<Cell> cells;
  for (const char* mask : {"integers-3", "integers-5", "integers-7", "integers-9", "integers-15",
                           "integers-31", "reals-3", "reals-5", "reals-9", "reals-15", "reals-31",
                           "gaussian:1", "gaussian:3", "gaussian:10", "box:3", "box:31"})
    cells.push_back({mask, "GRAY8"});
  for (const char* format : {"NV12", "YUY2", "RGBA", "GRAY16", "P010"})
    for (const char* mask : {"integers-5", "gaussian:3"})
      cells.push_back({mask, format});
  return cells;
}

// What the handler counts. It interrupts the one thread that steps, at any instruction.
volatile std::uint64_t g_instructions = 0;
volatile std::uint64_t g_last_address = 0;

void count_step(int, siginfo_t*, void* context) {
  const std::uint64_t address =
      static_cast<std::uint64_t>(static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
  // A string instruction, as memcpy may use, traps after each of its rounds but is one.
  if (address != g_last_address) g_instructions = g_instructions + 1;
  g_last_address = address;
}

/// Calls `work` with a trap behind every instruction; how many there were.
template <class Work>
std::uint64_t count_instructions(Work&& work) {
  constexpr unsigned long long kTrapFlag = 0x100;
  g_instructions = 0;
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | kTrapFlag);
  work();
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~kTrapFlag);
  return g_instructions;
}

/// Installs the handler. False if a loop of known length is not counted as that here.
bool can_count() {
  struct sigaction action = {};
  action.sa_sigaction = count_step;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGTRAP, &action, nullptr) != 0) return false;
  const auto loop = [](std::uint64_t rounds) {
    return count_instructions([rounds]() mutable {
      asm volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
    });
  };
  const std::uint64_t few = loop(100);
  return loop(200) == few + 200;
}

std::size_t samples_of(const FrameFormat& format) {
  std::size_t samples = 0;
  for (int p = 0; p < format.plane_count; ++p)
    samples += static_cast<std::size_t>(format.planes[p].rows) *
               static_cast<std::size_t>(format.planes[p].row_bytes / format.planes[p].sample_bytes);
  return samples;
}

/// Rows of the two heights: whole blocks of them in every plane.
struct Heights {
  int less = 0;
  int more = 0;
};

Heights heights_of(const FrameFormat& format, const Mask& mask) {
  const bool halved = format.planes[format.plane_count - 1].rows < format.planes[0].rows;
  const int block = mask.height > kMostLowRows ? kHighBlockOfRows : kBlockOfRows;
  return {block, block + (halved ? 2 : 1) * block};
}

struct Count {
  std::size_t samples = 0;
  std::uint64_t instructions = 0;
};

/// A frame of `format`, once counted.
Result<Count> count_frame(const FrameFormat& format, const Mask& mask, Form form,
                          const std::shared_ptr<Device>& device) {
  Options options;
  options.form = form;
  auto convolver = Convolver::create(format, mask, options, device);
  if (!convolver.ok()) return convolver.status();
  const std::vector<std::uint8_t> source = make_noise(packed_bytes(format));
  const std::vector<std::uint8_t> filtered(source.size());
  const FrameView src = packed_view(format, source.data());
  const FrameView dst = packed_view(format, filtered.data());
  const auto run = [&] { return convolver.value()->run(src, dst, {}); };
  // A first run, uncounted: it finds out which instructions the machine has, which later ones know.
  Status status = run();
  if (!status.ok()) return status;
  Count count;
  count.samples = samples_of(format);
  count.instructions = count_instructions([&] { status = run(); });
  if (!status.ok()) return status;
  return count;
}

/// Prints a row of the table.
Status count_cell(const Cell& cell, int width) {
  // One thread is the one that calls: the handler's.
  DeviceOptions one_thread;
  one_thread.threads = 1;
  auto device = open_device(BackendKind::kCpu, one_thread);
  if (!device.ok()) return device.status();
  const auto mask = testing::parsed_mask(cudaconvolve::pipelines::mask_text(cell.mask));
  const testing::NamedFormat& named = testing::named_format(cell.format);
  const FrameFormat planned = make_format(named, kPlannedWidth, kPlannedHeight);
  const auto plan = make_plan(planned, mask->mask, {}, device.value()->capabilities());
  if (!plan.ok()) return plan.status();
  const Form form = plan.value().form;
  const Heights heights = heights_of(planned, mask->mask);
  const auto less =
      count_frame(make_format(named, width, heights.less), mask->mask, form, device.value());
  if (!less.ok()) return less.status();
  const auto more =
      count_frame(make_format(named, width, heights.more), mask->mask, form, device.value());
  if (!more.ok()) return more.status();
  const std::uint64_t instructions = more.value().instructions - less.value().instructions;
  const std::size_t samples = more.value().samples - less.value().samples;
  std::printf("| %s | %s | %s | %.3f |\n", cell.mask.c_str(), cell.format, form_info(form).name,
              static_cast<double>(instructions) / static_cast<double>(samples));
  std::fflush(stdout);
  return {};
}

struct Arguments {
  std::string instruction_set;  ///< Empty: the machine's best.
  std::string cells;
  int width = kUsualWidth;
};

bool parse_word(const std::string& word, Arguments* arguments) {
  const std::size_t equals = word.find('=');
  if (equals == std::string::npos || equals + 1 == word.size()) return false;
  const std::string name = word.substr(0, equals), value = word.substr(equals + 1);
  if (name == "--width") {
    arguments->width = std::atoi(value.c_str());
    return arguments->width >= kLeastWidth && arguments->width <= kMostWidth;
  }
  if (name == "--cells")
    arguments->cells = value;
  else if (name == "--instruction-set")
    arguments->instruction_set = value;
  else
    return false;
  return true;
}

int run(const Arguments& arguments) {
  std::vector<Cell> cells;
  for (Cell& cell : all_cells())
    if (cell.label().find(arguments.cells) != std::string::npos) cells.push_back(std::move(cell));
  if (cells.empty()) {
    std::fprintf(stderr, "no cell has %s in its name\n", arguments.cells.c_str());
    return 2;
  }
  if (!measurable_build()) {
    std::fprintf(stderr, "this build is not optimised: its counts would mean nothing\n");
    return 2;
  }
  if (!arguments.instruction_set.empty()) {
    if (Status status = limit_instruction_set(arguments.instruction_set); !status.ok()) {
      std::fprintf(stderr, "FAIL %s\n", status.message().c_str());
      return 1;
    }
  }
  if (!can_count()) {
    std::fprintf(stderr, "SKIP no trap follows every instruction on this machine\n");
    return 77;
  }
  std::printf("Instructions with %s, one thread, rows of %d pixels:\n\n", vector_instruction_set(),
              arguments.width);
  std::printf("| mask | format | form | instructions a sample |\n|---|---|---|---:|\n");
  bool good = true;
  for (const Cell& cell : cells) {
    const Status status = count_cell(cell, arguments.width);
    if (status.ok()) continue;
    std::fprintf(stderr, "FAIL %s: %s\n", cell.label().c_str(), status.message().c_str());
    good = false;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace convolve::benchmarks

int main(int argc, char** argv) {
  convolve::benchmarks::Arguments arguments;
  for (int k = 1; k < argc; ++k)
    if (!convolve::benchmarks::parse_word(argv[k], &arguments)) {
      std::fprintf(
          stderr,
          "count_instructions: what is %s?\n"
          "usage: count_instructions [--instruction-set=NAME] [--cells=TEXT] [--width=N]\n",
          argv[k]);
      return 2;
    }
  return convolve::benchmarks::run(arguments);
}
