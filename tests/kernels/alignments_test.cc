// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in the device's own memory at every address modulo 32, with pitches of every residue, in
// every way that kernels filter, against the CPU. Source and destination lie anywhere independently
// of each other; nothing outside the destination's rows may change, and nothing outside the
// source's may matter.
//
// class_run.h has the arguments.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/core/base/round.h"
#include "tests/kernels/class_run.h"
#include "tests/kernels/frame_case.h"
#include "tests/kernels/named_formats.h"
#include "tests/kernels/placed_frame.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr Border kBorders[] = {Border::kReplicate, Border::kZero, Border::kMirror, Border::kReflect,
                               Border::kWrap};

struct Size {
  int width;
  int height;
};
/// Rows of the second are whole columns of 16 bytes in all formats; of the third there is one,
/// whose pitch means nothing.
constexpr Size kSizes[] = {{333, 67}, {304, 70}, {304, 1}};

struct Scene {
  TestMaskPtr mask;
  std::vector<std::string> formats;
  std::vector<Way> ways;
};

TestMaskPtr random_integers(int width, int height, double divisor) {
  Random random(static_cast<std::uint64_t>(width * 100 + height));
  std::vector<double> weights;
  for (int k = 0; k < width * height; ++k)
    weights.push_back(random.integer(-7, 9));
  return typed_mask("integers-" + std::to_string(width) + "x" + std::to_string(height), width,
                    height, std::move(weights), divisor);
}

std::vector<Scene> make_scenes() {
  const std::vector<std::string> most = {"GRAY8", "I420", "NV12", "P010",
                                         "RGBA",  "BGR",  "YUY2", "GRAY16"};
  const std::vector<std::string> grey = {"GRAY8", "I420"};
  return {
      {random_integers(3, 3, 16), most,
       ways_of({"tensor-", "coarsened-float32", "basic", "constant", "tiled-input-32",
                "tiled-output-16", "cached-halo-32"})},
      {random_integers(9, 8, 32), most, ways_of({"tensor-"})},
      {random_integers(13, 12, 64), most, ways_of({"tensor-"})},
      {random_integers(5, 5, 16), {"UYVY", "xRGB", "BGR"}, ways_of({"tensor-p"})},
      {random_mask(5, 5, Weights::kReal), {"P010", "GRAY16", "Y444_16"}, ways_of({"tensor-"})},
      {box_mask(9, 6, Weights::kRational), most, ways_of({"box-"})},
      {box_mask(9, 6, Weights::kRational), {"AV12"}, ways_of({"box-strips-runs"})},
      {box_mask(40, 33, Weights::kRational), most, ways_of({"box-"})},
      {parsed_mask("binomial:9"), most, ways_of({"separable-"})},
      {parsed_mask("box:150,9"), most, ways_of({"separable-"})},
      {parsed_mask("gaussian:25"), most, ways_of({"separable-spline"})},
      {typed_mask("huge-2x1", 2, 1, {1e38, -1e38}),
       {"GRAY8", "P010"},
       ways_of({"separable-one-pass"})},
      {tap_mask(9, 5, 8, 1, 1), most, ways_of({"shift"})},
      {tap_mask(4, 5, 0, 3, 3, 4), most, ways_of({"shift"})},
      {random_rank1_mask(125, 201, Weights::kRational),
       {"P010", "GRAY16"},
       ways_of({"separable-two-pass"})},
      {random_mask(4, 5, Weights::kRational), {"RGBA", "A420", "RGBA64"}, ways_of({"weighted-"})},
      {random_rank1_mask(30, 28, Weights::kRational), {"RGBA", "AV12"}, ways_of({"weighted-"})},
  };
}

struct Job {
  const Scene* scene;
  const NamedFormat* format;
  Size size;
};

std::vector<Job> make_jobs(const std::vector<Scene>& scenes, const ClassArguments& arguments) {
  std::vector<Job> jobs;
  for (const Scene& scene : scenes)
    for (const std::string& name : scene.formats)
      for (const Size& size : kSizes)
        if (arguments.wants_any(scene.ways)) jobs.push_back({&scene, &named_format(name), size});
  return jobs;
}

