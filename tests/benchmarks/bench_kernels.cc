// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernels of the book side by side.
//
//   bench_kernels [--backend=cuda|cpu] [--kernel=NICK] [--side=K] [--picture=1080p|4k]
//                 [--seconds=S] [--commit=NAME] [--json=FILE]
//
// Prints Markdown; with --json also writes one JSON object a row. Every row takes about S seconds
// (default 0.5). Exit status: 0, 1 after a wrong result or a failed call, 2 bad usage or a build
// that must not be measured, 77 no GPU (1 if CUDACONVOLVE_REQUIRE_GPU=1).
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/benchmarks/frame_cases.h"
#include "tests/benchmarks/measure.h"
#include "tests/benchmarks/report.h"
#include "tests/benchmarks/targets.h"
#include "tests/benchmarks/verify.h"
#include "tests/kernels/access_count.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::benchmarks {
namespace {

constexpr int kSides[] = {3, 5, 7, 9, 15, 31};

struct PictureSize {
  const char* name;
  int width;
  int height;
};
constexpr PictureSize kPictures[] = {{"1080p", 1920, 1080}, {"4k", 3840, 2160}};

struct Arguments {
  BackendKind backend = BackendKind::kCuda;
  std::string kernel, picture, json, commit = "unknown";
  int side = 0;
  double seconds = 0.5;
};

bool parse_arguments(int argc, char** argv, Arguments* arguments) {
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return false;
    const std::string name = word.substr(0, equals);
    const std::string value = word.substr(equals + 1);
    if (word == "--backend=cuda")
      arguments->backend = BackendKind::kCuda;
    else if (word == "--backend=cpu")
      arguments->backend = BackendKind::kCpu;
    else if (name == "--kernel")
      arguments->kernel = value;
    else if (name == "--picture")
      arguments->picture = value;
    else if (name == "--side")
      arguments->side = std::atoi(value.c_str());
    else if (name == "--seconds")
      arguments->seconds = std::atof(value.c_str());
    else if (name == "--commit")
      arguments->commit = value;
    else if (name == "--json")
      arguments->json = value;
    else
      return false;
  }
  return true;
}

/// The book's formula for the reduction of global loads (Fig. 7.22), for an O_x x O_y tile.
double predicted_reduction(const Plan& plan, int side) {
  const double outputs = 1.0 * plan.tile_width * plan.tile_height;
  const double inputs = 1.0 * (plan.tile_width + side - 1) * (plan.tile_height + side - 1);
  return outputs * side * side / inputs;
}

/// One kernel, picture and mask.
class Measurement {
 public:
  Measurement(Target& target, const Arguments& arguments, double fma_rate)
      : target_(target), arguments_(arguments), fma_rate_(fma_rate) {}

  /// Fills in `row`; false after a wrong result or a failed call, which it prints.
  bool run(const FrameFormat& format, const Mask& mask, const SampledTruth& truth, Row& row) {
    auto device = target_.open();
    if (!device.ok()) return fail(row, device.status().message());
    Options options;
    options.kernel = row.kernel;
    auto convolver = Convolver::create(format, mask, options, device.value());
    if (!convolver.ok()) {
      row.plan = convolver.status().message();
      return convolver.status().code() == Code::kUnsupported || fail(row, row.plan);
    }
    const Plan& plan = convolver.value()->plan();
    row.plan = plan.to_string();
    const FrameWork work = [&](const FrameView& src, const FrameView& dst) {
      return convolver.value()->run(src, dst, RunArguments{}).ok();
    };
    if (!target_.load(work, *device.value())) return fail(row, "the frames could not be prepared");
    if (target_.time_frames() < 0) return fail(row, "the frames could not be run");
    const std::vector<std::uint8_t> output = target_.first_output();
    if (output.empty() || !truth.holds(output.data())) return fail(row, "WRONG RESULT");
    if (!take_times(target_, arguments_.seconds, &row.time, &row.copy))
      return fail(row, "a batch failed");
    row.served = true;
    if (fma_rate_ > 0) {
      const double taps = plan.passes() != Passes::kDirect ? mask.width + mask.height
                                                           : static_cast<double>(mask.taps());
      row.floor = 1e6 * taps * row.width * row.height / fma_rate_;
    }
    if (plan.kernel() == KernelKind::kTiledInput || plan.kernel() == KernelKind::kTiledOutput) {
      row.predicted_reduction = predicted_reduction(plan, row.side);
      row.counted_reduction =
          testing::count_accesses({plan.tile_width, plan.tile_height, row.side, row.side})
              .reduction();
    }
    return true;
  }

 private:
  static bool fail(const Row& row, const std::string& what) {
    std::fprintf(stderr, "FAIL %s %s %dx%d: %s\n", row.picture.c_str(),
                 kernel_info(row.kernel).nick, row.side, row.side, what.c_str());
    return false;
  }

  Target& target_;
  const Arguments& arguments_;
  double fma_rate_;
};

bool measure_all(const Arguments& arguments, Target& target, double fma_rate,
                 std::vector<Row>* rows) {
  Measurement measurement(target, arguments, fma_rate);
  bool good = true;
  for (const PictureSize& picture : kPictures) {
    if (!arguments.picture.empty() && arguments.picture != picture.name) continue;
    const FrameFormat format =
        testing::make_format(testing::Arrangement::kPacked1, testing::kU8, testing::Levels::kFull,
                             picture.width, picture.height);
    const std::vector<std::uint8_t> noise =
        make_noise(static_cast<std::size_t>(picture.width) * picture.height + (1 << 20));
    if (!target.lay_out(format, noise)) {
      std::fprintf(stderr, "FAIL no memory for %s\n", picture.name);
      return false;
    }
    for (const int side : kSides) {
      if (arguments.side != 0 && arguments.side != side) continue;
      // Of rank 1, so that separable runs the same mask as the others.
      const testing::TestMaskPtr mask = make_mask(MaskKind::kRank1, side).mask;
      const SampledTruth truth(noise.data(), format, mask->mask, RunArguments{});
      for (const testing::KernelOn& which : testing::all_kernels()) {
        if (which.backend != arguments.backend) continue;
        if (!arguments.kernel.empty() && arguments.kernel != kernel_info(which.kernel).nick)
          continue;
        Row row;
        row.picture = picture.name;
        row.width = picture.width;
        row.height = picture.height;
        row.side = side;
        row.kernel = which.kernel;
        good = measurement.run(format, mask->mask, truth, row) && good;
        rows->push_back(row);
      }
    }
  }
  return good && !rows->empty();
}

int run(const Arguments& arguments) {
  int status = 0;
  const std::unique_ptr<Target> target = open_target(arguments.backend, &status);
  if (target == nullptr) return status;
  const Setting setting = setting_of(*target, arguments.backend, arguments.commit);
  std::vector<Row> rows;
  const bool good = measure_all(arguments, *target, setting.fma_rate, &rows);
  return publish(setting, rows, arguments.json) && good ? 0 : 1;
}

}  // namespace
}  // namespace convolve::benchmarks

int main(int argc, char** argv) {
  convolve::benchmarks::Arguments arguments;
  if (!convolve::benchmarks::parse_arguments(argc, argv, &arguments)) {
    std::fprintf(stderr,
                 "usage: bench_kernels [--backend=cuda|cpu] [--kernel=NICK] [--side=K] "
                 "[--picture=1080p|4k] [--seconds=S] [--commit=NAME] [--json=FILE]\n");
    return 2;
  }
  return convolve::benchmarks::run(arguments);
}
