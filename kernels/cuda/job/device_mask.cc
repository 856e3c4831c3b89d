// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/job/device_mask.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/separable/separable_fragments.h"
#include "kernels/cuda/spline/spline_tables.h"

namespace convolve {
namespace {

std::vector<std::byte> bytes_of(const std::vector<std::uint32_t>& words) {
  std::vector<std::byte> bytes(words.size() * sizeof(std::uint32_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

/// The factors as fragments of tensor cores; fills in the arguments that belong to them.
std::vector<std::byte> encode_fragments(const Mask& mask, const SeparableDigits& digits,
                                        const DeviceCapabilities& device, SeparableArguments& to) {
  const SeparableFragments fragments = separable_fragments(mask, digits);
  const SeparableWindow window = separable_window(mask);
  to.column = static_cast<int>(fragments.column * sizeof(std::uint32_t) / sizeof(uint4));
  to.left = window.left;
  to.row_chunks = window.row_chunks;
  to.column_chunks = window.column_chunks;
  to.column_digits = digits.column_digits;
  to.multiplier = digits.multiplier;
  to.row_start = digits.row_start;
  to.processors = std::max(1, device.processors);
  to.shared_bytes = static_cast<int>(device.shared_bytes);
  return bytes_of(fragments.words);
}

/// The weights of the plan in the layout in which the kernel of its form reads them.
std::vector<std::byte> encode(const PreparedPlan& planned, const DeviceCapabilities& device,
                              LaunchArguments& arguments) {
  const Plan& plan = planned.plan;
  const Mask& mask = planned.weights->mask;
  if (const SplineMask* spline = planned.weights->as<SplineMask>()) {
    arguments.separable.processors = std::max(1, device.processors);
    return bytes_of(spline_tables(*spline, arguments.spline));
  }
  if (const SeparableDigits* digits = planned.weights->as<SeparableDigits>())
    return encode_fragments(mask, *digits, device, arguments.separable);
  return plan.passes() == Passes::kRowColumn
             ? encode_factors(mask, plan.accumulator, plan.rational)
             : encode_weights(mask, plan.accumulator, plan.rational);
}

}  // namespace

Result<DeviceMask> DeviceMask::make(const PreparedPlan& planned, const Variant& variant,
                                    DeviceCore& core, LaunchArguments& arguments) {
  DeviceMask made;
  const std::vector<std::byte> weights = encode(planned, core.capabilities(), arguments);
  if (variant.uses_constant_bank) {
    Result<MaskSlot> slot =
        take_mask_slot(core.context().id, planned.plan.kernel(), weights.size(), core.stream());
    if (!slot.ok()) return slot.status();
    made.slot_ = std::move(slot.value());
  }
  if (made.slot_) {
    const int at = made.slot_.offset();
    arguments.storage = MaskStorage::kConstantMemory;
    arguments.mask.slot = at;
    Status status = core.staging().upload(
        weights.data(), weights.size(),
        [&](const void* piece, std::size_t offset, std::size_t count) {
          return variant.upload(piece, count, at + static_cast<int>(offset), core.stream());
        });
    if (!status.ok()) return status;
    return made;
  }
  if (planned.plan.form == Form::kConstant)
    return unsupported("kernel constant: memory: the masks of other filters leave no room for " +
                       std::to_string(weights.size()) +
                       " bytes in constant memory; the other kernels can do without");
  if (variant.uses_constant_bank)
    core.log(LogLevel::kInfo, "no room in constant memory: the mask goes to global memory");
  Result<DeviceMemory> global = DeviceMemory::make(weights.size(), core.stream());
  if (!global.ok()) return global.status();
  made.global_ = std::move(global.value());
  arguments.storage = MaskStorage::kGlobalMemory;
  arguments.mask.global = made.global_.data();
  Status status = core.staging().upload(made.global_.data(), weights.data(), weights.size());
  if (!status.ok()) return status;
  return made;
}

}  // namespace convolve
