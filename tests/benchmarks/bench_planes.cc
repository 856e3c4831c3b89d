// SPDX-License-Identifier: LGPL-2.1-or-later
// What a user waits for: whole frames of common formats through masks of every kind.
//
//   bench_planes [--backend=cuda|cpu] [--formats=LIST] [--sizes=LIST] [--kinds=LIST]
//                [--sides=LIST] [--kernels=LIST] [--npp=yes|no] [--seconds=S] [--commit=NAME]
//                [--json=FILE]
//
// Lists have commas: --formats=GRAY8,NV12 --sizes=4k,640x480 --kinds=rational,box --sides=3,31
// --kernels=auto,coarsened (default: auto). Beside 8-bit grey with rational masks stands NVIDIA's
// NPP, in 4K, if the machine has it. Prints Markdown; with --json also writes one JSON object a
// row. Every row takes about S seconds (default 0.1) and the check of its result. Exit status: 0, 1
// after a wrong result or a failed call, 2 bad usage or a build that must not be measured, 77 no
// GPU (1 if CUDACONVOLVE_REQUIRE_GPU=1).
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/benchmarks/frame_cases.h"
#include "tests/benchmarks/frame_report.h"
#include "tests/benchmarks/frames.h"
#include "tests/benchmarks/measure.h"
#include "tests/benchmarks/npp.h"
#include "tests/benchmarks/targets.h"
#include "tests/benchmarks/verify.h"
#include "tests/kernels/devices.h"

namespace convolve::benchmarks {
namespace {

constexpr int kSmallestSide = 3;
/// The one format and size that NPP is measured with.
constexpr const char* kNppFormat = "GRAY8";
constexpr const char* kNppSize = "4k";
/// Codes: NPP sums in FP32 and promises no rounding.
constexpr int kNppSlack = 1;

struct Arguments {
  BackendKind backend = BackendKind::kCuda;
  std::vector<FormatCase> formats{std::begin(kFormats), std::end(kFormats)};
  std::vector<SizeCase> sizes{std::begin(kSizes), std::end(kSizes)};
  std::vector<MaskKind> kinds;
  std::vector<int> sides{std::begin(kMaskSides), std::end(kMaskSides)};
  std::vector<KernelKind> kernels{KernelKind::kAuto};
  bool npp = true;
  std::string json, commit = "unknown";
  double seconds = 0.1;
};

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> words(1);
  for (const char c : list)
    if (c == ',')
      words.emplace_back();
    else
      words.back() += c;
  return words;
}

/// What the words of `list` name among `known`; empty if one names nothing.
template <class Known, class Name>
std::vector<typename Known::value_type> chosen(const std::string& list, const Known& known,
                                               Name&& name) {
  std::vector<typename Known::value_type> result;
  for (const std::string& word : words_of(list)) {
    const std::size_t before = result.size();
    for (const auto& item : known)
      if (name(item) == word) result.push_back(item);
    if (result.size() == before) return {};
  }
  return result;
}

std::vector<MaskKind> all_kinds() {
  std::vector<MaskKind> kinds;
  for (int k = 0; k < kMaskKindCount; ++k)
    kinds.push_back(static_cast<MaskKind>(k));
  return kinds;
}

std::vector<KernelKind> kernels_of(BackendKind backend) {
  std::vector<KernelKind> kernels;
  for (const KernelInfo& info : kKernels)
    if (backend == BackendKind::kCuda ? info.on_cuda : info.on_cpu) kernels.push_back(info.kind);
  return kernels;
}

std::vector<int> sides_of(const std::string& list) {
  std::vector<int> sides;
  for (const std::string& word : words_of(list)) {
    sides.push_back(std::atoi(word.c_str()));
    if (sides.back() < kSmallestSide || sides.back() > kMaxMaskSide) return {};
  }
  return sides;
}

bool parse_argument(const std::string& name, const std::string& value, Arguments* arguments) {
  const Arguments all;
  if (name == "--backend") {
    arguments->backend = value == "cpu" ? BackendKind::kCpu : BackendKind::kCuda;
    return value == "cpu" || value == "cuda";
  }
  if (name == "--formats") {
    arguments->formats = chosen(value, all.formats, [](const FormatCase& f) { return f.name; });
    return !arguments->formats.empty();
  }
  if (name == "--sizes") {
    arguments->sizes = chosen(value, all.sizes, [](const SizeCase& s) { return s.name; });
    return !arguments->sizes.empty();
  }
  if (name == "--kinds") {
    arguments->kinds = chosen(value, all_kinds(), mask_kind_name);
    return !arguments->kinds.empty();
  }
  if (name == "--sides") {
    arguments->sides = sides_of(value);
    return !arguments->sides.empty();
  }
  if (name == "--kernels") {
    arguments->kernels = chosen(value, kernels_of(arguments->backend),
                                [](KernelKind kind) { return kernel_info(kind).nick; });
    return !arguments->kernels.empty();
  }
  if (name == "--npp") {
    arguments->npp = value == "yes";
    return value == "yes" || value == "no";
  }
  if (name == "--seconds") {
    arguments->seconds = std::atof(value.c_str());
    return arguments->seconds > 0;
  }
  if (name == "--commit")
    arguments->commit = value;
  else if (name == "--json")
    arguments->json = value;
  else
    return false;
  return true;
}

bool parse_arguments(int argc, char** argv, Arguments* arguments) {
  arguments->kinds = all_kinds();
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos ||
        !parse_argument(word.substr(0, equals), word.substr(equals + 1), arguments)) {
      std::fprintf(stderr, "bench_planes: what is %s?\n", word.c_str());
      return false;
    }
  }
  return true;
}

