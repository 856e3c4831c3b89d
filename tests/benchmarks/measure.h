// SPDX-License-Identifier: LGPL-2.1-or-later
// What every benchmark program does: random input, and batches of frames and copies by turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/benchmarks/report.h"
#include "tests/benchmarks/targets.h"

namespace convolve::benchmarks {

/// Whether times of this build mean anything.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool kMeasurableBuild = true;
#else
inline constexpr bool kMeasurableBuild = false;
#endif

/// Random bytes, the same ones on every machine.
std::vector<std::uint8_t> make_noise(std::size_t bytes);

/// Batches of what `target` was loaded with, each beside one of copies, for about `seconds`. False
/// if one failed.
bool take_times(Target& target, double seconds, Spread* frames, Spread* copies);

}  // namespace convolve::benchmarks
