// SPDX-License-Identifier: LGPL-2.1-or-later
// Every height from 1 to 400 at three widths, and every width at three heights, in every way that
// kernels have to filter, against the CPU: tiles that end within a picture, pictures that end
// within a tile, and the last of each. No frame may take longer than a deadline.
//
// A convolver is made for the largest size and run on frames with fewer rows and columns, as of a
// field; at every third size, and for kernel box, which plans by the size, at all sizes, one is
// made for just that size. Small pictures are compared with the exact reference, too.
//
// class_run.h has the arguments.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/class_run.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/runner.h"
#include "tests/kernels/size_scenes.h"

namespace convolve::testing {
namespace {

struct Size {
  int width;
  int height;
};

constexpr int kLongest = 400;
/// Widths at which all heights are run: within a tile of any mapping, and across several. Packed
/// 4:2:2 takes the next ones whose rows some of the kernels want.
constexpr int kWidths[] = {61, 333, 1030};
constexpr int kPackedWidths[] = {88, 333, 1040};
constexpr int kHeights[] = {5, 125, 200};
constexpr Size kLargest = {1040, kLongest};
constexpr std::size_t kSizes = 6 * kLongest;

/// Small ones are far apart, so that every shard has small and large ones.
Size size_of(std::size_t job, const NamedFormat& format) {
  const int extent = 1 + static_cast<int>(job) / 6;
  const std::size_t turn = job % 6;
  if (turn >= 3) return {extent, kHeights[turn - 3]};
  return {format.packed_422() ? kPackedWidths[turn] : kWidths[turn], extent};
}

constexpr Border kBorders[] = {Border::kReplicate, Border::kZero, Border::kMirror, Border::kReflect,
                               Border::kWrap};

/// Products of the largest pictures and masks that the exact reference is asked for.
constexpr std::int64_t kReferenceWork = 20000;

class Sizes {
 public:
  explicit Sizes(const ClassArguments& arguments) : arguments_(arguments), scenes_(size_scenes()) {}

  void run(ClassWorker& worker, std::size_t job) {
    for (std::size_t s = 0; s < scenes_.size(); ++s)
      for (const NamedFormat& format : scenes_[s].formats)
        run_scene(worker, job, s, format);
  }

 private:
  /// What a scene, a format and a size make: the frame, and what it should become.
  struct Task {
    const SizeScene& scene;
    const NamedFormat& format;
    FrameFormat frame;
    RunArguments how;
    std::string name;
    GuardedFrame source, truth;
  };

  void run_scene(ClassWorker& worker, std::size_t job, std::size_t s, const NamedFormat& format) {
    const SizeScene& scene = scenes_[s];
    std::vector<std::size_t> ways;
    for (std::size_t w = 0; w < scene.ways.size(); ++w)
      if (arguments_.wants(scene.ways[w]) &&
          (arguments_.backend == BackendKind::kCuda || scene.ways[w].on_cpu))
        ways.push_back(w);
    if (ways.empty()) return;
    const Size size = size_of(job, format);
    const FrameFormat frame = make_format(format, size.width, size.height);
    const int turn = static_cast<int>(job + s);
    // Misaligned and bottom-up frames are spread over the sizes.
    Task task{scene,
              format,
              frame,
              {1, scene.bias, kBorders[turn % 5]},
              {},
              GuardedFrame(frame, turn % 4, turn % 7 == 0),
              GuardedFrame(frame, 0, false)};
    task.name = scene.mask->name + " " + std::to_string(size.width) + "x" +
                std::to_string(size.height) + " " + border_name(task.how.border);
    fill_frame(task.source.view(), job * scenes_.size() + s);
    if (!make_truth(worker, task)) return;
    for (const std::size_t w : ways) {
      const Way& way = scene.ways[w];
      const bool by_size = way.options.kernel == KernelKind::kBox;
      const bool exact = by_size || (job + w) % 3 == 0;
      if (exact) run_exact(worker, task, way, turn);
      if (!exact || by_size)
        run_way(worker, task, way, convolver_of_largest(worker, s, w, task), "of a larger one",
                turn);
    }
  }

  /// Options of `way`, or of the CPU's choice where there is none.
  static Options options_of(const Task& task, const Way* way) {
    Options options;
    if (way != nullptr) options = way->options;
    options.alpha_mode = task.scene.ways.front().options.alpha_mode;
    options.bias = task.how.bias;
    return options;
  }

