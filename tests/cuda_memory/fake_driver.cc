// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands in for NVIDIA's driver as GStreamer's CUDA library uses it, so that frames in CUDA memory
// are tested without a GPU: with that library itself, its pools, its mapping and its contexts.
//
//   FAKE_DRIVER_DEVICES=N   as many GPUs as that; 1 if it is not set
//   FAKE_DRIVER_BYTES=N     as much memory as that in all; as the host has if it is not set
//
// There are no kernels, and what no test needs (OpenGL, textures, modules) fails.
#include "tests/cuda_memory/fake_driver.h"

#include <cuda.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "tests/cuda_memory/fake_stream.h"

struct CUctx_st {
  int device = 0;
  bool primary = false;
};

namespace {

struct Block {
  std::size_t bytes;
  CUcontext context;
};

struct Driver {
  std::mutex mutex;
  std::map<std::uintptr_t, Block> blocks;
  std::size_t bytes = 0;  ///< Of all blocks.
  std::set<CUcontext> contexts;
  std::map<int, CUcontext> primary;
  int allowed = -1;
  bool broken = false;
  int frees_when_broken = 0;
};

Driver& driver() {
  static Driver& driver = *new Driver;
  return driver;
}

thread_local std::vector<CUcontext> stack;

CUcontext current() {
  return stack.empty() ? nullptr : stack.back();
}

int device_count() {
  const char* const text = std::getenv("FAKE_DRIVER_DEVICES");
  return text != nullptr ? std::atoi(text) : 1;
}

bool is_broken() {
  const std::lock_guard lock(driver().mutex);
  return driver().broken;
}

bool reaches(CUdeviceptr first, std::size_t pitch, std::size_t row_bytes, std::size_t rows);

CUresult check(const CUDA_MEMCPY2D& copy) {
  if (is_broken()) return CUDA_ERROR_ILLEGAL_ADDRESS;
  if (copy.WidthInBytes == 0 || copy.Height == 0) return CUDA_SUCCESS;
  if (copy.srcMemoryType != CU_MEMORYTYPE_HOST &&
      !reaches(copy.srcDevice, copy.srcPitch, copy.WidthInBytes, copy.Height))
    return CUDA_ERROR_INVALID_VALUE;
  if (copy.dstMemoryType != CU_MEMORYTYPE_HOST &&
      !reaches(copy.dstDevice, copy.dstPitch, copy.WidthInBytes, copy.Height))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

void copy_rows(const CUDA_MEMCPY2D& copy) {
  const auto* from = static_cast<const char*>(copy.srcMemoryType == CU_MEMORYTYPE_HOST
                                                  ? copy.srcHost
                                                  : reinterpret_cast<const void*>(copy.srcDevice));
  auto* to = static_cast<char*>(copy.dstMemoryType == CU_MEMORYTYPE_HOST
                                    ? copy.dstHost
                                    : reinterpret_cast<void*>(copy.dstDevice));
  for (std::size_t y = 0; y < copy.Height; ++y)
    std::memcpy(to + (copy.dstY + y) * copy.dstPitch + copy.dstXInBytes,
                from + (copy.srcY + y) * copy.srcPitch + copy.srcXInBytes, copy.WidthInBytes);
}

CUcontext new_context(int device, bool primary) {
  auto* const context = new CUctx_st{device, primary};
  driver().contexts.insert(context);
  return context;
}

/// The block that holds the address, or null; under the lock.
const Block* block_at(std::uintptr_t address) {
  Driver& d = driver();
  const auto behind = d.blocks.upper_bound(address);
  if (behind == d.blocks.begin()) return nullptr;
  const auto found = std::prev(behind);
  return address < found->first + found->second.bytes ? &found->second : nullptr;
}

/// True if rows of device memory lie in one block of the current context.
bool reaches(CUdeviceptr first, std::size_t pitch, std::size_t row_bytes, std::size_t rows) {
  const std::lock_guard lock(driver().mutex);
  const Block* const block = block_at(first);
  return block != nullptr && block->context == current() &&
         block_at(first + (rows - 1) * pitch + row_bytes - 1) == block;
}

CUresult take(CUdeviceptr* address, std::size_t bytes) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  if (current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (d.allowed == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (d.allowed > 0) --d.allowed;
  const char* const all = std::getenv("FAKE_DRIVER_BYTES");
  if (all != nullptr && d.bytes + bytes > std::strtoull(all, nullptr, 10))
    return CUDA_ERROR_OUT_OF_MEMORY;
  constexpr std::size_t kAlignment = 512;
  void* memory = nullptr;
  if (posix_memalign(&memory, kAlignment, bytes) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, 0xE7, bytes);  // Nobody may rely on zeros.
  *address = reinterpret_cast<CUdeviceptr>(memory);
  d.blocks[*address] = {bytes, current()};
  d.bytes += bytes;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

void* fake_driver_current(void) {
  return current();
}
void* fake_driver_primary(int device) {
  if (device < 0 || device >= device_count()) return nullptr;
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  CUcontext& context = d.primary[device];
  if (context == nullptr) context = new_context(device, true);
  return context;
}
int fake_driver_device_of(void* context) {
  return static_cast<CUcontext>(context)->device;
}
void* fake_driver_context_of(const void* address) {
  const std::lock_guard lock(driver().mutex);
  const Block* const block = block_at(reinterpret_cast<std::uintptr_t>(address));
  return block != nullptr ? block->context : nullptr;
}
void fake_driver_allow(int count) {
  const std::lock_guard lock(driver().mutex);
  driver().allowed = count;
}
void fake_driver_break(int broken) {
  const std::lock_guard lock(driver().mutex);
  if (!driver().broken) driver().frees_when_broken = 0;
  driver().broken = broken != 0;
}
int fake_driver_frees_when_broken(void) {
  const std::lock_guard lock(driver().mutex);
  return driver().frees_when_broken;
}
int fake_driver_blocks(void) {
  const std::lock_guard lock(driver().mutex);
  return static_cast<int>(driver().blocks.size());
}
int fake_driver_contexts(void) {
  const std::lock_guard lock(driver().mutex);
  return static_cast<int>(driver().contexts.size() - driver().primary.size());
}

CUresult cuInit(unsigned) {
  return device_count() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult cuGetErrorName(CUresult, const char** text) {
  *text = "FAKE_ERROR";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "an error of the stand-in driver";
  return CUDA_SUCCESS;
}
CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  *count = device_count();
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (ordinal < 0 || ordinal >= device_count()) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice) {
  std::strncpy(name, "stand-in", static_cast<std::size_t>(length));
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  *value = which == CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT ||
                   which == CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT
               ? 512
               : 1;
  return CUDA_SUCCESS;
}
#undef cuDeviceGetUuid
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  std::memset(uuid->bytes, device + 1, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice, CUdevice) {
  *can = 0;
  return CUDA_SUCCESS;
}

#undef cuCtxCreate
#undef cuCtxDestroy
#undef cuCtxPopCurrent
#undef cuCtxPushCurrent
#undef cuMemAlloc
#undef cuMemAllocPitch
#undef cuMemAllocHost
#undef cuMemcpy2D
#undef cuMemcpy2DAsync
#undef cuMemFree

CUresult cuCtxCreate_v2(CUcontext* context, unsigned, CUdevice device) {
  const std::lock_guard lock(driver().mutex);
  *context = new_context(device, false);
  stack.push_back(*context);
  return CUDA_SUCCESS;
}
CUresult cuCtxDestroy_v2(CUcontext context) {
  if (!stack.empty() && stack.back() == context) stack.pop_back();
  const std::lock_guard lock(driver().mutex);
  driver().contexts.erase(context);
  delete context;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  stack.push_back(context);
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = stack.back();
  stack.pop_back();
  return CUDA_SUCCESS;
}
CUresult cuCtxEnablePeerAccess(CUcontext, unsigned) {
  return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
}
CUresult cuCtxDisablePeerAccess(CUcontext) {
  return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
  return take(address, bytes);
}
CUresult cuMemAllocPitch_v2(CUdeviceptr* address, std::size_t* pitch, std::size_t width,
                            std::size_t height, unsigned) {
  constexpr std::size_t kPitch = 512;
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return take(address, *pitch * height);
}
CUresult cuMemFree_v2(CUdeviceptr address) {
  Driver& d = driver();
  const std::lock_guard lock(d.mutex);
  if (d.broken) ++d.frees_when_broken;
  const auto found = d.blocks.find(address);
  if (found == d.blocks.end()) return CUDA_ERROR_INVALID_VALUE;
  d.bytes -= found->second.bytes;
  d.blocks.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return CUDA_SUCCESS;
}
CUresult cuMemAllocHost_v2(void** address, std::size_t bytes) {
  *address = std::malloc(bytes);
  return *address != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemFreeHost(void* address) {
  std::free(address);
  return CUDA_SUCCESS;
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
  if (CUresult result = check(*copy); result != CUDA_SUCCESS) return result;
  copy_rows(*copy);
  return CUDA_SUCCESS;
}
/// What comes from the host is taken at once, as from any memory that is not page-locked.
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  if (CUresult result = check(*copy); result != CUDA_SUCCESS) return result;
  CUDA_MEMCPY2D later = *copy;
  const std::size_t bytes =
      copy->Height == 0 ? 0 : (copy->Height - 1) * copy->srcPitch + copy->WidthInBytes;
  std::shared_ptr<std::vector<char>> taken;
  if (copy->srcMemoryType == CU_MEMORYTYPE_HOST) {
    const auto* first =
        static_cast<const char*>(copy->srcHost) + copy->srcY * copy->srcPitch + copy->srcXInBytes;
    taken = std::make_shared<std::vector<char>>(first, first + bytes);
    later.srcHost = taken->data();
    later.srcY = later.srcXInBytes = 0;
  }
  const auto work = [later, taken] { copy_rows(later); };
  if (stream == nullptr)
    work();
  else
    stream->add(work);
  return CUDA_SUCCESS;
}
CUresult cuStreamSynchronize(CUstream stream) {
  if (stream != nullptr) stream->wait();
  return is_broken() ? CUDA_ERROR_ILLEGAL_ADDRESS : CUDA_SUCCESS;
}
}
