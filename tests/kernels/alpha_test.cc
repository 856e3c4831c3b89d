// SPDX-License-Identifier: LGPL-2.1-or-later
// Colour weighted by alpha, on every layout with alpha, against the exact reference.
//
//   alpha_test [--backend=cpu|cuda] [--quick]
//
// Exit status: 0 all passed, 1 failures, 2 bad usage, 77 no GPU (a failure if the environment says
// CUDACONVOLVE_REQUIRE_GPU=1). The last line reads "N passed, N failed".
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/reference/weighted.h"
#include "tests/kernels/alpha_layouts.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/compare.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/runner.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr int kExitSkipped = 77;
constexpr std::size_t kFailuresShown = 20;

const std::vector<Border> kBorders = {Border::kReplicate, Border::kZero, Border::kReflect,
                                      Border::kMirror, Border::kWrap};

struct Size {
  int width;
  int height;
};

/// One frame: a layout, a picture, a mask, and how it is laid on.
struct Scene {
  const AlphaLayout& layout;
  TestMaskPtr mask;
  Size size;
  AlphaFill alpha;
  Border border = Border::kReplicate;
  bool filter_alpha = false;
  double scale = 1;
  double bias = 0;
  int spare = 0;  ///< The convolver is planned for a frame this many rows and columns larger.
  Fill colours = Fill::kRandom;

  std::string name() const {
    return std::string(layout.name) + " " + mask->name + " " + std::to_string(size.width) + "x" +
           std::to_string(size.height) + " " + alpha_fill_name(alpha) + " " + border_name(border) +
           (filter_alpha ? " alpha-filtered" : "") + " scale " + std::to_string(scale);
  }
};

/// The frame of a scene and the truth of each of its components.
struct Answers {
  GuardedFrame source;
  std::vector<ReferenceResult> truth;
};

Answers make_answers(const Scene& scene, const FrameFormat& format) {
  Answers answers{GuardedFrame(format, scene.size.width % 4, scene.size.height % 2 == 1), {}};
  const RunArguments arguments{scene.scale, scene.bias, scene.border};
  const AlphaLocation place = find_alpha(format).value_or(AlphaLocation{});
  const Component& alpha_rule = format.planes[place.plane].components[place.component];
  const Picture alpha = make_alpha(scene.alpha, alpha_rule);
  int index = 0;
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c, ++index) {
      const Component& component = format.planes[p].components[c];
      const bool is_alpha = component.role == Role::kAlpha;
      const Picture input = is_alpha ? alpha : make_picture(scene.colours, component, index);
      encode_component(input, answers.source.view(), p, c);
      if (is_alpha) {
        answers.truth.push_back(
            component.filtered ? reference_filter(input, component, scene.mask->mask, arguments)
                               : ReferenceResult{});
        continue;
      }
      const bool half = component.width != alpha.width || component.height != alpha.height;
      answers.truth.push_back(reference_filter_weighted(
          input, half ? subsample(alpha, 2, 2, component.width, component.height) : alpha,
          alpha_rule.max_code(), component, scene.mask->mask, arguments));
    }
  return answers;
}

class Suite {
 public:
  explicit Suite(std::vector<std::shared_ptr<Device>> devices) : devices_(std::move(devices)) {}

  /// Runs `scene` on every device, by the planner's choice and forced to kernel=basic.
  void check(const Scene& scene) {
    const auto format =
        make_format(scene.layout, scene.size.width, scene.size.height, scene.filter_alpha);
    const Answers answers = make_answers(scene, format);
    for (const KernelKind kernel : {KernelKind::kAuto, KernelKind::kBasic}) {
      if (kernel == KernelKind::kBasic && !scene.mask->mask.dense()) continue;
      const auto& device = devices_[next_device_++ % devices_.size()];
      const std::string fault = run(scene, format, answers, kernel, device);
      note(fault, scene.name() + (kernel == KernelKind::kBasic ? " basic" : ""));
    }
  }

