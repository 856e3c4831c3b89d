// SPDX-License-Identifier: LGPL-2.1-or-later
// Pictures so large that the warps of every form take several steps, in every way that kernels have
// to filter, against the CPU: 3840x2160 under all borders, or with --giant pictures with sides of
// up to 32768 and, of samples of two bytes or several components, planes of more than 2 GiB, where
// an offset of 32 bits would fall short.
//
// class_run.h has the other arguments. --giant takes some 20 GiB of host memory a thread.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "tests/kernels/class_run.h"
#include "tests/kernels/frame_case.h"
#include "tests/kernels/size_scenes.h"

namespace convolve::testing {
namespace {

constexpr Border kBorders[] = {Border::kReplicate, Border::kZero, Border::kMirror, Border::kReflect,
                               Border::kWrap};
constexpr int kGiantSide = 32768;
constexpr std::int64_t kGiantBytes = std::int64_t{1} << 31;

/// A picture of a scene.
struct Job {
  SizeScene scene;
  NamedFormat format;
  Border border;
  int width;
  int height;
};

/// As many rows as give the first plane more than kGiantBytes, or kGiantSide.
int giant_height(const NamedFormat& format) {
  const int row_bytes = make_format(format, kGiantSide, 1).planes[0].row_bytes;
  // Of three rows more the last ones lie beyond, wherever a row begins.
  return static_cast<int>(std::min<std::int64_t>(kGiantSide, kGiantBytes / row_bytes + 3));
}

std::vector<Job> make_jobs(bool giant) {
  std::vector<Job> jobs;
  for (const SizeScene& scene : size_scenes())
    for (const NamedFormat& format : scene.formats) {
      if (giant) {
        const Border border = kBorders[jobs.size() % 5];
        jobs.push_back({scene, format, border, kGiantSide, giant_height(format)});
        continue;
      }
      for (const Border border : kBorders)
        jobs.push_back({scene, format, border, 3840, 2160});
    }
  return jobs;
}

void run(const ClassArguments& arguments, const Job& job, std::size_t index, ClassWorker& worker) {
  const SizeScene& scene = job.scene;
  if (!arguments.wants_any(scene.ways)) return;
  const FrameFormat frame = make_format(job.format, job.width, job.height);
  FrameCase frame_case(job.format.name, frame, scene.mask, {1, scene.bias, job.border},
                       scene.ways.front().options.alpha_mode, index);
  if (!frame_case.make_truth(worker)) return;
  for (const Way& way : scene.ways) {
    if (!arguments.wants(way)) continue;
    const auto convolver = frame_case.make_convolver(worker, way, frame);
    if (convolver != nullptr) frame_case.run(worker, way.name, *convolver);
  }
}

/// Every way, with a format at least; but bands, which want rows that fit a block.
std::map<std::string, int> wanted_ways(const ClassArguments& arguments, bool giant) {
  std::map<std::string, int> wanted;
  for (const Way& way : all_ways())
    if (arguments.wants(way) && arguments.every == 1 && !(giant && way.name == "box-bands"))
      wanted[way.name] = 1;
  return wanted;
}

}  // namespace
}  // namespace convolve::testing

int main(int argc, char** argv) {
  using namespace convolve::testing;
  const bool giant = argc > 1 && std::strcmp(argv[1], "--giant") == 0;
  const ClassArguments arguments = parse_class_arguments(argc - giant, argv + giant);
  const std::vector<Job> jobs = make_jobs(giant);
  return run_class(
      arguments, jobs.size(),
      [&]() -> ClassTask {
        return [&](ClassWorker& worker, std::size_t k) { run(arguments, jobs[k], k, worker); };
      },
      wanted_ways(arguments, giant));
}
