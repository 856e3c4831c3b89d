// SPDX-License-Identifier: LGPL-2.1-or-later
// How many of the conformance cases each form serves and how many it declines, by class of format.
// Pinned in forms.txt: a form that declined what it used to serve would pass unseen otherwise, as a
// case that nobody runs cannot fail.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/plan/plan.h"
#include "tests/kernels/cases.h"

namespace convolve::testing {

struct FormCount {
  long served = 0;
  long declined = 0;
};

/// "packed1 8-bit", "nv12 16-bit": the arrangement of the components and how large samples are.
std::string format_class(Arrangement arrangement, const SampleType& samples);

/// The forms of `kernel` on `backend`, in the order of the table.
std::vector<Form> forms_of(KernelKind kernel, BackendKind backend);

/// By form and class of format. A case counts once for each of its arrangements and tile widths.
class FormCounts {
 public:
  void add(Form form, const std::string& format_class, bool served);
  void add(const FormCounts& other);

  /// What a device of these capabilities would plan for the case with each of `kernels`.
  void add_plans(const Case& c, const std::vector<KernelKind>& kernels,
                 const DeviceCapabilities& device);

  /// "cuda tensor-pairs packed1 8-bit: 512 served, 4012 declined", a line for each form and
  /// class that it serves at all.
  std::set<std::string> lines(BackendKind backend) const;

 private:
  std::map<std::pair<Form, std::string>, FormCount> counts_;
};

/// True if `seen` are the lines for `backend` and `kernels` in `file`; prints those that differ.
bool check_forms(const std::string& file, BackendKind backend,
                 const std::vector<KernelKind>& kernels, const std::set<std::string>& seen);

}  // namespace convolve::testing
