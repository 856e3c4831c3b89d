// SPDX-License-Identifier: LGPL-2.1-or-later
// What a plan takes on a GPU, in microseconds: how much work it is, times constants measured on
// that GPU. Pure, so that the planner's choice is a test.
//
// A launch takes
//   launch + bytes / bandwidth + max(one tile's time, all tiles' work / the device's rate)
// as a picture too small to fill the device waits for its slowest tile, and a large one for the
// units that all tiles share. For a given side of that max it is linear in the constants: so they
// can be fitted to measured times (tests/benchmarks/fit.h).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/core/plan/plan.h"

namespace convolve {

/// What is counted, and what the constants of the same index are microseconds per.
enum CostTerm : int {
  kCostLaunch,     ///< A launch.
  kCostMegabytes,  ///< A million bytes read or written.
  // One tile alone on the device.
  kCostLoneTile,    ///< The tile itself: loads, codes, stores.
  kCostLoneWork,    ///< A unit of work for each of its samples: see work_of().
  kCostLoneSpread,  ///< More, where samples lie apart (interleaved components); tensor: for each
                    ///< product beyond its second window of columns, or byte that is deinterleaved;
                    ///< for pairs and quads of pixels of three or four bytes.
  kCostLoneDouble,  ///< More, where codes are made in double.
  // The device full of tiles.
  kCostSamples,  ///< A million samples in tiles, those beyond the picture's edge included.
  kCostWork,     ///< A unit of work for a million samples.
  kCostSpread,   ///< More for a million samples that lie apart.
  kCostDouble,   ///< More for a million samples whose codes are made in double.
};
inline constexpr int kCostTermCount = 10;
using CostTerms = std::array<double, kCostTermCount>;

/// "coarsened float32": of its forms the first, and the accumulator if there are several.
std::string cost_class_name(CostClass cost_class);

/// Published figures of a GPU, which constants of one are scaled to another by.
struct GpuFigures {
  int processors = 0;          ///< SMs.
  int clock_mhz = 0;           ///< Boost clock.
  int gigabytes_a_second = 0;  ///< Of its memory.
  // Multiply-adds a clock and SM.
  int float32 = 0;
  int int32 = 0;
  int float64 = 0;
  int int8 = 0;  ///< In 16x8x32 products (mma.sync).
};

struct CostConstants {
  int compute_capability = 0;  ///< 90 for 9.0
  const char* gpu = "";        ///< That `figures` are of.
  bool derived = false;        ///< Scaled from another row, not measured.
  GpuFigures figures;
  std::array<CostTerms, kCostClassCount> terms{};

  const CostTerms& of(CostClass cost_class) const {
    return terms[static_cast<std::size_t>(cost_class)];
  }
};

/// The row for a device: of the newest compute capability not above the device's (the oldest, if
/// all are), scaled to the processors, clock and bandwidth of the device where these are known.
CostConstants cost_constants(const DeviceCapabilities& device);

/// `row` scaled to a GPU with `figures`: work by its rate; all other time of a tile by the clock
/// and, where tiles fill the device, by the number of processors; bytes by bandwidth.
CostConstants scaled(const CostConstants& row, const GpuFigures& figures);

/// All rows, measured and derived, in the order of compute capability.
const std::vector<CostConstants>& cost_table();

CostClass cost_class(const Plan& plan);

/// A launch of a kernel: it takes what the dearest of `regimes` takes, which are the two sides of
/// the max above (tensor, which takes all planes in one launch, has a lone tile of each; of tiles
/// in its shared memory there is one regime, in which the first one's time is added).
struct LaunchWork {
  std::vector<CostTerms> regimes;
};

/// What `plan` does to a frame, launch by launch. Units of work for a sample are multiply-adds;
/// for tensor, and separable on tensor cores, they are products of 128 outputs, for box the sides
/// of the mask, W + H, and shift has none. Of tensor's groups the tiles count that the busiest of
/// so many processors takes, as if all of them took as many.
std::vector<LaunchWork> work_of(const Plan& plan, const FrameFormat& format, const Mask& mask,
                                int processors);

double launch_microseconds(const CostTerms& constants, const LaunchWork& launch);

/// What `plan` takes for a frame of `format` that stays on the device. What is left out: colour
/// weighted by alpha.
double predicted_microseconds(const CostConstants& constants, const Plan& plan,
                              const FrameFormat& format, const Mask& mask);

}  // namespace convolve