  /// A picture without a transparent pixel is filtered as if it had no alpha, bit for bit.
  void check_opaque(const Scene& scene) {
    const auto format = make_format(scene.layout, scene.size.width, scene.size.height, false);
    const Answers answers = make_answers(scene, format);
    GuardedFrame weighted(format, 0, false), straight(format, 0, false);
    std::string fault;
    for (const AlphaMode mode : {AlphaMode::kPremultiplied, AlphaMode::kStraight}) {
      Options options;
      options.alpha_mode = mode;
      GuardedFrame& output = mode == AlphaMode::kStraight ? straight : weighted;
      auto convolver = Convolver::create(format, scene.mask->mask, options, devices_.front());
      Status status = convolver.ok() ? convolver.value()->run(answers.source.view(), output.view(),
                                                              {1, 0, scene.border})
                                     : convolver.status();
      if (status.ok()) status = devices_.front()->finish();
      if (!status.ok()) fault = status.message();
    }
    if (fault.empty() && weighted.bytes() != straight.bytes()) fault = "differs from straight";
    note(fault, scene.name() + " opaque");
  }

  /// Kernels that would not weight colour are refused by name, on the ground `alpha`.
  void check_refusals() {
    const FrameFormat format = make_format(alpha_layouts().front(), 8, 8, false);
    const TestMaskPtr mask = random_rank1_mask(3, 3, Weights::kRational);
    const auto& device = devices_.front();
    const bool cuda = device->capabilities().backend == BackendKind::kCuda;
    for (const KernelInfo& info : kKernels) {
      if (!has_kernel(cuda ? BackendKind::kCuda : BackendKind::kCpu, info.kind)) continue;
      Options options;
      options.alpha_mode = AlphaMode::kPremultiplied;
      options.kernel = info.kind;
      const auto convolver = Convolver::create(format, mask->mask, options, device);
      const bool serves = info.kind == KernelKind::kAuto || info.kind == KernelKind::kBasic;
      std::string fault;
      if (convolver.ok() != serves) fault = serves ? convolver.status().message() : "not refused";
      if (!serves && !convolver.ok() &&
          (convolver.status().message().find(": alpha: ") == std::string::npos ||
           convolver.status().message().find("these can: basic") == std::string::npos))
        fault = "refused with the words: " + convolver.status().message();
      note(fault, std::string("kernel=") + info.nick);
    }
  }

  /// Formats without alpha, or without filtered colour, are planned as in mode straight.
  void check_without_alpha() {
    FrameFormat alpha_only = make_format(alpha_layouts().front(), 8, 8, true);
    for (Component& component : alpha_only.planes[0].components)
      component.filtered = component.role == Role::kAlpha;
    for (const FrameFormat& format :
         {make_format(Arrangement::kXrgb, kU8, Levels::kFull, 8, 8),
          make_format(Arrangement::kI420, kU8, Levels::kLimited, 8, 8), alpha_only}) {
      Options straight, weighted;
      weighted.alpha_mode = AlphaMode::kPremultiplied;
      const Mask mask = random_mask(3, 3, Weights::kRational)->mask;
      const auto a = Convolver::create(format, mask, straight, devices_.front());
      const auto b = Convolver::create(format, mask, weighted, devices_.front());
      note(a.ok() && b.ok() && a.value()->plan() == b.value()->plan() ? "" : "another plan",
           "no colour with alpha");
    }
  }

  int report(double seconds) const {
    for (const std::string& failure : failures_)
      std::printf("FAIL %s\n", failure.c_str());
    std::printf("%s: %lld samples, %lld differing, %lld neighbours, %.1f seconds\n",
                backend_name(devices_.front()->capabilities().backend),
                static_cast<long long>(total_.samples), static_cast<long long>(total_.wrong),
                static_cast<long long>(total_.neighbours), seconds);
    std::printf("%lld passed, %lld failed\n", static_cast<long long>(passed_),
                static_cast<long long>(failed_));
    return failed_ == 0 && passed_ > 0 ? 0 : 1;
  }

