// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/form_counts.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "tests/kernels/runner.h"

namespace convolve::testing {
namespace {

/// The form that a line is about, or null.
const FormInfo* form_of(const std::string& line) {
  const std::size_t from = line.find(' ') + 1;
  return find_form(line.substr(from, line.find(' ', from) - from).c_str());
}

}  // namespace

std::string format_class(Arrangement arrangement, const SampleType& samples) {
  return std::string(arrangement_name(arrangement)) + (samples.bytes == 1 ? " 8-bit" : " 16-bit");
}

std::vector<Form> forms_of(KernelKind kernel, BackendKind backend) {
  std::vector<Form> forms;
  for (const FormInfo& info : kForms)
    if (info.kernel == kernel && (backend == BackendKind::kCuda ? info.on_cuda : info.on_cpu))
      forms.push_back(info.form);
  return forms;
}

void FormCounts::add(Form form, const std::string& format_class, bool served) {
  FormCount& count = counts_[{form, format_class}];
  ++(served ? count.served : count.declined);
}

void FormCounts::add(const FormCounts& other) {
  for (const auto& [key, theirs] : other.counts_) {
    FormCount& ours = counts_[key];
    ours.served += theirs.served;
    ours.declined += theirs.declined;
  }
}

void FormCounts::add_plans(const Case& c, const std::vector<KernelKind>& kernels,
                           const DeviceCapabilities& device) {
  for (const Arrangement arrangement : c.arrangements) {
    const FrameFormat format =
        make_format(arrangement, c.samples, c.levels, c.width + c.spare, c.height + c.spare);
    for (const KernelKind kernel : kernels) {
      if (!c.takes(kernel)) continue;
      for (const int tile_width : c.tile_widths_of(kernel))
        for (const Form form : forms_of(kernel, device.backend)) {
          const Options options = c.options(kernel, form, tile_width);
          const Result<Plan> plan = make_plan(format, c.mask->mask, options, device);
          add(form, format_class(arrangement, c.samples), plan.ok() && plan.value().form == form);
        }
    }
  }
}

std::set<std::string> FormCounts::lines(BackendKind backend) const {
  std::set<std::string> lines;
  for (const auto& [key, count] : counts_)
    if (count.served > 0)
      lines.insert(std::string(backend_name(backend)) + " " + form_info(key.first).name + " " +
                   key.second + ": " + std::to_string(count.served) + " served, " +
                   std::to_string(count.declined) + " declined");
  return lines;
}

bool check_forms(const std::string& file, BackendKind backend,
                 const std::vector<KernelKind>& kernels, const std::set<std::string>& seen) {
  std::ifstream stream(file);
  if (!stream) {
    std::printf("cannot read %s\n", file.c_str());
    return false;
  }
  const std::string prefix = std::string(backend_name(backend)) + " ";
  std::set<std::string> pinned;
  for (std::string line; std::getline(stream, line);) {
    if (line.rfind(prefix, 0) != 0) continue;
    const FormInfo* form = form_of(line);
    if (form == nullptr || std::find(kernels.begin(), kernels.end(), form->kernel) != kernels.end())
      pinned.insert(line);
  }
  for (const std::string& line : seen)
    if (pinned.count(line) == 0) std::printf("FAIL counted, not pinned: %s\n", line.c_str());
  for (const std::string& line : pinned)
    if (seen.count(line) == 0) std::printf("FAIL pinned, not counted: %s\n", line.c_str());
  return pinned == seen;
}

}  // namespace convolve::testing
