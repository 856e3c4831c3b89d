// SPDX-License-Identifier: LGPL-2.1-or-later
// The choice of a kernel: a pure function, so that its table is a test.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "kernels/core/plan/cost.h"
#include "kernels/core/plan/cpu_cost.h"
#include "kernels/core/plan/plan.h"
#include "kernels/core/plan/planner_kernels.h"

namespace convolve {
namespace {

const char* backend_text(const PlanRequest& request) {
  return request.on_cuda() ? "cuda" : "cpu";
}

/// Everything but the reason for `kernel`, or why it cannot serve: "size: ...", "memory: ...",
/// "rank: ...", "device: ..." or "alpha: ...".
Result<Plan> plan_for(KernelKind kernel, const PlanRequest& request) {
  const Options& options = request.options;
  const bool form_elsewhere =
      options.form &&
      !(request.on_cuda() ? form_info(*options.form).on_cuda : form_info(*options.form).on_cpu);
  if (form_elsewhere || !has_kernel(request.device.backend, kernel))
    return unsupported(std::string("device: the ") + backend_text(request) +
                       " backend does not have it");
  if (weights_by_alpha(request.format, options) && !alpha_fits(request.format))
    return unsupported("alpha: its samples are not as wide as those of colour");
  // Weighted colour has a kernel of its own. Who asks for another one by name would not get it.
  if (weights_by_alpha(request.format, options) &&
      (options.form || options.kernel != KernelKind::kAuto) && kernel != KernelKind::kBasic)
    return unsupported(
        "alpha: it cannot weight colour by alpha as alpha-mode=premultiplied asks, which "
        "kernel=auto can");
  if (options.form && !request.lies_for(*options.form))
    return unsupported("memory: its planes are to lie on " +
                       std::to_string(form_info(*options.form).alignment) +
                       " bytes, and these lie on " + std::to_string(options.alignment));
  switch (kernel) {
    case KernelKind::kBox:
      return plan_box(request);
    case KernelKind::kShift:
      return plan_shift(request);
    case KernelKind::kTensor:
      return plan_tensor(request);
    case KernelKind::kSeparable:
      return plan_separable(request);
    case KernelKind::kCoarsened:
      return plan_coarsened(request);
    case KernelKind::kAuto:
    case KernelKind::kBasic:
    case KernelKind::kConstant:
    case KernelKind::kTiledInput:
    case KernelKind::kTiledOutput:
    case KernelKind::kCachedHalo:
      break;
  }
  return plan_accumulated(request, kernel);
}

/// " (basic, coarsened would serve)": the kernels that can run what `kernel` cannot.
std::string others_text(const PlanRequest& request) {
  Options options = request.options;
  options.form.reset();
  const PlanRequest in_any_form{request.format, request.mask, options, request.device,
                                request.weights};
  std::string names;
  for (const KernelInfo& info : kKernels) {
    if (info.kind == KernelKind::kAuto || !plan_for(info.kind, in_any_form).ok()) continue;
    names += (names.empty() ? "" : ", ") + std::string(info.nick);
  }
  const std::string backend = backend_text(request);
  if (names.empty()) return "; no kernel of the " + backend + " backend can";
  return "; on the " + backend + " backend these can: " + names;
}

/// True if two passes over colour that is weighted by alpha are worth their overhead. On the CPU it
/// is enough that they save half of the multiply-adds: 0.49 against 0.29 ms at 7x7 (1080p, 16
/// threads, AVX-512). On CUDA 18 + 0.36 us a tap in one pass and 45 + 0.9 in two, the lines of
/// kernels coarsened and separable for an 8-bit plane at 4K on an H100, decide.
bool two_passes_pay(const Mask& mask, BackendKind backend) {
  if (!mask.dense()) return true;
  const double direct = static_cast<double>(mask.taps());
  const double passes = mask.width + mask.height;
  return backend == BackendKind::kCuda ? direct > 75 + 2.5 * passes : direct > 2 * passes;
}

/// The sums of weighted colour, if there is any.
std::optional<WeightedSums> plan_weighting(const PlanRequest& request, const Plan& plan) {
  const Mask& mask = request.mask;
  const Options& options = request.options;
  if (!weights_by_alpha(request.format, options)) return std::nullopt;
  WeightedSums sums;
  sums.rational = plan.rational;
  const bool basic = options.kernel == KernelKind::kBasic || options.form == Form::kBasic;
  const bool two_passes = !basic && factors_serve(mask) && two_passes_pay(mask, plan.backend);
  sums.passes = two_passes ? Passes::kRowColumn : Passes::kDirect;
  sums.accumulator = choose_weighted_accumulator(request.format, mask, request.weights.totals(),
                                                 options.scale, sums.rational, sums.passes);
  return sums;
}

std::string taps_text(const Mask& mask) {
  return std::to_string(mask.width + mask.height) + " taps instead of " +
         std::to_string(mask.taps());
}

std::string reason_for(const Plan& plan, const Mask& mask) {
  const std::string size = size_text(mask);
  const KernelKind kernel = plan.kernel();
  if (kernel == KernelKind::kSeparable)
    return size + ", rank 1: " + taps_text(mask) +
           (plan.form == Form::kSeparableSpline ? ", smooth: on a coarse grid"
            : plan.digits > 0                   ? ", on tensor cores"
                                                : "");
  if (kernel == KernelKind::kTensor) return size + ", on tensor cores";
  if (kernel == KernelKind::kBox)
    return size + ", equal weights: running sums" +
           (plan.form == Form::kBoxStrips ? ", on tensor cores" : "");
  if (kernel == KernelKind::kShift)
    return size + (mask.zero_taps == mask.taps() ? ", all 0: nothing is read"
                                                 : ", one tap: samples are moved");
  return size + (mask.rank1 ? ", rank 1 but small: " : ", ") +
         (plan.form == Form::kCoarsenedDots ? "dot products" : "several outputs per thread");
}

/// Microseconds of one thread's work that waking another is worth. With two threads in place of one
/// a frame of 320x240 takes 29 us for 24 (3x3), one of 640x480 60 for 56 (3x3) and 122 for 159
/// (gaussian:2; EPYC of family 26); with sixteen in place of four 89 for 44 and 62 for 97 (3x3,
/// Xeon with AVX-512), which cost 260 and 395 us of the processors, for 108 and 274.
constexpr double kWorkOfThread = 16;

/// Fills in the threads that share a frame, and what it is predicted to take.
void predict(const PlanRequest& request, Plan& plan) {
  plan.predicted_us = predicted_microseconds(request, plan);
  if (request.on_cuda()) return;
  // Clamped before it is a whole number: hours of a huge mask would be none of 32 bits.
  plan.threads = static_cast<int>(std::clamp(plan.predicted_us / kWorkOfThread, 1.0,
                                             std::max(1.0, 1.0 * request.device.threads)));
  plan.predicted_us = cpu_predicted_microseconds(cpu_cost_constants(request.device), plan,
                                                 request.format, request.mask, plan.threads);
}

/// The kernel of `kernels` whose predicted time is the least.
template <std::size_t kCount>
Result<Plan> choose_among(const KernelKind (&kernels)[kCount], const PlanRequest& request) {
  std::optional<Plan> best;
  std::string refusal;
  for (const KernelKind kernel : kernels) {
    Result<Plan> plan = plan_for(kernel, request);
    if (!plan.ok()) {
      refusal = plan.status().message();
      continue;
    }
    plan.value().predicted_us = predicted_microseconds(request, plan.value());
    if (!best || plan.value().predicted_us < best->predicted_us) best = std::move(plan.value());
  }
  if (!best) return unsupported("no kernel can serve this mask: " + refusal);
  best->reason = reason_for(*best, request.mask);
  predict(request, *best);
  return *std::move(best);
}

/// The plan of the kernel or form that is asked for.
Result<Plan> take_asked(const PlanRequest& request) {
  const std::optional<Form> form = request.options.form;
  const KernelKind kernel = form ? form_info(*form).kernel : request.options.kernel;
  Result<Plan> plan = plan_for(kernel, request);
  if (plan.ok()) {
    plan.value().reason = size_text(request.mask) + ", as asked";
    predict(request, plan.value());
    return plan;
  }
  const std::string asked = form ? std::string("form ") + form_info(*form).name
                                 : std::string("kernel=") + kernel_info(kernel).nick;
  return unsupported(asked + " cannot serve this mask: " + plan.status().message() +
                     others_text(request));
}

/// The plan of what is not weighted by alpha.
Result<Plan> choose_kernel(const PlanRequest& request) {
  const Options& options = request.options;
  const int tile = options.tile_width;
  if (tile != 0 && tile != 8 && tile != 16 && tile != 32 && tile != 64)
    return invalid_argument("tile-width " + std::to_string(tile) + " is not 0, 8, 16, 32 or 64");
  if (options.form && options.kernel != KernelKind::kAuto &&
      form_info(*options.form).kernel != options.kernel)
    return invalid_argument(std::string(form_info(*options.form).name) + " is no form of kernel " +
                            kernel_info(options.kernel).nick);
  if (options.form || options.kernel != KernelKind::kAuto) return take_asked(request);
  if (request.on_cuda()) return choose_among(kChosenOnCuda, request);
  // To move samples is less work than any sum, which predictions for small frames may not say.
  constexpr KernelKind kMoved[] = {KernelKind::kShift};
  Result<Plan> moved = choose_among(kMoved, request);
  return moved.ok() ? moved : choose_among(kChosenOnCpu, request);
}

}  // namespace

std::string size_text(const Mask& mask) {
  return std::to_string(mask.width) + "x" + std::to_string(mask.height);
}

bool weights_by_alpha(const FrameFormat& format, const Options& options) {
  return options.alpha_mode == AlphaMode::kPremultiplied && has_weighted(format);
}

Status need_dense(const Mask& mask) {
  if (mask.dense()) return {};
  return unsupported("size: a mask of " + size_text(mask) +
                     " is kept as a column times a row, which only kernel=separable reads");
}

double predicted_microseconds(const PlanRequest& request, const Plan& plan) {
  if (request.on_cuda())
    return predicted_microseconds(cost_constants(request.device), plan, request.format,
                                  request.mask);
  Plan one_thread = plan;
  if (plan.form == Form::kSeparableTwoPass) one_thread.form = Form::kSeparableAreas;
  return cpu_predicted_microseconds(cpu_cost_constants(request.device), one_thread, request.format,
                                    request.mask, 1);
}

Result<Plan> choose_plan(const PlanRequest& request) {
  Result<Plan> plan = choose_kernel(request);
  if (!plan.ok()) return plan;
  plan.value().weighted = plan_weighting(request, plan.value());
  if (plan.value().weighted) {
    plan.value().predicted_us = 0;
    plan.value().threads = request.device.threads;
  }
  return plan;
}

Result<Plan> make_plan(const FrameFormat& format, const Mask& mask, const Options& options,
                       const DeviceCapabilities& device) {
  WeightPreparation weights(format, mask, options.scale);
  return choose_plan({format, mask, options, device, weights});
}

}  // namespace convolve