 private:
  /// What is wrong, or nothing.
  std::string run(const Scene& scene, const FrameFormat& format, const Answers& answers,
                  KernelKind kernel, const std::shared_ptr<Device>& device) {
    Options options;
    options.kernel = kernel;
    options.scale = scene.scale;
    options.bias = scene.bias;
    options.alpha_mode = AlphaMode::kPremultiplied;
    const FrameFormat planned = make_format(scene.layout, scene.size.width + scene.spare,
                                            scene.size.height + scene.spare, scene.filter_alpha);
    const auto convolver = Convolver::create(planned, scene.mask->mask, options, device);
    if (!convolver.ok()) return convolver.status().message();
    const Plan& plan = convolver.value()->plan();
    if (!plan.weighted) return "the plan weights nothing: " + plan.to_string();

    const GuardedFrame::Bytes before = answers.source.bytes();
    GuardedFrame output(format, scene.size.height % 4, scene.size.width % 3 == 1);
    Status status = convolver.value()->run(answers.source.view(), output.view(),
                                           {scene.scale, scene.bias, scene.border});
    if (status.ok()) status = device->finish();
    if (!status.ok()) return status.message();
    Comparison result;
    std::size_t index = 0;
    for (int p = 0; p < format.plane_count; ++p)
      for (int c = 0; c < format.planes[p].component_count; ++c, ++index) {
        const Component& component = format.planes[p].components[c];
        const ReferenceResult& truth = answers.truth[index];
        if (component.filtered && truth.rational != plan.rational)
          return "the plan's class is not the reference's: " + plan.to_string();
        result.add(component.filtered ? compare_component(output.view(), p, c, truth.samples)
                                      : compare_copied(output.view(), answers.source.view(), p, c));
      }
    total_.add(result);
    if (result.wrong > 0)
      return std::to_string(result.wrong) + " of " + std::to_string(result.samples) +
             " samples differ, first " + result.first_wrong + " [" + plan.to_string() + "]";
    if (!output.guards_intact()) return "wrote outside its rows";
    if (before != answers.source.bytes()) return "changed its source";
    return {};
  }

  void note(const std::string& fault, const std::string& name) {
    ++(fault.empty() ? passed_ : failed_);
    if (!fault.empty() && failures_.size() < kFailuresShown)
      failures_.push_back(name + ": " + fault);
  }

  std::vector<std::shared_ptr<Device>> devices_;
  std::size_t next_device_ = 0;
  std::int64_t passed_ = 0;
  std::int64_t failed_ = 0;
  Comparison total_;
  std::vector<std::string> failures_;
};

/// Sums of both signs, of zero and below it; ties; sums beyond what a double holds; factors.
std::vector<TestMaskPtr> small_masks() {
  return {
      parsed_mask("identity"),
      parsed_mask("box:3"),
      typed_mask("ties-4x4", 4, 4, std::vector<double>(16, 1), 32),
      parsed_mask("sharpen"),
      parsed_mask("sobel-x"),
      parsed_mask("emboss"),
      parsed_mask("binomial:9"),
      typed_mask("negative-3x1", 3, 1, {-1, -2, -1}, 4),
      typed_mask("below-zero", 3, 3, {1, -2, 1, -2, 1, -2, 1, -2, 1}),
      typed_mask("nothing-2x2", 2, 2, {0, 0, 0, 0}),
      random_mask(4, 3, Weights::kRational),
      random_mask(1, 15, Weights::kRational),
      random_mask(15, 1, Weights::kReal),
      random_mask(5, 5, Weights::kReal),
      random_rank1_mask(7, 7, Weights::kRational),
      random_rank1_mask(9, 5, Weights::kReal),
      parsed_mask("gaussian:1.5"),
      parsed_mask("unsharp:1.5,0.6"),
      parsed_mask("log:1.4"),
      typed_mask("cancelling", 5, 1, {-3.14159265358979, 1.7, 0.3, 1.7, 3.14159265358979 - 3.9}),
      anchored(random_mask(4, 3, Weights::kReal), 3, 0),
  };
}

