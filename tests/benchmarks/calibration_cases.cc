// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/calibration_cases.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace convolve::benchmarks {
namespace {

constexpr MaskKind kCalibrationKinds[] = {MaskKind::kPositive, MaskKind::kRational,
                                          MaskKind::kRank1, MaskKind::kBox};
/// On the CPU Gaussians go by forms that no other of these masks has.
constexpr MaskKind kCpuCalibrationKinds[] = {MaskKind::kPositive, MaskKind::kRational,
                                             MaskKind::kRank1, MaskKind::kBox, MaskKind::kGaussian};
constexpr int kCalibrationSides[] = {3, 7, 9, 15, 31};

/// The book's kernels get rough constants, from one format and small masks: they take long.
constexpr const char* kBookFormat = "GRAY8";
constexpr int kLargestBookSide = 17;
constexpr MaskKind kBookKind = MaskKind::kBox;

/// Masks for classes that the others do not reach.
struct SpecialCase {
  const char* mask;
  KernelKind kernel;
  const char* format;
  std::optional<Form> form = std::nullopt;
};
const SpecialCase kSpecialCases[] = {
    // Passes of a launch each: on tensor cores, and where tile and halo leave shared memory.
    {"box:81,255", KernelKind::kSeparable, "GRAY8"},
    {"box:255,81", KernelKind::kSeparable, "GRAY8"},
    {"box:81,255", KernelKind::kSeparable, "GRAY16"},
    {"box:127,255", KernelKind::kSeparable, "GRAY16"},
    {"box:255,127", KernelKind::kSeparable, "GRAY16"},
    {"box:255", KernelKind::kSeparable, "GRAY16"},
    // On a coarse grid, on CUDA of 2, 4 and 8 pixels, and of two on an axis each; on the CPU of 4
    // to
    // 32 pixels, and of components that lie apart.
    {"gaussian:30", KernelKind::kSeparable, "GRAY8"},
    {"gaussian:60", KernelKind::kSeparable, "GRAY8"},
    {"gaussian:120", KernelKind::kSeparable, "GRAY8"},
    {"gaussian:120,30", KernelKind::kSeparable, "GRAY8"},
    {"gaussian:15", KernelKind::kSeparable, "GRAY8"},
    {"gaussian:15", KernelKind::kSeparable, "RGBA"},
    {"gaussian:60", KernelKind::kSeparable, "RGBA"},
    // Where other products are better.
    {"5x5: 1 -1 0 2 1 1 1 3 1 0 1 2 4 3 1 0 2 1 1 1 1 0 1 2 0 / 32", KernelKind::kTensor, "GRAY8",
     Form::kTensorColumns},
    {"disk:4", KernelKind::kTensor, "GRAY8", Form::kTensorColumns},
    {"disk:9", KernelKind::kTensor, "GRAY8", Form::kTensorColumns},
    {"disk:15", KernelKind::kTensor, "GRAY8", Form::kTensorColumns},
    {"disk:5", KernelKind::kTensor, "GRAY8", Form::kTensorLargeQuads},
    {"disk:6", KernelKind::kTensor, "GRAY8", Form::kTensorLargeQuads},
    {"box:13", KernelKind::kTensor, "GRAY8", Form::kTensorLargeQuads},
    {"disk:2", KernelKind::kTensor, "NV12", Form::kTensorColumns},
    {"disk:9", KernelKind::kTensor, "NV12", Form::kTensorColumns},
    {"disk:2", KernelKind::kTensor, "RGBA", Form::kTensorColumns},
    {"disk:2", KernelKind::kTensor, "RGBA", Form::kTensorSliding},
    {"disk:9", KernelKind::kTensor, "RGBA", Form::kTensorColumns},
    // Sums that no float or int32 holds.
    {"gaussian:2", KernelKind::kSeparable, "GRAY16"},
    {"gaussian:5", KernelKind::kSeparable, "GRAY16"},
    {"2x1: 1e38 -1e38", KernelKind::kCoarsened, "GRAY8"},
    {"9x1: 1e38 -1e38 1 1 1 1 1 1 1", KernelKind::kCoarsened, "GRAY8"},
    {"2x1: 1e38 -1e38", KernelKind::kSeparable, "GRAY8"},
    {"9x1: 1e38 -1e38 1 1 1 1 1 1 1", KernelKind::kSeparable, "GRAY8"},
    // Running sums: masks larger than those that all kernels get, with 15 between them.
    {"box:15", KernelKind::kBox, "GRAY8"},
    {"box:63", KernelKind::kBox, "GRAY8"},
    {"box:255", KernelKind::kBox, "GRAY8"},
    // Ties, which are told by a remainder, in float and in double.
    {"box:64", KernelKind::kBox, "GRAY8"},
    {"box:258,256", KernelKind::kBox, "GRAY8"},
    {"box:15", KernelKind::kBox, "GRAY16"},
    {"box:63", KernelKind::kBox, "GRAY16"},
    {"box:255", KernelKind::kBox, "GRAY16"},
    {"box:15", KernelKind::kBox, "RGBA"},
    {"box:63", KernelKind::kBox, "RGBA"},
    {"box:255", KernelKind::kBox, "RGBA"},
    // One tap: of 1, which moves bits, and of 1/2, which maps codes.
    {"3x1: 1 0 0", KernelKind::kShift, "GRAY8"},
    {"3x1: 1 0 0 / 2", KernelKind::kShift, "GRAY8"},
    {"3x1: 1 0 0", KernelKind::kShift, "NV12"},
    {"3x1: 1 0 0 / 2", KernelKind::kShift, "NV12"},
    {"3x1: 1 0 0", KernelKind::kShift, "RGBA"},
    {"3x1: 1 0 0 / 2", KernelKind::kShift, "RGBA"},
    {"3x1: 1 0 0", KernelKind::kShift, "GRAY16"},
    {"3x1: 1 0 0 / 2", KernelKind::kShift, "GRAY16"},
};
/// Their check takes long on large pictures.
constexpr int kWidestSpecial = 1920;

bool is_chosen(KernelKind kernel) {
  return std::find(std::begin(kChosenOnCuda), std::end(kChosenOnCuda), kernel) !=
         std::end(kChosenOnCuda);
}

/// A mask of every kind and side, through all that kernel=auto chooses from: on the CPU, where the
/// forms of a kernel are compared with each other, through each form.
CalibrationCase usual_case(BackendKind backend, const FormatCase& tested, MaskKind kind, int side) {
  CalibrationCase made{make_mask(kind, side), mask_kind_name(kind), {}};
  const bool book =
      std::string(tested.name) == kBookFormat && kind == kBookKind && side <= kLargestBookSide;
  if (backend == BackendKind::kCpu) {
    for (const FormInfo& info : kForms)
      if (info.on_cpu && (is_chosen(info.kernel) || book))
        made.runs.push_back({info.kernel, info.form});
    return made;
  }
  for (const KernelInfo& info : kKernels)
    if (info.kind != KernelKind::kAuto && has_kernel(backend, info.kind) &&
        (is_chosen(info.kind) || book))
      made.runs.push_back({info.kind, std::nullopt});
  return made;
}

std::vector<MaskKind> usual_kinds(const PlaneArguments& arguments) {
  return arguments.backend == BackendKind::kCpu ? or_usual(arguments.kinds, kCpuCalibrationKinds)
                                                : or_usual(arguments.kinds, kCalibrationKinds);
}

}  // namespace

