// SPDX-License-Identifier: LGPL-2.1-or-later
// Who owns which bytes of the constant banks. Each kernel variant (.cu file) has a bank of 64 KB in
// each context, and all filters of the process share it: a mask takes a slot and keeps it, so
// filters with different masks never disturb each other.
//
// Ordering. A mask is uploaded and read on the stream of the filter that owns its slot, so no other
// stream has to wait for the upload. What has to be kept apart is the next owner, whose stream
// knows nothing of this one: a slot given back is used again only after the last frame that read
// it.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/base/status.h"
#include "kernels/core/plan/plan.h"

namespace convolve {

class MaskBank;
struct MaskBankEntry;

/// Ownership of a slot. Given back by its destructor, which needs the slot's context current; a
/// default-constructed one owns nothing.
class MaskSlot {
 public:
  MaskSlot() = default;
  MaskSlot(MaskSlot&& other) noexcept;
  MaskSlot& operator=(MaskSlot&& other) noexcept;
  ~MaskSlot();

  explicit operator bool() const { return entry_ != nullptr; }
  /// Byte offset into the bank, a multiple of 256.
  int offset() const;

 private:
  friend class MaskBank;
  MaskSlot(MaskBankEntry* entry, cudaStream_t stream) : entry_(entry), stream_(stream) {}

  MaskBankEntry* entry_ = nullptr;
  cudaStream_t stream_ = nullptr;
};

/// Takes `bytes` of the bank of `kernel` in the current context, whose id is given; the mask will
/// be uploaded and read on `stream`. A slot that owns nothing means that the bank is full; before
/// that it waits for frames in flight that still read slots given back. Any thread. Errors: of
/// CUDA.
Result<MaskSlot> take_mask_slot(std::uint64_t context_id, KernelKind kernel, std::size_t bytes,
                                cudaStream_t stream);

/// Frees what is left of slots given back in the current context, where their frames are done: the
/// last act of a device that closes.
void sweep_mask_slots(std::uint64_t context_id);

}  // namespace convolve
