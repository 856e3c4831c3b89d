// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs conformance cases through the engine's public face, on one thread, and keeps the tally.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/convolver.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/compare.h"
#include "tests/kernels/form_counts.h"

namespace convolve::testing {

struct KernelTally {
  std::int64_t cases = 0;   ///< Frames filtered and compared.
  std::int64_t failed = 0;  ///< Of these, frames with any fault.
  Comparison comparison;
};

struct Tally {
  std::map<KernelKind, KernelTally> kernels;
  std::set<std::string> refusals;  ///< "cpu separable random-3x3-real: rank"
  FormCounts forms;
  std::vector<std::string> failures;  ///< The first few, for people.

  void add(const Tally& other);
};

class Runner {
 public:
  /// `devices` are of one backend and this runner's own.
  Runner(std::vector<std::shared_ptr<Device>> devices, std::vector<KernelKind> kernels);

  void run(const Case& c);
  const Tally& tally() const { return tally_; }

 private:
  /// Input and truth of one component, shared by all layouts, kernels and tiles of a case.
  struct Scene {
    Picture input;
    std::vector<ReferenceResult> truth;  ///< By border of the case.
  };
  /// A frame, and what filters it.
  struct Planned {
    const FrameFormat& format;  ///< What convolvers are made for.
    const GuardedFrame& source;
    const std::shared_ptr<Device>& device;
    std::string format_class;
    FormCounts* counts;  ///< Of what forms serve and decline, or null.
  };
  /// Width, height, index, black level, range, and whether bias applies.
  using SceneKey = std::tuple<int, int, int, int, int, bool>;
  using Scenes = std::map<SceneKey, Scene>;

  const Scene& scene(const Case& c, const Component& component, int index, Scenes& scenes);
  void run_layout(const Case& c, Arrangement arrangement, Scenes& scenes);
  /// In all forms of `kernel` that serve.
  void run_kernel(const Case& c, const Planned& how, KernelKind kernel, int tile_width,
                  const std::string& name, Scenes& scenes);
  void run_form(const Case& c, const Planned& how, Convolver& convolver, Form form, int tile_width,
                const std::string& name, Scenes& scenes);
  Comparison compare(const Case& c, std::size_t border, const FrameView& source,
                     const FrameView& output, Scenes& scenes);
  void refuse(const Case& c, KernelKind kernel, int tile_width, const std::string& name,
              const Status& status);
  void fail(KernelKind kernel, const std::string& name, const std::string& what);

  std::vector<std::shared_ptr<Device>> devices_;
  std::vector<KernelKind> kernels_;
  Tally tally_;
};

/// "cpu" or "cuda".
const char* backend_name(BackendKind backend);
const char* border_name(Border border);

/// The ground that a refusal's message names: size, memory, rank or device; or empty.
std::string refusal_ground(const Status& status);

}  // namespace convolve::testing
