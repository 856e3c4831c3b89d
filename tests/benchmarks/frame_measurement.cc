// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/frame_measurement.h"

#include <cstdio>

#include "tests/benchmarks/frames.h"
#include "tests/benchmarks/measure.h"

namespace convolve::benchmarks {
namespace {

/// Codes: NPP sums in FP32 and promises no rounding.
constexpr int kNppSlack = 1;

double filtered_samples(const FrameFormat& format) {
  double samples = 0;
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c) {
      const Component& component = format.planes[p].components[c];
      if (component.filtered) samples += 1.0 * component.width * component.height;
    }
  return samples;
}

/// Multiply-adds that `plan` takes for a sample: box adds and subtracts only, shift moves.
double taps_of(const Mask& mask, const Plan& plan) {
  if (plan.kernel() == KernelKind::kBox || plan.kernel() == KernelKind::kShift) return 0;
  return plan.passes() != Passes::kDirect ? mask.width + mask.height
                                          : static_cast<double>(mask.taps());
}

std::nullopt_t fail(const FrameRow& row, const std::string& what) {
  std::fprintf(stderr, "FAIL %s %s %s %s %dx%d: %s\n", row.format.c_str(), row.size.c_str(),
               row.kernel.c_str(), row.kind.c_str(), row.side, row.side, what.c_str());
  return std::nullopt;
}

}  // namespace

bool FrameMeasurement::lay_out(const FormatCase& tested, const SizeCase& size) {
  format_ = testing::make_format(tested.arrangement, tested.samples, tested.levels, size.width,
                                 size.height);
  alpha_mode_ = tested.alpha_mode;
  row_ = FrameRow();
  row_.format = tested.name;
  row_.size = size.name;
  row_.width = size.width;
  row_.height = size.height;
  row_.bytes = packed_bytes(format_);
  row_.samples = filtered_samples(format_);
  truth_.reset();
  noise_ = make_noise(row_.bytes + (1 << 20));
  if (target_.lay_out(format_, noise_)) return true;
  std::fprintf(stderr, "FAIL no memory for %s %s\n", tested.name, size.name);
  return false;
}

void FrameMeasurement::set_mask(const MaskCase& tested, const std::string& kind, int side) {
  mask_ = tested;
  row_.kind = kind;
  row_.side = side;
  truth_.emplace(noise_.data(), format_, mask(), RunArguments{1, tested.bias, Border::kReplicate},
                 alpha_mode_);
}

Options FrameMeasurement::options(KernelKind kernel, std::optional<Form> form) const {
  Options options;
  options.kernel = kernel;
  options.form = form;
  options.bias = mask_.bias;
  options.alpha_mode = alpha_mode_;
  return options;
}

Result<Plan> FrameMeasurement::plan(KernelKind kernel, std::optional<Form> form,
                                    const DeviceCapabilities& device) const {
  return make_plan(format_, mask(), options(kernel, form), device);
}

std::optional<FrameResult> FrameMeasurement::run(KernelKind kernel, std::optional<Form> form) {
  FrameResult result{row_, std::nullopt};
  FrameRow& row = result.row;
  row.kernel = form ? form_info(*form).name : kernel_info(kernel).nick;
  auto device = target_.open();
  if (!device.ok()) return fail(row, device.status().message());
  const RunArguments how{1, mask_.bias, Border::kReplicate};
  auto convolver = Convolver::create(format_, mask(), options(kernel, form), device.value());
  if (!convolver.ok()) {
    row.plan = convolver.status().message();
    if (convolver.status().code() != Code::kUnsupported) return fail(row, row.plan);
    return result;
  }
  const Plan& plan = convolver.value()->plan();
  row.plan = plan.to_string();
  row.predicted = plan.predicted_us;
  const FrameWork work = [&](const FrameView& src, const FrameView& dst) {
    return convolver.value()->run(src, dst, how).ok();
  };
  if (!target_.load(work, *device.value())) return fail(row, "the frames could not be prepared");
  if (target_.time_frames() < 0) return fail(row, "the frames could not be run");
  const std::vector<std::uint8_t> output = target_.first_output();
  if (output.empty() || !truth_->holds(output.data())) return fail(row, "WRONG RESULT");
  if (fma_rate_ > 0) row.floor = 1e6 * taps_of(mask(), plan) * row.samples / fma_rate_;
  if (!take_times(target_, seconds_, &row.time, &row.copy)) return fail(row, "a batch failed");
  row.served = true;
  result.plan = plan;
  return result;
}

FrameRow FrameMeasurement::run_npp(Npp& npp) {
  FrameRow row = row_;
  row.kernel = "npp";
  row.plan = npp.description();
  row.plan += try_npp(npp, row);
  return row;
}

std::string FrameMeasurement::try_npp(Npp& npp, FrameRow& row) {
  auto device = target_.open();
  if (!device.ok()) return ": " + device.status().message();
  const FrameWork work = [&](const FrameView& src, const FrameView& dst) {
    return npp.filter(src, dst);
  };
  if (!npp.load(mask(), device.value()->native_stream()) || !target_.load(work, *device.value()) ||
      target_.time_frames() < 0)
    return ": could not be run";
  const std::vector<std::uint8_t> output = target_.first_output();
  if (output.empty()) return ": no output";
  const int error = truth_->largest_error(output.data());
  if (error > kNppSlack) return ": wrong by up to " + std::to_string(error);
  row.served = take_times(target_, seconds_, &row.time, &row.copy);
  if (!row.served) return ": a batch failed";
  return ", at most " + std::to_string(error) + " from the right code";
}

}  // namespace convolve::benchmarks
