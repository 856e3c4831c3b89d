// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/ways.h"

#include <cstdio>
#include <cstdlib>

namespace convolve::testing {
namespace {

using Planned = bool (*)(const Plan&);

bool any_plan(const Plan&) {
  return true;
}

template <Accumulator kAccumulator>
bool sums_in(const Plan& plan) {
  return plan.accumulator == kAccumulator;
}

Way make_way(const std::string& name, KernelKind kernel, Planned planned, bool on_cpu = false) {
  Way way{name, {}, planned, on_cpu};
  way.options.kernel = kernel;
  return way;
}

/// All forms of `kernel`, by their names.
void add_forms(std::vector<Way>& ways, KernelKind kernel) {
  for (const FormInfo& info : kForms) {
    if (info.kernel != kernel) continue;
    ways.push_back(make_way(info.name, kernel, any_plan, info.on_cpu));
    ways.back().options.form = info.form;
    ways.back().on_cuda = info.on_cuda;
  }
}

void add_tiled(std::vector<Way>& ways, const char* name, KernelKind kernel) {
  for (const int tile_width : {8, 16, 32, 64}) {
    ways.push_back(make_way(name + ("-" + std::to_string(tile_width)), kernel, any_plan));
    ways.back().options.tile_width = tile_width;
  }
}

void add_coarsened(std::vector<Way>& ways) {
  const auto add = [&ways](const char* name, Form form, Planned planned, bool on_cpu) {
    ways.push_back(make_way(name, KernelKind::kCoarsened, planned, on_cpu));
    ways.back().options.form = form;
    ways.back().on_cuda = form_info(form).on_cuda;
  };
  add("coarsened-float32", Form::kCoarsened, sums_in<Accumulator::kFloat32>, true);
  add("coarsened-int32", Form::kCoarsened, sums_in<Accumulator::kInt32>, false);
  add("coarsened-float64", Form::kCoarsened, sums_in<Accumulator::kFloat64>, true);
  add("coarsened-wide", Form::kCoarsened, sums_in<Accumulator::kWide>, true);
  add("coarsened-dots", Form::kCoarsenedDots, any_plan, true);
}

void add_weighted(std::vector<Way>& ways) {
  const auto add = [&ways](const char* name, Planned planned) {
    ways.push_back(make_way(name, KernelKind::kAuto, planned, true));
    ways.back().options.alpha_mode = AlphaMode::kPremultiplied;
  };
  add("weighted-direct",
      [](const Plan& p) { return p.weighted && p.weighted->passes == Passes::kDirect; });
  add("weighted-passes",
      [](const Plan& p) { return p.weighted && p.weighted->passes == Passes::kRowColumn; });
}

std::vector<Way> make_ways() {
  std::vector<Way> ways;
  ways.push_back(make_way("basic", KernelKind::kBasic, any_plan, true));
  ways.push_back(make_way("constant", KernelKind::kConstant, any_plan));
  add_tiled(ways, "tiled-input", KernelKind::kTiledInput);
  add_tiled(ways, "tiled-output", KernelKind::kTiledOutput);
  add_tiled(ways, "cached-halo", KernelKind::kCachedHalo);
  add_coarsened(ways);
  add_forms(ways, KernelKind::kSeparable);
  add_forms(ways, KernelKind::kTensor);
  add_forms(ways, KernelKind::kBox);
  ways.push_back(make_way("shift", KernelKind::kShift, any_plan, true));
  add_weighted(ways);
  return ways;
}

}  // namespace

const std::vector<Way>& all_ways() {
  static const std::vector<Way> ways = make_ways();
  return ways;
}

std::vector<Way> ways_of(const std::vector<std::string>& prefixes) {
  std::vector<Way> chosen;
  for (const Way& way : all_ways())
    for (const std::string& prefix : prefixes)
      if (way.name.compare(0, prefix.size(), prefix) == 0) {
        chosen.push_back(way);
        break;
      }
  if (!chosen.empty()) return chosen;
  std::fprintf(stderr, "there is no way of these names\n");
  std::exit(1);
}

DeviceCapabilities h100() {
  DeviceCapabilities device;
  device.backend = BackendKind::kCuda;
  device.name = "H100";
  device.compute_capability = 90;
  device.shared_bytes = 227 * 1024;
  device.processors = 132;
  device.clock_mhz = 1980;
  device.gigabytes_a_second = 3350;
  return device;
}

}  // namespace convolve::testing
