// SPDX-License-Identifier: LGPL-2.1-or-later
// Every way in which a sum becomes a code, in every way that kernels filter, on formats whose
// components differ in black level, bias and range, filtered or copied, against the CPU and, where
// that is little work, the exact reference. Weights, divisors and scales are powers of two and not.
//
// A convolver is made for one scale and bias and runs all others that its plan serves: what it
// keeps from frame to frame must follow.
//
// class_run.h has the arguments.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "tests/kernels/class_run.h"
#include "tests/kernels/epilogue_class.h"
#include "tests/kernels/frame_case.h"
#include "tests/kernels/named_formats.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

struct Size {
  int width;
  int height;
};
/// The first is small enough for the reference; rows of the last are whole columns of 16 bytes.
constexpr Size kSizes[] = {{50, 13}, {131, 37}, {640, 16}};

struct Level {
  double scale;
  double bias;
};
constexpr Level kLevels[] = {{1, 0},       {1, 0.5},    {0.7, 0.5}, {0.9, 0},
                             {0.18, -0.1}, {-1.3, 0.6}, {0.5, 0.1}, {3, -0.75}};

constexpr Border kBorders[] = {Border::kReplicate, Border::kZero, Border::kMirror, Border::kReflect,
                               Border::kWrap};

struct Scene {
  TestMaskPtr mask;
  std::vector<Way> ways;
};

TestMaskPtr random_integers(int width, int height, int most, double divisor) {
  Random random(static_cast<std::uint64_t>(width * 100 + height + most));
  std::vector<double> weights;
  for (int k = 0; k < width * height; ++k)
    weights.push_back(random.integer(-most, most));
  char name[64];
  std::snprintf(name, sizeof name, "integers-%dx%d-%d/%g", width, height, most, divisor);
  return typed_mask(name, width, height, std::move(weights), divisor);
}

/// Weights of one digit that add up to thousands: sums that no float holds become codes far beyond
/// the range.
TestMaskPtr large_gain(int width, int height) {
  Random random(static_cast<std::uint64_t>(width * height));
  std::vector<double> weights;
  for (int k = 0; k < width * height; ++k)
    weights.push_back((k == 0 ? 127 : random.integer(-127, 127)) * 0.244100881);
  return typed_mask("gain-" + std::to_string(width) + "x" + std::to_string(height), width, height,
                    std::move(weights));
}

std::vector<Scene> dense_scenes() {
  const std::vector<std::string> most = {"tensor-", "coarsened-", "basic"};
  const std::vector<std::string> all = {"tensor-",       "coarsened-",      "basic",
                                        "constant",      "tiled-output-32", "tiled-input-16",
                                        "cached-halo-16"};
  return {
      {typed_mask("3x3/16", 3, 3, {1, 2, 1, 2, 5, 2, 0, 2, 1}, 16), ways_of(most)},
      {typed_mask("3x3/15", 3, 3, {1, 2, 1, 2, 4, 1, 0, 2, 2}, 15), ways_of(all)},
      {typed_mask("3x2/10", 3, 2, {-1, 3, 4, 5, -2, 1}, 10), ways_of(most)},
      {parsed_mask("laplacian8"), ways_of(all)},
      {parsed_mask("prewitt-x"), ways_of(most)},
      {parsed_mask("scharr-y"), ways_of(most)},
      {random_integers(5, 5, 900, 2048), ways_of({"tensor-"})},
      {random_integers(4, 5, 500, 1001), ways_of({"tensor-"})},
      {random_integers(8, 9, 60, 300), ways_of({"tensor-"})},
      {random_integers(13, 12, 40, 512), ways_of({"tensor-"})},
      {random_integers(13, 12, 40, 333), ways_of({"tensor-"})},
      {random_mask(3, 3, Weights::kReal), ways_of(most)},
      {random_mask(9, 5, Weights::kReal), ways_of({"tensor-"})},
      {large_gain(27, 15), ways_of(most)},
  };
}

