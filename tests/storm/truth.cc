// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/truth.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace storm {
namespace {

using convolve::KernelKind;

/// Products of weights and samples of one frame for which there is time: kernel basic takes them
/// one by one, in a loop that is easy to trust.
constexpr double kBasicProducts = 2e6;
constexpr double kCoarsenedProducts = 1e8;

/// The same where the kernel itself is judged.
constexpr double kForcedBasicProducts = 3e7;
constexpr double kForcedCoarsenedProducts = 1e9;
constexpr double kWeightedProducts = 2e10;
/// Where whole row sums decide, a row counts for as much as ten products.
constexpr double kRowProducts = 10;

/// Kernels of the CPU to try in turn: another one than in `plan`, if it does not take too long.
std::vector<KernelKind> candidates(const std::string& plan, double work) {
  std::vector<KernelKind> kernels;
  if (plan.rfind("cpu ", 0) == 0) {
    const auto other = [&](KernelKind kernel, bool affordable) {
      // The plan begins with the backend and the form, whose name begins with the kernel's.
      const std::string form = std::string("cpu ") + convolve::kernel_info(kernel).nick;
      if (affordable && plan.rfind(form, 0) != 0) kernels.push_back(kernel);
    };
    other(KernelKind::kBasic, work <= kBasicProducts);
    other(KernelKind::kCoarsened, work <= kCoarsenedProducts);
    other(KernelKind::kSeparable, true);
  }
  kernels.push_back(KernelKind::kAuto);
  return kernels;
}

}  // namespace

double products(const convolve::FrameFormat& format, const convolve::Mask& mask) {
  double samples = 0;
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c)
      samples += static_cast<double>(format.planes[p].components[c].width) *
                 static_cast<double>(format.planes[p].components[c].height);
  return samples * static_cast<double>(mask.taps());
}

bool too_slow(const convolve::FrameFormat& format, const convolve::Mask& mask,
              const convolve::Options& options) {
  const double work = products(format, mask);
  return (options.kernel == KernelKind::kBasic && work > kForcedBasicProducts) ||
         (options.kernel == KernelKind::kCoarsened && work > kForcedCoarsenedProducts);
}

bool digits_too_slow(const convolve::FrameFormat& format, const convolve::Mask& mask,
                     const convolve::Options& options) {
  if (products(format, mask) <= kForcedBasicProducts) return false;
  convolve::Options chosen = options;
  chosen.kernel = KernelKind::kAuto;
  const auto plan = convolve::make_plan(format, mask, chosen, convolve::DeviceCapabilities{});
  return plan.ok() && plan.value().accumulator == convolve::Accumulator::kWide;
}

bool too_slow_by_alpha(const convolve::FrameFormat& format, const convolve::Mask& mask,
                       const convolve::Options& options) {
  if (options.alpha_mode != convolve::AlphaMode::kPremultiplied) return false;
  const convolve::WeightedSums sums{convolve::is_rational(format, mask, options.scale),
                                    convolve::Passes::kRowColumn, convolve::Accumulator::kFloat64};
  double work = products(format, mask);
  // Masks that are kept as their factors take two passes.
  if (!mask.dense() && row_sums_exact(format, mask, sums))
    work *= kRowProducts / static_cast<double>(mask.width);
  return work > kWeightedProducts;
}

TruthMaker::TruthMaker() {
  auto device = convolve::open_device(convolve::BackendKind::kCpu, {});
  if (device.ok()) device_ = std::move(device.value());
}

void TruthMaker::prepare(const convolve::FrameFormat& format, const Settings& settings,
                         const std::string& plan) {
  convolver_.reset();
  if (device_ == nullptr) return;
  convolve::Options options = settings.options;
  options.tile_width = 0;
  for (const KernelKind kernel : candidates(plan, products(format, settings.mask))) {
    options.kernel = kernel;
    auto made = convolve::Convolver::create(format, settings.mask, options, device_);
    if (!made.ok()) continue;
    convolver_ = std::move(made.value());
    return;
  }
}

bool TruthMaker::run(const convolve::FrameView& source, const convolve::FrameView& target,
                     const convolve::RunArguments& arguments) {
  return convolver_ != nullptr && convolver_->run(source, target, arguments).ok() &&
         device_->finish().ok();
}

}  // namespace storm