std::vector<SizeCase> calibration_sizes(const PlaneArguments& arguments) {
  std::vector<SizeCase> sizes = or_usual(arguments.sizes, kCalibrationSizes);
  if (arguments.sizes.empty() && arguments.backend == BackendKind::kCpu)
    sizes.erase(std::remove_if(sizes.begin(), sizes.end(),
                               [](const SizeCase& size) { return size.width > kWidestSpecial; }),
                sizes.end());
  return sizes;
}

std::vector<CalibrationCase> calibration_cases(const PlaneArguments& arguments,
                                               const FormatCase& tested, const SizeCase& size) {
  std::vector<CalibrationCase> cases;
  for (const MaskKind kind : usual_kinds(arguments))
    for (const int side : or_usual(arguments.sides, kCalibrationSides))
      cases.push_back(usual_case(arguments.backend, tested, kind, side));
  if (size.width > kWidestSpecial) return cases;
  for (const SpecialCase& special : kSpecialCases) {
    if (std::string(tested.name) != special.format) continue;
    CalibrationCase made;
    made.mask.mask = testing::parsed_mask(special.mask);
    made.name = special.mask;
    made.runs.push_back({special.kernel, special.form});
    cases.push_back(std::move(made));
  }
  return cases;
}

}  // namespace convolve::benchmarks