double filtered_samples(const FrameFormat& format) {
  double samples = 0;
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c) {
      const Component& component = format.planes[p].components[c];
      if (component.filtered) samples += 1.0 * component.width * component.height;
    }
  return samples;
}

/// Multiply-adds that `plan` takes for a sample: box adds and subtracts only.
double taps_of(const Mask& mask, const Plan& plan) {
  if (plan.kernel == KernelKind::kBox) return 0;
  return plan.passes() == Passes::kRowColumn ? mask.width + mask.height
                                             : static_cast<double>(mask.taps());
}

/// All rows of one format and size, whose frames the target holds.
class Measurement {
 public:
  Measurement(Target& target, const Arguments& arguments, double fma_rate, Npp* npp,
              const FrameFormat& format, const std::vector<std::uint8_t>& noise,
              std::vector<FrameRow>* rows)
      : target_(target),
        arguments_(arguments),
        fma_rate_(fma_rate),
        npp_(npp),
        format_(format),
        noise_(noise),
        rows_(rows) {}

  /// One mask through every kernel. `row` says which. False after a wrong result or a failed call.
  bool run(MaskKind kind, FrameRow row) {
    const MaskCase tested = make_mask(kind, row.side);
    const Mask& mask = tested.mask->mask;
    const RunArguments how{1, tested.bias, Border::kReplicate};
    const SampledTruth truth(noise_.data(), format_, mask, how);
    bool good = true;
    for (const KernelKind kernel : arguments_.kernels) {
      row.kernel = kernel_info(kernel).nick;
      good = run_ours(kernel, mask, how, truth, row) && good;
    }
    if (npp_ != nullptr && kind == MaskKind::kRational) {
      row.kernel = "npp";
      run_npp(mask, truth, row);
    }
    return good;
  }

 private:
  bool run_ours(KernelKind kernel, const Mask& mask, const RunArguments& how,
                const SampledTruth& truth, FrameRow row) {
    auto device = target_.open();
    if (!device.ok()) return fail(row, device.status().message());
    Options options;
    options.kernel = kernel;
    options.bias = how.bias;
    auto convolver = Convolver::create(format_, mask, options, device.value());
    if (!convolver.ok()) {
      row.plan = convolver.status().message();
      if (convolver.status().code() != Code::kUnsupported) return fail(row, row.plan);
      rows_->push_back(row);
      return true;
    }
    const Plan& plan = convolver.value()->plan();
    row.plan = plan.to_string();
    const FrameWork work = [&](const FrameView& src, const FrameView& dst) {
      return convolver.value()->run(src, dst, how).ok();
    };
    if (!target_.load(work, *device.value())) return fail(row, "the frames could not be prepared");
    if (target_.time_frames() < 0) return fail(row, "the frames could not be run");
    const std::vector<std::uint8_t> output = target_.first_output();
    if (output.empty() || !truth.holds(output.data())) return fail(row, "WRONG RESULT");
    if (fma_rate_ > 0) row.floor = 1e6 * taps_of(mask, plan) * row.samples / fma_rate_;
    if (!take_times(target_, arguments_.seconds, &row.time, &row.copy))
      return fail(row, "a batch failed");
    row.served = true;
    rows_->push_back(row);
    return true;
  }

