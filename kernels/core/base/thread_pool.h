// SPDX-License-Identifier: LGPL-2.1-or-later
// The one pool of threads that every convolver of the process shares.
//
// Several elements in a pipeline filter at the same time; a pool each would put several threads on
// every core. So there is one pool, as large as the cores this process may use, made at first use.
#pragma once

namespace convolve {

/// Cores this process may run on, its affinity mask respected; at least 1.
int usable_cores();

/// Does band `band` of a job as worker `worker`. Must not throw.
using BandFunction = void (*)(void* context, int band, int worker);

/// Calls `function` once for each band 0 .. bands - 1 and returns when all are done. At most
/// `share` threads take part, the calling one among them; `worker`, 0 .. share - 1, tells them
/// apart, so it can index scratch memory. Any number of threads may call this at the same time. If
/// the system gives no threads, the calling thread does everything. A forked child gets a pool of
/// its own.
void run_bands(int share, int bands, BandFunction function, void* context);

/// The same for a callable `function(band, worker)`.
template <class Function>
void run_bands(int share, int bands, Function&& function) {
  auto* callable = &function;
  run_bands(
      share, bands,
      [](void* context, int band, int worker) {
        (*static_cast<decltype(callable)>(context))(band, worker);
      },
      callable);
}

}  // namespace convolve