std::vector<Scene> other_scenes() {
  std::vector<double> huge(15, 1.3e13);
  for (std::size_t k = 1; k < huge.size(); k += 2)
    huge[k] = -1.3e13;
  huge[14] = 0.7;
  const std::vector<std::string> direct = {"coarsened-", "basic", "constant"};
  const std::vector<std::string> separable = {"separable-"}, weighted = {"weighted-"};
  std::vector<Scene> scenes = {
      {random_integers(4, 3, 30000, 65536), ways_of(direct)},
      {random_integers(4, 3, 3000000, 9000001), ways_of(direct)},
      {random_integers(3, 3, 30000, 74506), ways_of(direct)},
      {random_integers(5, 3, 30000, 99991), ways_of(direct)},
      // For samples of 10 and of 12 bits.
      {random_integers(3, 3, 30000, 30010), ways_of(direct)},
      {random_integers(3, 3, 9000, 8002), ways_of(direct)},
      // Where the two small weights meet equal codes the quotient is often a tie.
      {typed_mask("ties-3x3", 3, 3, {37253, 1, -37253, 0, 74506, -1, 0, 0, 0}, 74506),
       ways_of(direct)},
      // Balanced digits reach further down than 16 bits do (two digits) or 24 (three).
      {typed_mask("least-of-two", 3, 3, {0, 1, 0, 1, -32800, 1, 0, 1, 0}, 32805), ways_of(direct)},
      {typed_mask("least-of-three", 3, 3, {0, 1, 0, 1, -8400000, 1, 0, 1, 0}, 8400005),
       ways_of(direct)},
      {typed_mask("huge-5x3", 5, 3, std::move(huge)), ways_of(direct)},
      {random_mask(5, 4, Weights::kRational), ways_of(weighted)},
      {typed_mask("edge-3x3", 3, 3, {1, 0, -1, 2, 0, -2, 1, 0, -1}), ways_of(weighted)},
      {random_rank1_mask(30, 20, Weights::kRational), ways_of(weighted)},
      {parsed_mask("gaussian:2"), ways_of(separable)},
      {parsed_mask("gaussian:25"), ways_of(separable)},
      {parsed_mask("box:9,110"), ways_of(separable)},
      {parsed_mask("binomial:5"), ways_of(separable)},
      {random_rank1_mask(9, 8, Weights::kRational), ways_of(separable)},
      {random_rank1_mask(60, 150, Weights::kReal), ways_of(separable)},
  };
  for (const TestMaskPtr& mask :
       {box_mask(4, 4, Weights::kRational), box_mask(3, 5, Weights::kRational),
        box_mask(7, 6, Weights::kRational), box_mask(5, 3, Weights::kReal),
        typed_mask("equal-3x3/7", 3, 3, std::vector<double>(9, 2), 7)})
    scenes.push_back({mask, ways_of({"box-"})});
  for (const TestMaskPtr& mask : {tap_mask(3, 5, 2, 0, 1), tap_mask(4, 2, 0, 1, 3, 4),
                                  tap_mask(3, 3, 0, 2, 5, 7), tap_mask(3, 3, 2, 2, 0.7234567891)})
    scenes.push_back({mask, ways_of({"shift"})});
  return scenes;
}

struct Job {
  const Scene* scene;
  const NamedFormat* format;
  Channels channels;
};

/// True if fewer channels are filtered than with those before, or others.
bool filters_anything_new(const NamedFormat& format, Channels channels) {
  const auto filtered = [&format](Channels which) {
    const FrameFormat made = make_format(format, 4, 4, which);
    unsigned bits = 0;
    for (int p = 0; p < made.plane_count; ++p)
      for (int c = 0; c < made.planes[p].component_count; ++c)
        bits = 2 * bits + (made.planes[p].components[c].filtered ? 1 : 0);
    return bits;
  };
  if (filtered(channels) == 0) return false;
  for (int before = 0; before < static_cast<int>(channels); ++before)
    if (filtered(channels) == filtered(static_cast<Channels>(before))) return false;
  return true;
}

std::vector<Job> make_jobs(const std::vector<Scene>& scenes, const ClassArguments& arguments) {
  std::vector<Job> jobs;
  for (const Scene& scene : scenes)
    for (const NamedFormat& format : named_formats())
      for (int c = 0; c < kChannelsCount; ++c) {
        const auto channels = static_cast<Channels>(c);
        const bool weighted = scene.ways.front().options.alpha_mode == AlphaMode::kPremultiplied;
        if (!arguments.wants_any(scene.ways) || !filters_anything_new(format, channels)) continue;
        if (weighted && !has_weighted(make_format(format, 4, 4, channels))) continue;
        jobs.push_back({&scene, &format, channels});
      }
  return jobs;
}

