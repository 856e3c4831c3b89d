// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

namespace cudaconvolve::gpu {

/// Bytes in use on the current CUDA device: by this process where the driver tells (outside of
/// containers that hide its number), else by all. 0 in builds without CUDA. Ends the process with
/// status 1 if the device does not answer.
long long device_bytes_used();

}  // namespace cudaconvolve::gpu
