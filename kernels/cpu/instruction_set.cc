// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/instruction_set.h"

#include <cstdint>

#define HWY_WANT_AVX3_DL
#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/instruction_set.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

const char* instruction_set() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(instruction_set);

const char* vector_instruction_set() {
  return HWY_DYNAMIC_DISPATCH(instruction_set)();
}

Status limit_instruction_set(const std::string& name) {
  const std::int64_t usable = (hwy::SupportedTargets() & HWY_TARGETS) | HWY_STATIC_TARGET;
  // The better a target is, the lower is its bit.
  for (std::int64_t rest = usable; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    if (name != (target == HWY_STATIC_TARGET ? "baseline" : hwy::TargetName(target))) continue;
    hwy::SetSupportedTargetsForTest(rest);
    return {};
  }
  return unsupported("this machine, or this build, has no instruction set " + name);
}

}  // namespace convolve
#endif