void check_matrix(Suite& suite, bool quick) {
  std::vector<Size> sizes = {{1, 1}, {2, 3}, {7, 5}, {17, 1}};
  if (!quick) sizes.push_back({37, 23});
  int turn = 0;
  for (const AlphaLayout& layout : alpha_layouts())
    for (const TestMaskPtr& mask : small_masks())
      for (const Size size : sizes)
        for (const Border border : kBorders) {
          // All alphas on one size; the others take turns.
          const bool all = size.width == 7 && !quick;
          for (int fill = 0; fill < (all ? kAlphaFillCount : 1); ++fill, ++turn)
            suite.check({layout, mask, size,
                         static_cast<AlphaFill>(all ? fill : turn % kAlphaFillCount), border,
                         turn % 3 == 0});
        }
}

void check_scales(Suite& suite) {
  const struct {
    double scale, bias;
  } values[] = {{0.5, 0.25}, {-1, 1}, {0.7234567891, 0.1}, {0, 0.5}, {1024, -0.25}, {1. / 3, 0}};
  for (const AlphaLayout& layout : alpha_layouts())
    for (const TestMaskPtr& mask : {parsed_mask("sobel-x"), parsed_mask("box:3"),
                                    random_mask(5, 5, Weights::kReal), parsed_mask("laplacian")})
      for (const auto& value : values)
        suite.check({layout,
                     mask,
                     {19, 11},
                     AlphaFill::kRandom,
                     Border::kMirror,
                     true,
                     value.scale,
                     value.bias});
}

/// More taps than the picture has pixels, sums beyond 2^53, masks that are kept as factors.
void check_large_masks(Suite& suite, bool quick) {
  std::vector<TestMaskPtr> masks = {random_mask(31, 31, Weights::kRational),
                                    random_rank1_mask(33, 41, Weights::kRational),
                                    parsed_mask("gaussian:7"), parsed_mask("unsharp:5")};
  if (!quick) {
    for (const char* text : {"gaussian:60", "box:300", "binomial:40"})
      masks.push_back(parsed_mask(text));
  }
  int turn = 0;
  for (const AlphaLayout& layout : alpha_layouts())
    for (const TestMaskPtr& mask : masks)
      for (const Size size : {Size{5, 3}, Size{21, 13}}) {
        if (mask->mask.taps() > 5000 && size.width > 5) continue;
        suite.check({layout, mask, size, static_cast<AlphaFill>(turn % kAlphaFillCount),
                     kBorders[static_cast<std::size_t>(turn / 2) % kBorders.size()]});
        ++turn;
      }
}

/// Wide and tall enough for several strips, bands and tiles, at all residues of vectors.
void check_extents(Suite& suite, bool quick) {
  for (const TestMaskPtr& mask : {random_mask(5, 5, Weights::kRational), parsed_mask("gaussian:2")})
    for (const char* name : {"rgba", "rgba64", "a420"})
      for (const AlphaLayout& layout : alpha_layouts()) {
        if (std::strcmp(layout.name, name) != 0) continue;
        suite.check({layout, mask, {801, 9}, AlphaFill::kSparse, Border::kWrap});
        suite.check({layout, mask, {13, 203}, AlphaFill::kEdge, Border::kReflect});
        if (quick) continue;
        for (int width = 30; width < 66; ++width)
          suite.check({layout, mask, {width, 6}, AlphaFill::kRandom, Border::kZero});
      }
}

void check_fields(Suite& suite) {
  for (const AlphaLayout& layout : alpha_layouts())
    for (const int spare : {2, 40}) {
      Scene scene{layout, random_mask(5, 5, Weights::kRational), {22, 14}, AlphaFill::kRandom};
      scene.spare = spare;
      suite.check(scene);
    }
}

