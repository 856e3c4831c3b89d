// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/chains.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "kernels/core/plan/tensor_forms.h"
#include "kernels/reference/reference.h"

namespace convolve::testing {
namespace {

/// Integers up to `most` whose sum is near the root of the sum of their squares: noise stays noise,
/// however often it is filtered.
std::vector<double> lively_weights(Random& random, int count, int most) {
  std::vector<double> weights;
  double sum = 0, squares = 0;
  for (int k = 0; k < count; ++k) {
    weights.push_back(random.integer(-most, most));
    sum += weights.back();
    squares += weights.back() * weights.back();
  }
  double wanted = 1;
  while (wanted * wanted < squares)
    ++wanted;
  // In small parts, so that no weight sticks out.
  for (std::size_t k = 0; sum != wanted; k = (k + 1) % weights.size()) {
    const double part = sum < wanted ? 1 : -1;
    weights[k] += part;
    sum += part;
  }
  return weights;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values)
    sum += value;
  return sum;
}

TestMaskPtr lively_mask(int side) {
  Random random(static_cast<std::uint64_t>(side));
  std::vector<double> weights = lively_weights(random, side * side, 9);
  const double sum = sum_of(weights);
  const std::string name = std::to_string(side) + "x" + std::to_string(side);
  return typed_mask(name, side, side, std::move(weights), sum);
}

TestMaskPtr lively_rank1_mask(int side, int most) {
  Random random(static_cast<std::uint64_t>(side));
  const std::vector<double> row = lively_weights(random, side, most);
  const std::vector<double> column = lively_weights(random, side, most);
  std::vector<double> weights;
  for (const double y : column)
    for (const double x : row)
      weights.push_back(y * x);
  return typed_mask("rank-1 " + std::to_string(side), side, side, std::move(weights),
                    sum_of(row) * sum_of(column));
}

}  // namespace

std::vector<Step> chain_steps() {
  // Pictures wrap, and what is seen lies below: the first blocks of a launch want what the last
  // ones of the launch before write.
  RunArguments how;
  how.border = Border::kWrap;
  const TestMaskPtr small = anchored(lively_mask(5), 2, 0);
  const TestMaskPtr large = anchored(lively_mask(13), 6, 0);
  std::vector<Step> steps;
  for (const TestMaskPtr& mask : {small, large})
    for (const FormInfo& info : kForms) {
      const Form form = info.form;
      const bool small_only = form == Form::kTensorOctets || form == Form::kTensorSplitOctets ||
                              makes_pairs(form) ||
                              (makes_quads(form) && form != Form::kTensorLargeQuads);
      const bool large_only = form == Form::kTensorLargeQuads;
      if (info.kernel != KernelKind::kTensor || (small_only && mask == large) ||
          (large_only && mask == small))
        continue;
      steps.push_back(
          {std::string(info.name) + " " + mask->name, KernelKind::kTensor, form, mask, how});
    }
  steps.push_back({"coarsened", KernelKind::kCoarsened, std::nullopt, small, how});
  steps.push_back({"basic", KernelKind::kBasic, std::nullopt, small, how});
  steps.push_back({"separable fused", KernelKind::kSeparable, std::nullopt,
                   anchored(lively_rank1_mask(9, 9), 4, 0), how});
  steps.push_back({"separable of two passes", KernelKind::kSeparable, std::nullopt,
                   anchored(lively_rank1_mask(71, 3), 35, 0), how});
  steps.push_back(
      {"shift", KernelKind::kShift, std::nullopt, anchored(tap_mask(9, 5, 8, 4, 1), 0, 0), how});
  // A mean takes contrast away, which the scale gives back; what is left moves up and left.
  how.scale = 3;
  how.bias = -1;
  steps.push_back({"box", KernelKind::kBox, std::nullopt,
                   anchored(box_mask(5, 5, Weights::kRational), 0, 0), how});
  // Sums of steps come before these bands.
  how.scale = 5;
  how.bias = -2;
  steps.push_back({"box in bands", KernelKind::kBox, Form::kBoxBands,
                   anchored(box_mask(1, 17, Weights::kRational), 0, 0), how});
  return steps;
}

// Patches, which means do not take away, and noise.
GuardedFrame chain_start(const FrameFormat& format) {
  GuardedFrame frame(format, 0, false);
  Random random(3);
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c) {
      const Component& component = format.planes[p].components[c];
      constexpr int kPatch = 12;
      const int across = component.width / kPatch + 1;
      std::vector<int> patches;
      for (int k = across * (component.height / kPatch + 1); k > 0; --k)
        patches.push_back(random.integer(0, component.max_code()));
      Picture picture{component.width, component.height, {}};
      for (int y = 0; y < component.height; ++y)
        for (int x = 0; x < component.width; ++x) {
          const int patch = patches[static_cast<std::size_t>(y / kPatch * across + x / kPatch)];
          picture.codes.push_back((3 * patch + random.integer(0, component.max_code())) / 4);
        }
      encode_component(picture, frame.view(), p, c);
    }
  return frame;
}

std::size_t differing_bytes(const FrameView& a, const FrameView& b) {
  std::size_t count = 0;
  for (int p = 0; p < a.format.plane_count; ++p)
    for (int y = 0; y < a.format.planes[p].rows; ++y) {
      const std::uint8_t* row = a.data[p] + y * a.pitch[p];
      const std::uint8_t* other = b.data[p] + y * b.pitch[p];
      if (std::memcmp(row, other, static_cast<std::size_t>(a.format.planes[p].row_bytes)) == 0)
        continue;
      for (int x = 0; x < a.format.planes[p].row_bytes; ++x)
        count += row[x] != other[x];
    }
  return count;
}

CpuChain::CpuChain(const FrameView& start, const std::vector<Step>& chain, int length)
    : frames_{GuardedFrame(start.format, 0, false), GuardedFrame(start.format, 0, false)} {
  auto device = open_device(BackendKind::kCpu, {});
  if (!device.ok()) return;
  std::vector<std::unique_ptr<Convolver>> convolvers;
  for (const Step& step : chain) {
    Options options = step.options();
    options.kernel = KernelKind::kAuto;
    options.form.reset();
    auto convolver = Convolver::create(start.format, step.mask->mask, options, device.value());
    if (!convolver.ok()) return;
    convolvers.push_back(std::move(convolver.value()));
  }
  const FrameView* from = &start;
  for (int n = 0; n < length; ++n) {
    const std::size_t i = static_cast<std::size_t>(n) % chain.size();
    last_ = n % 2;
    Status status = convolvers[i]->run(*from, last(), chain[i].how);
    if (status.ok()) status = device.value()->finish();
    if (!status.ok()) return;
    from = &last();
  }
  good_ = true;
}

}  // namespace convolve::testing
