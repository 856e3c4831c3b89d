// SPDX-License-Identifier: LGPL-2.1-or-later
#pragma once

namespace cudaconvolve::gpu {

/// Resident bytes of this process, after the allocator has given back what it can: without that it
/// keeps more or less of what was freed, by how large frames and threads came and went.
long long host_bytes_used();

}  // namespace cudaconvolve::gpu
