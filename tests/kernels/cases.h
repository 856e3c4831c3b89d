// SPDX-License-Identifier: LGPL-2.1-or-later
// What the conformance run tries: every row is a mask, a picture and the ways to lay it out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/core/base/border.h"
#include "kernels/core/plan/plan.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/pictures.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {

/// One picture filtered with one mask, on every kernel, in several layouts, borders and tiles.
struct Case {
  std::string suite;
  TestMaskPtr mask;
  int width = 0;
  int height = 0;
  SampleType samples = kU8;
  Levels levels = Levels::kFull;
  Fill fill = Fill::kRandom;
  std::vector<Arrangement> arrangements{Arrangement::kPacked1};
  std::vector<Border> borders;
  std::vector<int> tile_widths{0};
  double scale = 1;
  double bias = 0;
  KernelKind only = KernelKind::kAuto;  ///< kAuto: every kernel.
  /// The convolver is planned for a frame this many rows and columns larger (a field).
  int spare = 0;

  /// The kernel is one that the case is for.
  bool takes(KernelKind kernel) const { return only == KernelKind::kAuto || only == kernel; }
  /// Those to plan for a kernel: one, 0, for kernels without tiles to choose.
  std::vector<int> tile_widths_of(KernelKind kernel) const;
  Options options(KernelKind kernel, std::optional<Form> form, int tile_width) const;

  /// "matrix random-5x5-real 31x33 u16"
  std::string name() const;
  /// Rough work, to start the long cases first.
  double cost() const;
};

/// True for kernels whose tile width a user may ask for.
bool is_tiled(KernelKind kernel);

/// All cases; with `quick` a selection that keeps every suite.
std::vector<Case> make_cases(bool quick);

}  // namespace convolve::testing
