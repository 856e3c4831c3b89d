// SPDX-License-Identifier: LGPL-2.1-or-later
// What a pipeline gives: frames a second, latency and CPU time of SOURCE ! caps ! ELEMENTS !
// fakesink sync=false, with a source that costs nothing (source.h).
//
//   bench_pipelines [--elements=TEXT]... [--masks=LIST] [--formats=LIST] [--sizes=LIST]
//                   [--pool=LIST] [--pipelines=LIST] [--devices=N] [--frames=N] [--seconds=S]
//                   [--warm-up=N] [--rounds=N] [--live=FPS] [--commit=NAME] [--json=FILE]
//
// Every combination is a row. Elements are as in a launch line, and %MASK% in them stands for a
// mask of the list (mask_texts.h): --elements='cudaconvolve mask=%MASK%'
// --masks=reals-9,gaussian:10.
// --formats=NV12,RGBA --sizes=1080p,4k,640x480 --pool=offered,foreign,cuda (source.h)
// --pipelines=1,8 (so many at once). %DEVICE% stands for the GPU of a pipeline: --devices=2 makes
// it 0 and 1 in turn, and the bus that frames are compared with is that of one GPU. A round has N
// frames of all pipelines together (default 2000), with --seconds at least so many; the warm-up's N
// (200) are of each pipeline. --live makes live sources of FPS frames a second. Beside each row
// stands what part it is of what the bus lets through (bus_limit.h).
//
// A row counts only if every frame arrived, in order and with no error or warning on a bus, and if
// `mask=` changed the picture. Prints Markdown; with --json also writes one JSON object a row. Exit
// status: 0, 1 after a row that does not count, 2 bad usage or a build that must not be measured,
// 77 no GPU where elements ask for one (1 if CUDACONVOLVE_REQUIRE_GPU=1).
#include <gst/gst.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "tests/benchmarks/figures.h"
#include "tests/benchmarks/pipelines/arguments.h"
#include "tests/benchmarks/pipelines/bus_limit.h"
#include "tests/benchmarks/pipelines/row_report.h"
#include "tests/benchmarks/pipelines/row_run.h"

namespace cudaconvolve::pipelines {
namespace {

constexpr int kSkipped = 77;

bool gpu_required() {
  const char* required = std::getenv("CUDACONVOLVE_REQUIRE_GPU");
  return required != nullptr && std::strcmp(required, "1") == 0;
}

std::string host_description() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line, name = "unknown";
  while (std::getline(cpuinfo, line))
    if (line.rfind("model name", 0) == 0) {
      name = line.substr(std::min(line.find(':') + 2, line.size()));
      break;
    }
  return name + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads";
}

Setting setting_of(const Arguments& arguments, const std::string& device) {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  Setting setting;
  setting.device = device.empty() ? "none" : device;
  setting.host = host_description();
  setting.gstreamer =
      std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(micro);
  setting.commit = arguments.commit;
  setting.effort = arguments.effort;
  return setting;
}

/// False if a row does not count.
bool run_rows(const Arguments& arguments, const Setting& setting, bool gpu, std::FILE* json) {
  bool good = true;
  std::map<std::size_t, std::unique_ptr<BusLimit>> buses;  // By bytes of a frame.
  print_heading(setting, stdout);
  for (const Case& asked : arguments.cases) {
    BusLimit* bus = nullptr;
    if (gpu && asked.pool != Pool::kCuda) {
      std::unique_ptr<BusLimit>& known = buses[frame_bytes(asked, arguments.effort)];
      if (known == nullptr)
        known = std::make_unique<BusLimit>(frame_bytes(asked, arguments.effort));
      bus = known.get();
    }
    const Row row = run_row(asked, arguments.effort, bus);
    good = good && row.problem.empty();
    print_markdown_row(row, stdout);
    std::fflush(stdout);
    if (json != nullptr) print_json_row(setting, row, json);
  }
  return good;
}

int run(const Arguments& arguments) {
  std::string why;
  const std::string device = gpu_description(&why);
  if (device.empty() && std::any_of(arguments.cases.begin(), arguments.cases.end(), needs_gpu)) {
    std::fprintf(stderr, "%s: %s\n", gpu_required() ? "FAIL" : "SKIP", why.c_str());
    return gpu_required() ? 1 : kSkipped;
  }
  std::FILE* json = nullptr;
  if (!arguments.json.empty() && (json = std::fopen(arguments.json.c_str(), "w")) == nullptr) {
    std::fprintf(stderr, "cannot write %s\n", arguments.json.c_str());
    return 1;
  }
  const bool good = register_source() &&
                    run_rows(arguments, setting_of(arguments, device), !device.empty(), json);
  if (json != nullptr) std::fclose(json);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace cudaconvolve::pipelines

int main(int argc, char** argv) {
  using namespace cudaconvolve::pipelines;
  gst_init(nullptr, nullptr);
  Arguments arguments;
  if (!parse_arguments(argc, argv, &arguments)) {
    std::fprintf(stderr,
                 "usage: bench_pipelines [--elements=TEXT]... [--masks=LIST] [--formats=LIST] "
                 "[--sizes=LIST] [--pool=LIST] [--pipelines=LIST] [--frames=N] [--seconds=S] "
                 "[--warm-up=N] [--rounds=N] [--live=FPS] [--commit=NAME] [--json=FILE]\n");
    return 2;
  }
  if (!convolve::benchmarks::measurable_build()) {
    std::fprintf(stderr, "this build is not optimised: its times would mean nothing\n");
    return 2;
  }
  return run(arguments);
}
