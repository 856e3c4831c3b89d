// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/plan.h"

#include <algorithm>
#include <cmath>

namespace convolve {

namespace {

const char* storage_name(MaskStorage storage) {
  switch (storage) {
    case MaskStorage::kHostMemory:
      return "host-memory";
    case MaskStorage::kConstantMemory:
      return "constant-memory";
    case MaskStorage::kGlobalMemory:
      return "global-memory";
    case MaskStorage::kParameter:
      return "parameter";
  }
  return "?";
}

/// Two digits: predictions are no better than that.
std::string about(double us) {
  double unit = 1;
  while (us >= 100 * unit)
    unit *= 10;
  return "about " + std::to_string(std::max(1L, std::lround(us / unit)) * std::lround(unit)) +
         " us";
}

/// Of the row, then of the column, as sizes are.
std::string spacing_text(const KnotSpacing& spacing) {
  return std::to_string(spacing.row) + "x" + std::to_string(spacing.column);
}

}  // namespace

std::string Plan::to_string() const {
  std::string text = backend == BackendKind::kCuda ? "cuda " : "cpu ";
  text += form_info(form).name;
  if (form == Form::kSeparableSpline) text += " " + spacing_text(knot_spacing);
  if (tile_width > 0)
    text += " tile " + std::to_string(tile_width) + "x" + std::to_string(tile_height);
  if (digits > 0) text += digits == 1 ? " 1 digit" : " " + std::to_string(digits) + " digits";
  text += std::string(" ") + accumulator_name(accumulator) + (rational ? " rational " : " real ");
  text += storage_name(storage);
  if (weighted) {
    text += std::string(", colour alpha-weighted ") + accumulator_name(weighted->accumulator);
    text += weighted->passes == Passes::kRowColumn ? " two-pass" : " one-pass";
  }
  if (predicted_us > 0) text += ", " + about(predicted_us);
  text += " (" + reason + ")";
  return text;
}

bool operator==(const Plan& a, const Plan& b) {
  return a.backend == b.backend && a.form == b.form && a.tile_width == b.tile_width &&
         a.tile_height == b.tile_height && a.rational == b.rational &&
         a.accumulator == b.accumulator && a.digits == b.digits &&
         a.knot_spacing == b.knot_spacing && a.storage == b.storage && a.threads == b.threads &&
         a.weighted == b.weighted && a.reason == b.reason;
}

}  // namespace convolve
