// SPDX-License-Identifier: LGPL-2.1-or-later
// What the bus between host and GPU lets through at best, measured now. bus_limit.cc in builds with
// CUDA, bus_limit_stub.cc in others.
#pragma once

#include <cstddef>
#include <string>

namespace cudaconvolve::pipelines {

/// "NVIDIA H100, driver 580.1, runtime 13.0" of device 0; empty, and why, without one.
std::string gpu_description(std::string* why);

/// Frames of so many bytes a second that device 0 can both receive and send back: copies of whole
/// frames between page-locked memory and the device, in both directions at once. 0 if CUDA failed.
double bus_frames_per_second(std::size_t frame_bytes);

}  // namespace cudaconvolve::pipelines