  bool make_truth(ClassWorker& worker, Task& task) {
    auto convolver = Convolver::create(task.frame, task.scene.mask->mask, options_of(task, nullptr),
                                       worker.truth());
    Status status = convolver.ok()
                        ? convolver.value()->run(task.source.view(), task.truth.view(), task.how)
                        : convolver.status();
    if (status.ok()) status = worker.truth()->finish();
    if (!status.ok()) {
      worker.fail("cpu", task.format.name, task.name + ": " + status.message());
      return false;
    }
    const PlaneFormat& plane = task.frame.planes[0];
    const bool weighted = task.scene.ways.front().options.alpha_mode == AlphaMode::kPremultiplied;
    if (task.scene.agreement == Agreement::kBytes && !weighted &&
        std::int64_t{plane.rows} * plane.row_bytes * task.scene.mask->mask.taps() <=
            kReferenceWork) {
      GuardedFrame exact(task.frame, 0, false);
      reference_run(task.source.view(), exact.view(), task.scene.mask->mask, task.how);
      worker.judge("cpu", task.format.name, task.name + ", of the reference",
                   find_fault(task.truth.view(), exact.view(), Agreement::kBytes));
    }
    return true;
  }

  void run_exact(ClassWorker& worker, const Task& task, const Way& way, int turn) {
    std::unique_ptr<Convolver> convolver;
    const Status status = worker.timed(way.name + " " + task.format.name + " " + task.name, [&] {
      auto made = Convolver::create(task.frame, task.scene.mask->mask, options_of(task, &way),
                                    worker.tested());
      if (made.ok()) convolver = std::move(made.value());
      return made.status();
    });
    if (!status.ok() && status.code() != Code::kUnsupported)
      return worker.fail(way.name, task.format.name, task.name + ": " + status.message());
    run_way(worker, task, way, convolver.get(), "", turn);
  }

  /// Made once for each thread; null if the way does not serve.
  Convolver* convolver_of_largest(ClassWorker& worker, std::size_t s, std::size_t w,
                                  const Task& task) {
    const Key key{s, w, task.format.name};
    const auto found = largest_.find(key);
    if (found != largest_.end()) return found->second.get();
    const FrameFormat frame = make_format(task.format, kLargest.width, kLargest.height);
    auto made = Convolver::create(frame, task.scene.mask->mask,
                                  options_of(task, &task.scene.ways[w]), worker.tested());
    return (largest_[key] = made.ok() ? std::move(made.value()) : nullptr).get();
  }

  void run_way(ClassWorker& worker, const Task& task, const Way& way, Convolver* convolver,
               const std::string& how_made, int turn) {
    if (convolver == nullptr || !way.planned(convolver->plan()))
      return worker.refuse(way.name, task.format.name);
    GuardedFrame answer(task.frame, (turn / 4) % 4, turn % 11 == 0);
    const Status status = worker.timed(
        way.name + " " + task.format.name + " " + task.name + " " + how_made, [&]() -> Status {
          Status run = convolver->run(task.source.view(), answer.view(), task.how);
          return run.ok() ? worker.tested()->finish() : run;
        });
    std::string fault = status.message();
    if (status.ok()) fault = find_fault(answer.view(), task.truth.view(), task.scene.agreement);
    if (fault.empty() && !answer.guards_intact()) fault = "wrote outside its rows";
    if (!fault.empty()) fault += " [" + convolver->plan().to_string() + "]";
    worker.judge(way.name, task.format.name, task.name + " " + how_made, fault);
  }

  const ClassArguments& arguments_;
  std::vector<SizeScene> scenes_;
  using Key = std::tuple<std::size_t, std::size_t, std::string>;
  std::map<Key, std::unique_ptr<Convolver>> largest_;
};

/// What an H100 plans for each way of each scene, a line each if it is asked for. Returns how many
/// of all ways have no two formats: their tables are out of date.
int check_plans(bool print) {
  std::map<std::string, int> planned;
  for (const SizeScene& scene : size_scenes())
    for (const NamedFormat& format : scene.formats)
      for (const Way& way : scene.ways) {
        const auto plan = make_plan(make_format(format, kLargest.width, kLargest.height),
                                    scene.mask->mask, way.options, h100());
        const bool runs = plan.ok() && way.planned(plan.value());
        planned[way.name] += runs;
        if (print)
          std::printf(
              "%-7s %-24s %-8s %s\n", runs ? "runs" : "refused", way.name.c_str(), format.name,
              plan.ok() ? plan.value().to_string().c_str() : plan.status().message().c_str());
      }
  int missing = 0;
  for (const Way& way : all_ways())
    if (planned[way.name] < 2) {
      std::printf("FAIL an H100 plans %s for %d formats, not 2\n", way.name.c_str(),
                  planned[way.name]);
      ++missing;
    }
  return missing;
}

}  // namespace
}  // namespace convolve::testing

int main(int argc, char** argv) {
  using namespace convolve::testing;
  const ClassArguments arguments = parse_class_arguments(argc, argv);
  if (const int missing = check_plans(arguments.list); missing > 0 || arguments.list)
    return missing == 0 ? 0 : 1;
  // Every way runs, with two formats at least.
  std::map<std::string, int> wanted;
  for (const Way& way : all_ways())
    wanted[way.name] = 2;
  return run_class(
      arguments, kSizes,
      [&arguments]() -> ClassTask {
        auto sizes = std::make_shared<Sizes>(arguments);
        return [sizes](ClassWorker& worker, std::size_t job) { sizes->run(worker, job); };
      },
      wanted);
}