/// All levels of a job, on pictures of one size.
void run_size(ClassWorker& worker, const Job& job, const ClassArguments& arguments, std::size_t s,
              std::size_t turn) {
  const FrameFormat frame =
      make_format(*job.format, kSizes[s].width, kSizes[s].height, job.channels);
  const std::string format =
      job.format->name + (job.channels == Channels::kAllButAlpha
                              ? std::string()
                              : std::string(":") + channels_name(job.channels));
  std::map<std::string, std::unique_ptr<Convolver>> kept;
  for (std::size_t l = 0; l < std::size(kLevels); ++l) {
    // The second picture takes turns; only the last has the columns that some ways want.
    if (s == 1 && (l + turn) % 3 != 0) continue;
    const Level level = kLevels[l];
    FrameCase frame_case(format, frame, job.scene->mask,
                         {level.scale, level.bias, kBorders[(turn + l) % std::size(kBorders)]},
                         job.scene->ways.front().options.alpha_mode, turn * 8 + l);
    if (!frame_case.make_truth(worker)) continue;
    for (const Way& way : job.scene->ways) {
      if (!arguments.wants(way)) continue;
      std::unique_ptr<Convolver>& convolver = kept[way.name];
      if (convolver == nullptr || !convolver->serves(level.scale, level.bias))
        convolver = frame_case.make_convolver(worker, way, frame);
      if (convolver == nullptr) continue;
      frame_case.run(worker,
                     way.name + " by " +
                         epilogue_class(frame, job.scene->mask->mask, convolver->plan(),
                                        level.scale, level.bias),
                     *convolver);
    }
  }
}

/// What must have run, by ways: each form that takes components which differ, with sums that
/// become codes in each way, and the other kernels with divisions and without.
std::map<std::string, int> wanted_classes(const ClassArguments& arguments) {
  std::map<std::string, int> wanted;
  const auto want = [&](const std::string& prefix, std::initializer_list<const char*> classes) {
    for (const Way& way : all_ways())
      if (way.name.rfind(prefix, 0) == 0 && arguments.wants(way))
        for (const char* name : classes)
          wanted[way.name + " by " + name] = 2;
  };
  for (const char* form : {"tensor-sliding", "tensor-columns", "tensor-tiles", "tensor-warpgroups"})
    want(form, {"bits", "float", "general", "bits, mixed", "float, mixed", "general, mixed",
                "general, mixed, of one start"});
  want("tensor-large-quads", {"bits", "float", "general"});
  want("tensor-octets", {"float", "general"});
  want("tensor-split-", {"split"});
  want("coarsened-float32", {"floats", "floats, mixed", "divided floats", "divided floats, mixed"});
  want("coarsened-float64", {"doubles", "divided doubles", "divided doubles, mixed"});
  want("coarsened-int32", {"divided doubles", "divided doubles, mixed"});
  want("coarsened-wide", {"doubles", "doubles, mixed"});
  want("coarsened-dots",
       {"bits", "float", "general", "bits, mixed", "float, mixed", "general, mixed"});
  want("basic", {"floats, mixed", "divided floats, mixed"});
  want("box-runs", {"quotients with ties, mixed"});
  want("box-strips", {"quotients with ties"});
  for (const char* form : {"tensor-pairs", "tensor-quads", "tensor-pixel-"})
    want(form, {"bits", "float", "general"});
  want("tensor-packed-",
       {"bits, mixed", "float, mixed", "general, mixed", "general, mixed, of one start"});
  want("box-bands", {"quotients with ties"});
  want("shift", {"floats, mixed", "divided floats, mixed"});
  want("separable-tensor-fused", {"float, mixed", "general, mixed"});
  want("weighted", {"weighted, mixed"});
  return wanted;
}

/// What an H100 would plan for the last size, which all ways serve.
PlannedFormats plans(const std::vector<Job>& jobs) {
  PlannedFormats planned;
  for (const Job& job : jobs)
    for (const Level& level : kLevels)
      for (const Way& way : job.scene->ways) {
        const FrameFormat frame =
            make_format(*job.format, kSizes[2].width, kSizes[2].height, job.channels);
        Options options = way.options;
        options.scale = level.scale;
        options.bias = level.bias;
        const auto plan = make_plan(frame, job.scene->mask->mask, options, h100());
        if (!plan.ok() || !way.has_form(plan.value()) || !way.planned(plan.value())) continue;
        planned[way.name + " by " +
                epilogue_class(frame, job.scene->mask->mask, plan.value(), level.scale, level.bias)]
            .insert(job.format->name);
      }
  return planned;
}

}  // namespace
}  // namespace convolve::testing

int main(int argc, char** argv) {
  using namespace convolve::testing;
  const ClassArguments arguments = parse_class_arguments(argc, argv);
  std::vector<Scene> scenes = dense_scenes();
  for (Scene& scene : other_scenes())
    scenes.push_back(std::move(scene));
  const std::vector<Job> jobs = make_jobs(scenes, arguments);
  if (arguments.list) return report_plans(plans(jobs), wanted_classes(arguments));
  return run_class(
      arguments, jobs.size(),
      [&]() -> ClassTask {
        return [&](ClassWorker& worker, std::size_t job) {
          for (std::size_t s = 0; s < std::size(kSizes); ++s)
            run_size(worker, jobs[job], arguments, s, job + s);
        };
      },
      // Every other case has all classes still.
      arguments.every > 2 || arguments.shards > 1 ? std::map<std::string, int>()
                                                  : wanted_classes(arguments));
}