/// Offsets of source and destination: one takes all values, the other whole, one sample more, and
/// half of 16 bytes.
struct Offsets {
  int source;
  int destination;
};

std::vector<Offsets> all_offsets(int sample_bytes) {
  std::vector<Offsets> all;
  for (int offset = 0; offset < kOffsets; offset += sample_bytes)
    for (const int other : {0, sample_bytes, 8}) {
      all.push_back({offset, other});
      if (offset != 0 && offset != sample_bytes && offset != 8) all.push_back({other, offset});
    }
  return all;
}

/// Where a frame lies whose planes, or of every third frame one of them, lie `offset` bytes off.
/// Pitches take turns: rows without a gap and with small ones, and such that all rows lie alike.
Placement place(const FrameFormat& format, int offset, std::size_t turn) {
  constexpr int kGaps[] = {0, 1, 2, 3, 4, 8, 15, 16, 17, 31, 33, 64, 100};
  constexpr int kMultiples[] = {16, 32, 128, 512};
  constexpr std::size_t kPitches = std::size(kGaps) + std::size(kMultiples);
  Placement placement;
  placement.bottom_up = turn % 9 == 4;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    const bool off = turn % 3 != 0 || static_cast<int>(turn / 3) % format.plane_count == p;
    placement.offset[p] = off ? offset : 0;
    // Half of the frames that lie on 16 bytes have rows that do so, too.
    std::size_t pitch = turn % kPitches;
    if (offset % 16 == 0 && turn % 2 == 0)
      pitch = std::size(kGaps) + turn / 2 % std::size(kMultiples);
    placement.pitch[p] =
        pitch < std::size(kGaps)
            ? plane.row_bytes + kGaps[pitch] / plane.sample_bytes * plane.sample_bytes
            : round_up(plane.row_bytes, kMultiples[pitch - std::size(kGaps)]);
  }
  return placement;
}

std::string text_of(const Placement& placement, int planes) {
  std::string text;
  for (int p = 0; p < planes; ++p)
    text += (p == 0 ? "" : ",") + std::to_string(placement.offset[p]) + "+" +
            std::to_string(placement.pitch[p]);
  return text + (placement.bottom_up ? " bottom-up" : "");
}

/// A job on a thread: one picture under every border, and memory for it.
class Task {
 public:
  Task(ClassWorker& worker, const Job& job, std::size_t turn)
      : worker_(worker),
        job_(job),
        frame_(make_format(*job.format, job.size.width, job.size.height)),
        source_(DeviceBytes::make(worker.tested(), placed_bytes(frame_))),
        destination_(DeviceBytes::make(worker.tested(), placed_bytes(frame_))) {
    for (const Border border : kBorders)
      cases_.push_back(std::make_unique<FrameCase>(
          job.format->name, frame_, job.scene->mask, RunArguments{1, 0.25, border},
          job.scene->ways.front().options.alpha_mode, turn));
  }

  bool make_truths() {
    if (source_ == nullptr || destination_ == nullptr) {
      worker_.fail("memory", job_.format->name, "there is none");
      return false;
    }
    for (const auto& frame_case : cases_)
      if (!frame_case->make_truth(worker_)) return false;
    return true;
  }

  void run(const Way& way, std::size_t turn) {
    Way anywhere = way;
    anywhere.options.alignment = 1;
    const auto convolver = cases_.front()->make_convolver(worker_, way, frame_);
    if (convolver == nullptr) return;
    const bool aligned_only = form_info(convolver->plan().form).alignment > 1;
    const auto unaligned =
        aligned_only ? nullptr : cases_.front()->make_convolver(worker_, anywhere, frame_);
    for (const Offsets offsets : all_offsets(frame_.planes[0].sample_bytes)) {
      ++turn;
      const Placement from = place(frame_, offsets.source, turn);
      const Placement to = place(frame_, offsets.destination, turn * 7 / 2);
      const FrameCase& frame_case = *cases_[turn % cases_.size()];
      if (lies_on_sixteen(from) && lies_on_sixteen(to))
        run_frame(way, *convolver, frame_case, from, to);
      else if (aligned_only)
        expect_refusal(way, *convolver, frame_case, from, to);
      else if (unaligned != nullptr)
        run_frame(way, *unaligned, frame_case, from, to);
    }
  }

