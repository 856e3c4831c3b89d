// SPDX-License-Identifier: LGPL-2.1-or-later
// What every benchmark program does: random input, and batches of frames and copies by turns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/benchmarks/report.h"
#include "tests/benchmarks/targets.h"

namespace convolve::benchmarks {

/// Opens where `backend` runs, the CPU with so many threads or all. Null, having said why, with the
/// program's exit status in `status`: 77 without a GPU, 1 where one is required, 2 for a build that
/// must not be measured.
std::unique_ptr<Target> open_target(BackendKind backend, int* status, int threads = 0);

Setting setting_of(Target& target, BackendKind backend, const std::string& commit);

/// Random bytes, the same ones on every machine.
std::vector<std::uint8_t> make_noise(std::size_t bytes);

/// Batches of what `target` was loaded with, each beside one of copies, for about `seconds`. False
/// if one failed.
bool take_times(Target& target, double seconds, Spread* frames, Spread* copies);

}  // namespace convolve::benchmarks
