// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/gpu/host_memory.h"

#include <malloc.h>
#include <unistd.h>

#include <fstream>

namespace cudaconvolve::gpu {

long long host_bytes_used() {
  malloc_trim(0);
  long long pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

}  // namespace cudaconvolve::gpu