  /// What NPP cannot or does wrong is said in its row and is no failure of ours.
  void run_npp(const Mask& mask, const SampledTruth& truth, FrameRow row) {
    row.plan = npp_->description();
    row.plan += try_npp(mask, truth, row);
    rows_->push_back(row);
  }

  /// Fills in `row` if all went well; returns what there is to say.
  std::string try_npp(const Mask& mask, const SampledTruth& truth, FrameRow& row) {
    auto device = target_.open();
    if (!device.ok()) return ": " + device.status().message();
    const FrameWork work = [&](const FrameView& src, const FrameView& dst) {
      return npp_->filter(src, dst);
    };
    if (!npp_->load(mask, device.value()->native_stream()) ||
        !target_.load(work, *device.value()) || target_.time_frames() < 0)
      return ": could not be run";
    const std::vector<std::uint8_t> output = target_.first_output();
    if (output.empty()) return ": no output";
    const int error = truth.largest_error(output.data());
    if (error > kNppSlack) return ": wrong by up to " + std::to_string(error);
    row.served = take_times(target_, arguments_.seconds, &row.time, &row.copy);
    if (!row.served) return ": a batch failed";
    return ", at most " + std::to_string(error) + " from the right code";
  }

  static bool fail(const FrameRow& row, const std::string& what) {
    std::fprintf(stderr, "FAIL %s %s %s %s %dx%d: %s\n", row.format.c_str(), row.size.c_str(),
                 row.kernel.c_str(), row.kind.c_str(), row.side, row.side, what.c_str());
    return false;
  }

  Target& target_;
  const Arguments& arguments_;
  double fma_rate_;
  Npp* npp_;
  const FrameFormat& format_;
  const std::vector<std::uint8_t>& noise_;
  std::vector<FrameRow>* rows_;
};

bool measure_all(const Arguments& arguments, Target& target, double fma_rate, Npp* npp,
                 std::vector<FrameRow>* rows) {
  bool good = true;
  for (const FormatCase& tested : arguments.formats)
    for (const SizeCase& size : arguments.sizes) {
      const FrameFormat format = testing::make_format(tested.arrangement, tested.samples,
                                                      tested.levels, size.width, size.height);
      FrameRow row;
      row.format = tested.name;
      row.size = size.name;
      row.width = size.width;
      row.height = size.height;
      row.bytes = packed_bytes(format);
      row.samples = filtered_samples(format);
      const std::vector<std::uint8_t> noise = make_noise(row.bytes + (1 << 20));
      if (!target.lay_out(format, noise)) {
        std::fprintf(stderr, "FAIL no memory for %s %s\n", tested.name, size.name);
        return false;
      }
      const bool with_npp = row.format == kNppFormat && row.size == kNppSize;
      Measurement measurement(target, arguments, fma_rate, with_npp ? npp : nullptr, format, noise,
                              rows);
      for (const MaskKind kind : arguments.kinds)
        for (const int side : arguments.sides) {
          row.kind = mask_kind_name(kind);
          row.side = side;
          good = measurement.run(kind, row) && good;
        }
    }
  return good && !rows->empty();
}

int run(const Arguments& arguments) {
  int status = 0;
  const std::unique_ptr<Target> target = open_target(arguments.backend, &status);
  if (target == nullptr) return status;
  std::string why;
  const bool wanted = arguments.backend == BackendKind::kCuda && arguments.npp;
  const std::unique_ptr<Npp> npp = wanted ? open_npp(&why) : nullptr;
  if (wanted && npp == nullptr) std::fprintf(stderr, "no rows of NPP: %s\n", why.c_str());
  const Setting setting = setting_of(*target, arguments.backend, arguments.commit);
  std::vector<FrameRow> rows;
  const bool good = measure_all(arguments, *target, setting.fma_rate, npp.get(), &rows);
  return publish(setting, rows, arguments.json) && good ? 0 : 1;
}

}  // namespace
}  // namespace convolve::benchmarks

int main(int argc, char** argv) {
  convolve::benchmarks::Arguments arguments;
  if (!convolve::benchmarks::parse_arguments(argc, argv, &arguments)) {
    std::fprintf(stderr,
                 "usage: bench_planes [--backend=cuda|cpu] [--formats=LIST] [--sizes=LIST] "
                 "[--kinds=LIST] [--sides=LIST] [--kernels=LIST] [--npp=yes|no] [--seconds=S] "
                 "[--commit=NAME] [--json=FILE]\n");
    return 2;
  }
  return convolve::benchmarks::run(arguments);
}