 private:
  bool lies_on_sixteen(const Placement& placement) const {
    for (int p = 0; p < frame_.plane_count; ++p)
      if (!rows_lie_on(static_cast<std::uintptr_t>(placement.offset[p]), placement.pitch[p],
                       frame_.planes[p].rows, kPlaneAlignment))
        return false;
    return true;
  }

  /// A form that asks for aligned planes says so.
  void expect_refusal(const Way& way, Convolver& convolver, const FrameCase& frame_case,
                      const Placement& from, const Placement& to) {
    PlacedFrame source(frame_, from, *source_), answer(frame_, to, *destination_);
    const Status status = convolver.run(source.view(), answer.view(), frame_case.how());
    worker_.judge(way.name, job_.format->name, text_of(from, frame_.plane_count),
                  status.code() == Code::kInvalidArgument ? "" : "unaligned planes were taken");
  }

  void run_frame(const Way& way, Convolver& convolver, const FrameCase& frame_case,
                 const Placement& from, const Placement& to) {
    PlacedFrame source(frame_, from, *source_), answer(frame_, to, *destination_);
    const std::string where = frame_case.name() + " from " + text_of(from, frame_.plane_count) +
                              " to " + text_of(to, frame_.plane_count);
    std::string fault;
    const Status status =
        worker_.timed(way.name + " " + job_.format->name + " " + where, [&]() -> Status {
          if (!source.write(frame_case.source(), ++seed_) || !answer.poison())
            return Status(Code::kDeviceError, "its memory cannot be written");
          Status run = convolver.run(source.view(), answer.view(), frame_case.how());
          if (run.ok()) run = worker_.tested()->finish();
          if (run.ok()) fault = answer.find_fault_in(frame_case.truth(), frame_case.tolerance());
          return run;
        });
    if (!status.ok()) fault = status.message();
    if (!fault.empty()) fault += " [" + convolver.plan().to_string() + "]";
    worker_.judge(way.name, job_.format->name, where, fault);
  }

  ClassWorker& worker_;
  const Job& job_;
  FrameFormat frame_;
  std::unique_ptr<DeviceBytes> source_, destination_;
  std::vector<std::unique_ptr<FrameCase>> cases_;  ///< By border.
  std::uint64_t seed_ = 0;
};

/// Every way of the scenes, with two formats at least.
std::map<std::string, int> wanted_ways(const ClassArguments& arguments,
                                       const std::vector<Scene>& scenes) {
  std::map<std::string, int> wanted;
  for (const Scene& scene : scenes)
    for (const Way& way : scene.ways)
      if (arguments.wants(way)) wanted[way.name] = 2;
  return wanted;
}

/// What an H100 would plan.
PlannedFormats plans(const std::vector<Job>& jobs) {
  PlannedFormats planned;
  for (const Job& job : jobs)
    for (const Way& way : job.scene->ways) {
      const auto plan = make_plan(make_format(*job.format, job.size.width, job.size.height),
                                  job.scene->mask->mask, way.options, h100());
      if (plan.ok() && way.has_form(plan.value()) && way.planned(plan.value()))
        planned[way.name].insert(job.format->name);
    }
  return planned;
}

}  // namespace
}  // namespace convolve::testing

int main(int argc, char** argv) {
  using namespace convolve::testing;
  const ClassArguments arguments = parse_class_arguments(argc, argv);
  const std::vector<Scene> scenes = make_scenes();
  const std::vector<Job> jobs = make_jobs(scenes, arguments);
  if (arguments.list) return report_plans(plans(jobs), wanted_ways(arguments, scenes));
  return run_class(
      arguments, jobs.size(),
      [&]() -> ClassTask {
        return [&](ClassWorker& worker, std::size_t job) {
          Task task(worker, jobs[job], job);
          if (!task.make_truths()) return;
          for (std::size_t w = 0; w < jobs[job].scene->ways.size(); ++w)
            if (arguments.wants(jobs[job].scene->ways[w]))
              task.run(jobs[job].scene->ways[w], job + w);
        };
      },
      arguments.every > 1 || arguments.shards > 1 ? std::map<std::string, int>()
                                                  : wanted_ways(arguments, scenes));
}