/// Sums that double cannot tell: whole ones beyond 2^53 that are ties, and real ones whose alpha
/// cancels, so that rounding errors are as large as what is left. Rows are of one colour, so that
/// the quotient is that colour all the same.
void check_hard_sums(Suite& suite) {
  constexpr double kPi = 3.14159265358979312;
  constexpr double kHair = 3 * kPi + 1e-10;
  const double dust = std::nextafter(3 * kPi, 10);
  const struct {
    TestMaskPtr mask;
    double scale;
  } cases[] = {
      {typed_mask("ties-3x1", 3, 1, {4194305, 4194303, 4194305}, 2 * 12582913.0), 1},
      {typed_mask("ties-both-signs", 3, 1, {-4194305, 12582913, -4194303}, 2 * 4194305.0), 1},
      {typed_mask("ties-below-zero", 3, 1, {-4194305, -4194303, -4194305}, 2 * 12582913.0), -1},
      {typed_mask("hair", 3, 1, {-kPi, kHair, kPi}), 0.3 / kHair},
      {typed_mask("hair-below-zero", 3, 1, {kPi, -kHair, -kPi}), -0.3 / kHair},
      {anchored(typed_mask("hair-aside", 3, 1, {-kPi, kHair, -kPi}), 2, 0), 0.3 / kPi},
      {typed_mask("dust", 3, 1, {-kPi, dust, kPi}), 0.3 / dust},
  };
  for (const AlphaLayout& layout : alpha_layouts())
    for (const auto& row : cases)
      for (const AlphaFill alpha : {AlphaFill::kSteps, AlphaFill::kRandom, AlphaFill::kSparse})
        for (const Border border : {Border::kReplicate, Border::kZero}) {
          Scene scene{layout, row.mask, {25, 12}, alpha, border, false, row.scale};
          scene.colours = Fill::kConstantRows;
          suite.check(scene);
        }
}

void check_opaque(Suite& suite) {
  for (const AlphaLayout& layout : alpha_layouts())
    for (const TestMaskPtr& mask : small_masks()) {
      if (!mask->mask.rational) continue;
      for (const Border border : kBorders) {
        // Ghost cells of alpha 0 do not darken the margin, and that is another result than
        // straight's.
        if (border == Border::kZero && !weight_totals(mask->mask).zero_sum) continue;
        suite.check_opaque({layout, mask, {23, 15}, AlphaFill::kOpaque, border});
      }
    }
}

Result<std::vector<std::shared_ptr<Device>>> open_devices(BackendKind backend) {
  std::vector<std::shared_ptr<Device>> devices;
  for (const int threads : {1, 3}) {
    DeviceOptions options;
    options.threads = threads;
    auto device = open_device(backend, options);
    if (!device.ok()) return device.status();
    devices.push_back(std::move(device.value()));
    if (backend == BackendKind::kCuda) break;
  }
  return devices;
}

int run(BackendKind backend, bool quick) {
  const auto start = std::chrono::steady_clock::now();
  auto devices = open_devices(backend);
  if (!devices.ok()) {
    std::printf("%s: %s\n", gpu_required() ? "FAIL" : "SKIP", devices.status().message().c_str());
    return gpu_required() ? 1 : kExitSkipped;
  }
  Suite suite(std::move(devices.value()));
  suite.check_refusals();
  suite.check_without_alpha();
  check_matrix(suite, quick);
  check_scales(suite);
  check_large_masks(suite, quick);
  check_extents(suite, quick);
  check_fields(suite);
  check_hard_sums(suite);
  check_opaque(suite);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  return suite.report(elapsed.count());
}

}  // namespace
}  // namespace convolve::testing

int main(int argc, char** argv) {
  auto backend = convolve::BackendKind::kCpu;
  bool quick = false;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--backend=cuda") {
      backend = convolve::BackendKind::kCuda;
    } else if (word == "--quick") {
      quick = true;
    } else if (word != "--backend=cpu") {
      std::fprintf(stderr, "usage: alpha_test [--backend=cpu|cuda] [--quick]\n");
      return 2;
    }
  }
  return convolve::testing::run(backend, quick);
}
