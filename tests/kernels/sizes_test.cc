// SPDX-License-Identifier: LGPL-2.1-or-later
// Every height from 1 to 400 at three widths, and every width at three heights, in every way that
// kernels have to filter, against the CPU: tiles that end within a picture, pictures that end
// within a tile, and the last of each. No frame may take longer than a deadline.
//
// A convolver is made for the largest size and run on frames with fewer rows and columns, as of a
// field; at every third size, and for kernel box, which plans by the size, at all sizes, one is
// made for just that size. Small pictures are compared with the exact reference, too.
//
// class_run.h has the arguments. With --residues there are but some sizes, few enough to be run
// under compute-sanitizer: widths and heights of every residue modulo 16, and those that tiles of
// any form just fit, fall short of by one, or exceed by one. Each frame has a convolver and a
// device of its own, so that device planes end where the frame ends.
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/core/shape/tensor_windows.h"
#include "tests/kernels/class_run.h"
#include "tests/kernels/frame_case.h"
#include "tests/kernels/size_scenes.h"

namespace convolve::testing {
namespace {

struct Size {
  int width;
  int height;
};

constexpr int kLongest = 400;
/// Widths at which all heights are run: within a tile of any form, and across several. Packed
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

/// First one for every residue modulo 16, then the edges of vectors and tiles.
constexpr int kResidueWidths[] = {144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154,  155, 156,
                                  157, 158, 159, 1,   2,   15,  16,  17,  31,  32,  33,   63,  64,
                                  65,  127, 128, 129, 255, 256, 257, 511, 512, 513, 1023, 1025};
constexpr int kResidueHeights[] = {32, 33, 34, 35, 36, 37, 38, 39, 40,  41,  42,
                                   43, 44, 45, 46, 47, 1,  2,  3,  4,   7,   8,
                                   9,  15, 16, 17, 31, 63, 64, 65, 127, 128, 129};
/// So many heights for each width, which take turns: each height meets several widths.
constexpr std::size_t kResidueTurns = 4;
constexpr std::size_t kResidueSizes = std::size(kResidueWidths) * kResidueTurns;

Size residue_size(std::size_t job) {
  const std::size_t width = job / kResidueTurns;
  constexpr std::size_t kStride = 8;
  return {kResidueWidths[width],
          kResidueHeights[(width + job % kResidueTurns * kStride) % std::size(kResidueHeights)]};
}

constexpr Border kBorders[] = {Border::kReplicate, Border::kZero, Border::kMirror, Border::kReflect,
                               Border::kWrap};

class Sizes {
 public:
  explicit Sizes(const ClassArguments& arguments) : arguments_(arguments), scenes_(size_scenes()) {}

  void run(ClassWorker& worker, std::size_t job) {
    for (std::size_t s = 0; s < scenes_.size(); ++s)
      for (const NamedFormat& format : scenes_[s].formats)
        run_scene(worker, job, s, format);
  }

 private:
  void run_scene(ClassWorker& worker, std::size_t job, std::size_t s, const NamedFormat& format) {
    const SizeScene& scene = scenes_[s];
    if (!arguments_.wants_any(scene.ways)) return;
    const Size size = arguments_.residues ? residue_size(job) : size_of(job, format);
    const FrameFormat frame = make_format(format, size.width, size.height);
    FrameCase frame_case(format.name, frame, scene.mask, {1, scene.bias, kBorders[(job + s) % 5]},
                         scene.ways.front().options.alpha_mode, job * scenes_.size() + s);
    if (!frame_case.make_truth(worker)) return;
    for (std::size_t w = 0; w < scene.ways.size(); ++w) {
      const Way& way = scene.ways[w];
      if (!arguments_.wants(way)) continue;
      if (arguments_.residues) {
        if (!worker.renew_tested(arguments_.backend)) return;
        if (const auto convolver = frame_case.make_convolver(worker, way, frame))
          frame_case.run(worker, way.name, *convolver);
        continue;
      }
      const bool by_size = way.options.kernel == KernelKind::kBox;
      const bool exact = by_size || (job + w) % 3 == 0;
      if (exact)
        if (const auto convolver = frame_case.make_convolver(worker, way, frame))
          frame_case.run(worker, way.name, *convolver);
      if (!exact || by_size) run_of_largest(worker, frame_case, s, w, format);
    }
  }

  /// With a convolver that each thread makes once.
  void run_of_largest(ClassWorker& worker, const FrameCase& frame_case, std::size_t s,
                      std::size_t w, const NamedFormat& format) {
    const Way& way = scenes_[s].ways[w];
    const Key key{s, w, format.name};
    auto found = largest_.find(key);
    if (found == largest_.end()) {
      const FrameFormat largest = make_format(format, kLargest.width, kLargest.height);
      found = largest_.emplace(key, frame_case.make_convolver(worker, way, largest)).first;
    } else if (found->second == nullptr) {
      worker.refuse(way.name, format.name);
    }
    if (found->second == nullptr) return;
    // Forms for packed 4:2:2 want rows of whole columns, as planned.
    const std::string name = form_info(found->second->plan().form).name;
    if (name.rfind("tensor-packed", 0) == 0 && !packed_columns_serve(frame_case.frame().planes[0]))
      return worker.refuse(way.name, format.name);
    frame_case.run(worker, way.name, *found->second, "of a larger one");
  }

  const ClassArguments& arguments_;
  std::vector<SizeScene> scenes_;
  using Key = std::tuple<std::size_t, std::size_t, std::string>;
  std::map<Key, std::unique_ptr<Convolver>> largest_;
};

/// What an H100 would plan for each scene.
PlannedFormats plans() {
  PlannedFormats planned;
  for (const SizeScene& scene : size_scenes())
    for (const NamedFormat& format : scene.formats)
      for (const Way& way : scene.ways) {
        const auto plan = make_plan(make_format(format, kLargest.width, kLargest.height),
                                    scene.mask->mask, way.options, h100());
        if (plan.ok() && way.has_form(plan.value()) && way.planned(plan.value()))
          planned[way.name].insert(format.name);
      }
  return planned;
}

/// Every way, with two formats at least.
std::map<std::string, int> wanted_ways(const ClassArguments& arguments) {
  std::map<std::string, int> wanted;
  for (const Way& way : all_ways())
    if (arguments.wants(way)) wanted[way.name] = 2;
  return wanted;
}

}  // namespace
}  // namespace convolve::testing

int main(int argc, char** argv) {
  using namespace convolve::testing;
  const ClassArguments arguments = parse_class_arguments(argc, argv);
  if (arguments.list) return report_plans(plans(), wanted_ways(arguments));
  return run_class(
      arguments, arguments.residues ? kResidueSizes : kSizes,
      [&arguments]() -> ClassTask {
        auto sizes = std::make_shared<Sizes>(arguments);
        return [sizes](ClassWorker& worker, std::size_t job) { sizes->run(worker, job); };
      },
      wanted_ways(arguments));
}
