// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/page_locked.h"

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "kernels/cuda/runtime/check.h"

namespace convolve {
namespace {

struct Block {
  std::uint8_t* memory = nullptr;
  std::size_t bytes = 0;  ///< Whole pages.
  Context context;        ///< In which they were registered.
};

/// Blocks that were given back while a device worked, kept until they can be unlocked.
struct Kept {
  std::mutex mutex;
  std::vector<Block> blocks;
  std::size_t bytes = 0;
  int working = 0;  ///< Devices.
};

/// Never destroyed: nothing of CUDA may run in static destructors.
Kept& kept() {
  static Kept& kept = *new Kept;
  return kept;
}

/// The driver tells contexts that are gone by their ids, as handles are used again.
bool is_alive(const Context& context) {
  unsigned long long id = 0;
  return context.driver.get_id(context.handle, &id) == CUDA_SUCCESS && id == context.id;
}

/// No device works, so the driver has nothing to wait for. Nothing is unlocked once CUDA is lost:
/// the pages stay locked, and what a lost device may still write stays allocated.
void unlock(const Block& block) {
  if (!cuda_usable()) return;
  // Where the context is gone, so is the registration.
  if (is_alive(block.context)) {
    const CurrentContext current(block.context);
    if (current.status().ok() && is_page_locked(block.memory))
      (void)CONVOLVE_CUDA(cudaHostUnregister(block.memory));
  }
  if (cuda_usable()) std::free(block.memory);
}

/// Call with the lock held.
void unlock_if_at_rest(Kept& all) {
  if (all.working > 0) return;
  for (const Block& block : all.blocks)
    unlock(block);
  all.blocks.clear();
  all.bytes = 0;
}

void give_back(const Block& block) {
  Kept& all = kept();
  const std::lock_guard<std::mutex> lock(all.mutex);
  all.blocks.push_back(block);
  all.bytes += block.bytes;
  unlock_if_at_rest(all);
}

/// The smallest kept block that is large enough, or one without memory. Much larger ones are taken
/// only where no other may be made.
Block take_kept(std::size_t bytes) {
  Kept& all = kept();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const std::size_t most = all.bytes < kMostKeptBytes ? 2 * bytes : SIZE_MAX;
  auto best = all.blocks.end();
  for (auto block = all.blocks.begin(); block != all.blocks.end(); ++block)
    if (block->bytes >= bytes && block->bytes <= most &&
        (best == all.blocks.end() || block->bytes < best->bytes))
      best = block;
  if (best == all.blocks.end()) return {};
  const Block block = *best;
  all.blocks.erase(best);
  all.bytes -= block.bytes;
  return block;
}

bool keeps_too_much() {
  Kept& all = kept();
  const std::lock_guard<std::mutex> lock(all.mutex);
  unlock_if_at_rest(all);
  return all.bytes >= kMostKeptBytes;
}

}  // namespace

bool is_page_locked(const void* memory) {
  cudaPointerAttributes attributes;
  return CONVOLVE_CUDA(cudaPointerGetAttributes(&attributes, memory)).ok() &&
         attributes.type == cudaMemoryTypeHost;
}

Status lock_pages(void* memory, std::size_t bytes) {
  if (!cuda_usable()) return cuda_unusable();
  cudaPointerAttributes attributes;
  if (Status status = CONVOLVE_CUDA(cudaPointerGetAttributes(&attributes, memory)); !status.ok())
    return status;
  if (attributes.type == cudaMemoryTypeHost) return {};
  return CONVOLVE_CUDA(cudaHostRegister(memory, bytes, cudaHostRegisterPortable));
}

Result<std::shared_ptr<std::uint8_t>> make_page_locked(const Context& context, std::size_t bytes,
                                                       bool needed) {
  const std::size_t whole =
      (std::max<std::size_t>(bytes, 1) + kPageBytes - 1) / kPageBytes * kPageBytes;
  Block block = take_kept(whole);
  if (block.memory == nullptr) {
    if (keeps_too_much() && !needed)
      return Status(Code::kOutOfMemory,
                    "too much page-locked memory waits for the GPU to come to rest");
    block.memory = static_cast<std::uint8_t*>(std::aligned_alloc(kPageBytes, whole));
    block.bytes = whole;
    block.context = context;
  }
  if (block.memory == nullptr) return Status(Code::kOutOfMemory, "host memory is exhausted");
  if (!is_page_locked(block.memory)) {
    block.context = context;
    if (Status status = lock_pages(block.memory, block.bytes); !status.ok()) {
      give_back(block);
      return status;
    }
  }
  return std::shared_ptr<std::uint8_t>(block.memory, [block](std::uint8_t*) { give_back(block); });
}

void device_begins_work() {
  const std::lock_guard<std::mutex> lock(kept().mutex);
  ++kept().working;
}

void device_ends_work() {
  const std::lock_guard<std::mutex> lock(kept().mutex);
  --kept().working;
}

}  // namespace convolve
