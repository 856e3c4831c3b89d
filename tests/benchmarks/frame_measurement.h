// SPDX-License-Identifier: LGPL-2.1-or-later
// Times of whole frames of one format and size, which a target holds, through masks and kernels.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/benchmarks/frame_cases.h"
#include "tests/benchmarks/frame_report.h"
#include "tests/benchmarks/npp.h"
#include "tests/benchmarks/targets.h"
#include "tests/benchmarks/verify.h"

namespace convolve::benchmarks {

/// A kernel that ran, or could not serve: then row.served is false and `plan` empty.
struct FrameResult {
  FrameRow row;
  std::optional<Plan> plan;
};

class FrameMeasurement {
 public:
  /// Each time takes about `seconds` and the check of its result. `fma_rate` as in Setting.
  FrameMeasurement(Target& target, double seconds, double fma_rate)
      : target_(target), seconds_(seconds), fma_rate_(fma_rate) {}

  /// Frames for what follows. False, having said so, if memory is out.
  bool lay_out(const FormatCase& tested, const SizeCase& size);
  const FrameFormat& format() const { return format_; }

  /// The mask for what follows, by the names that rows show.
  void set_mask(const MaskCase& tested, const std::string& kind, int side);
  const Mask& mask() const { return mask_.mask->mask; }

  /// Nothing, having said so, after a wrong result or a failed call.
  std::optional<FrameResult> run(KernelKind kernel, std::optional<Form> form = std::nullopt);

  /// What run() would run on `device`, predictions included; or why it cannot.
  Result<Plan> plan(KernelKind kernel, std::optional<Form> form,
                    const DeviceCapabilities& device) const;

  /// What NPP cannot or does wrong is said in its row and is no failure of ours.
  FrameRow run_npp(Npp& npp);

 private:
  Options options(KernelKind kernel, std::optional<Form> form) const;

  /// Fills in `row` if all went well; returns what there is to say.
  std::string try_npp(Npp& npp, FrameRow& row);

  Target& target_;
  double seconds_;
  double fma_rate_;
  FrameFormat format_;
  AlphaMode alpha_mode_ = AlphaMode::kStraight;
  std::vector<std::uint8_t> noise_;
  MaskCase mask_;
  std::optional<SampledTruth> truth_;
  FrameRow row_;  ///< What all rows of the format, size and mask share.
};

}  // namespace convolve::benchmarks
