// SPDX-License-Identifier: LGPL-2.1-or-later
// Those functions of CUDA's runtime that bring frames across the bus, on the host: a program that
// links fake_cudart.cc in the place of the runtime needs no GPU. A stream is a thread that does one
// thing after another, each after a time that nobody knows.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>

#include "kernels/cuda/runtime/context.h"

namespace fake_cudart {

/// A context whose functions do nothing.
convolve::Context context();

/// A stream; owned by nobody, it ends with the process.
cudaStream_t make_stream();

/// Does `work` in the order of the stream, as a kernel would.
void launch(cudaStream_t stream, std::function<void()> work);

/// How many bytes may be page-locked from now on, beside those that are.
void limit_page_locked(std::size_t bytes);

}  // namespace fake_cudart
