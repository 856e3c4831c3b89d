// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/pinned_pieces.h"

#include <cstdlib>
#include <mutex>
#include <vector>

#include "kernels/cuda/check.h"

namespace convolve {
namespace {

constexpr std::size_t kPageBytes = 4096;

struct Pool {
  std::mutex mutex;
  std::vector<void*> pieces;
};

/// Never destroyed: nothing of CUDA may run in static destructors.
Pool& pool() {
  static Pool& pool = *new Pool;
  return pool;
}

/// Registers memory for all contexts. It may be so already; the context that it was registered in
/// may also be gone, and its registration with it.
Status lock_pages(void* piece) {
  if (!cuda_usable()) return cuda_unusable();
  const cudaError_t error = cudaHostRegister(piece, kPieceBytes, cudaHostRegisterPortable);
  if (error != cudaErrorHostMemoryAlreadyRegistered) return cuda_status(error, "cudaHostRegister");
  (void)cudaGetLastError();
  return {};
}

}  // namespace

Result<void*> take_piece() {
  void* piece = nullptr;
  {
    const std::lock_guard<std::mutex> lock(pool().mutex);
    if (!pool().pieces.empty()) {
      piece = pool().pieces.back();
      pool().pieces.pop_back();
    }
  }
  if (piece == nullptr) piece = std::aligned_alloc(kPageBytes, kPieceBytes);
  if (piece == nullptr) return Status(Code::kOutOfMemory, "host memory is exhausted");
  if (Status status = lock_pages(piece); !status.ok()) {
    give_piece(piece);
    return status;
  }
  return piece;
}

void give_piece(void* piece) {
  const std::lock_guard<std::mutex> lock(pool().mutex);
  pool().pieces.push_back(piece);
}

}  // namespace convolve
