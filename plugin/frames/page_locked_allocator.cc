// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/frames/page_locked_allocator.h"

#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "plugin/log.h"

namespace {

constexpr char kMemoryType[] = "CudaConvolvePageLockedMemory";

/// What an allocator and the memory that it gave share: the memory may be the last to go.
struct Budget {
  std::mutex mutex;
  gsize bytes = 0;                           ///< Given and not given back.
  std::shared_ptr<convolve::Device> device;  ///< Null once closed.
};

/// A GstMemory of `block`, or, as a share, of a part of its parent's.
struct PageLockedMemory {
  GstMemory memory;
  std::shared_ptr<std::uint8_t> block;
  std::shared_ptr<Budget> budget;  ///< Null for a share.
};

}  // namespace

struct GstCudaConvolveAllocator {
  GstAllocator parent;
  std::shared_ptr<Budget> budget;
};
struct GstCudaConvolveAllocatorClass {
  GstAllocatorClass parent_class;
};

G_DEFINE_TYPE(GstCudaConvolveAllocator, gst_cuda_convolve_allocator, GST_TYPE_ALLOCATOR)

namespace {

GstCudaConvolveAllocator* as_ours(gpointer allocator) {
  return G_TYPE_CHECK_INSTANCE_CAST(allocator, gst_cuda_convolve_allocator_get_type(),
                                    GstCudaConvolveAllocator);
}

/// A block of page-locked memory, counted in; null if there is none. The device is asked under the
/// lock, so that it is not closed meanwhile.
std::shared_ptr<std::uint8_t> take(GstAllocator* allocator, Budget& budget, gsize bytes) {
  const std::lock_guard lock(budget.mutex);
  if (budget.device == nullptr || bytes > cudaconvolve::kMostPageLockedBytes ||
      budget.bytes > cudaconvolve::kMostPageLockedBytes - bytes)
    return nullptr;
  auto block = budget.device->page_locked_memory(bytes);
  if (!block.ok()) {
    GST_INFO_OBJECT(allocator, "no page-locked memory (%s): frames lie in ordinary memory",
                    block.status().message().c_str());
    return nullptr;
  }
  budget.bytes += bytes;
  return std::move(block.value());
}

void give_back(Budget& budget, gsize bytes) {
  const std::lock_guard lock(budget.mutex);
  budget.bytes -= bytes;
}

GstMemory* wrap(GstAllocator* allocator, GstMemory* parent, std::shared_ptr<std::uint8_t> block,
                std::shared_ptr<Budget> budget, GstMemoryFlags flags, gsize maxsize, gsize align,
                gsize offset, gsize size) {
  auto* memory = new PageLockedMemory{{}, std::move(block), std::move(budget)};
  gst_memory_init(&memory->memory, flags, allocator, parent, maxsize, align, offset, size);
  return &memory->memory;
}

GstMemory* allocate(GstAllocator* allocator, gsize size, GstAllocationParams* params) {
  constexpr gsize kPage = 4096;
  const gsize maxsize = size + params->prefix + params->padding;
  const std::shared_ptr<Budget>& budget = as_ours(allocator)->budget;
  std::shared_ptr<std::uint8_t> block;
  if (params->align < kPage) block = take(allocator, *budget, maxsize);
  if (block == nullptr) return gst_allocator_alloc(nullptr, size, params);
  if ((params->flags & GST_MEMORY_FLAG_ZERO_PREFIXED) != 0)
    std::memset(block.get(), 0, params->prefix);
  if ((params->flags & GST_MEMORY_FLAG_ZERO_PADDED) != 0)
    std::memset(block.get() + params->prefix + size, 0, params->padding);
  return wrap(allocator, nullptr, std::move(block), budget, params->flags, maxsize, params->align,
              params->prefix, size);
}

/// No exception may cross GStreamer's C frames: without memory there is no GstMemory.
GstMemory* gst_cuda_convolve_allocator_alloc(GstAllocator* allocator, gsize size,
                                             GstAllocationParams* params) {
  try {
    return allocate(allocator, size, params);
  } catch (...) {
    return nullptr;
  }
}

void gst_cuda_convolve_allocator_free(GstAllocator* /*allocator*/, GstMemory* memory) {
  auto* const ours = reinterpret_cast<PageLockedMemory*>(memory);
  if (ours->budget != nullptr) give_back(*ours->budget, memory->maxsize);
  delete ours;
}

gpointer map_memory(GstMemory* memory, gsize /*maxsize*/, GstMapFlags /*flags*/) {
  return reinterpret_cast<PageLockedMemory*>(memory)->block.get();
}

void unmap_memory(GstMemory* /*memory*/) {}

GstMemory* share_memory(GstMemory* memory, gssize offset, gssize size) {
  GstMemory* const parent = memory->parent != nullptr ? memory->parent : memory;
  const gsize begin = memory->offset + static_cast<gsize>(offset);
  const gsize bytes =
      size < 0 ? memory->size - static_cast<gsize>(offset) : static_cast<gsize>(size);
  try {
    return wrap(memory->allocator, parent, reinterpret_cast<PageLockedMemory*>(memory)->block,
                nullptr,
                static_cast<GstMemoryFlags>(GST_MINI_OBJECT_FLAGS(parent) |
                                            GST_MINI_OBJECT_FLAG_LOCK_READONLY),
                memory->maxsize, memory->align, begin, bytes);
  } catch (...) {
    return nullptr;
  }
}

/// Neighbours are parts of one block.
gboolean is_span(GstMemory* first, GstMemory* second, gsize* offset) {
  auto* const a = reinterpret_cast<PageLockedMemory*>(first);
  auto* const b = reinterpret_cast<PageLockedMemory*>(second);
  if (offset != nullptr) *offset = first->offset - (first->parent ? first->parent->offset : 0);
  return a->block == b->block && first->offset + first->size == second->offset;
}

}  // namespace

static void gst_cuda_convolve_allocator_finalize(GObject* object) {
  as_ours(object)->budget.~shared_ptr();
  G_OBJECT_CLASS(gst_cuda_convolve_allocator_parent_class)->finalize(object);
}

static void gst_cuda_convolve_allocator_class_init(GstCudaConvolveAllocatorClass* klass) {
  G_OBJECT_CLASS(klass)->finalize = gst_cuda_convolve_allocator_finalize;
  GST_ALLOCATOR_CLASS(klass)->alloc = gst_cuda_convolve_allocator_alloc;
  GST_ALLOCATOR_CLASS(klass)->free = gst_cuda_convolve_allocator_free;
}

static void gst_cuda_convolve_allocator_init(GstCudaConvolveAllocator* self) {
  // GLib ends the process where memory for an object is missing, and so does this.
  [self]() noexcept { new (&self->budget) std::shared_ptr<Budget>(std::make_shared<Budget>()); }();
  GstAllocator* const allocator = GST_ALLOCATOR(self);
  allocator->mem_type = kMemoryType;
  allocator->mem_map = map_memory;
  allocator->mem_unmap = unmap_memory;
  allocator->mem_share = share_memory;
  allocator->mem_is_span = is_span;
  GST_OBJECT_FLAG_SET(self, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

namespace cudaconvolve {

GstAllocator* new_page_locked_allocator(std::shared_ptr<convolve::Device> device) {
  auto* const allocator = GST_ALLOCATOR(
      gst_object_ref_sink(g_object_new(gst_cuda_convolve_allocator_get_type(), nullptr)));
  as_ours(allocator)->budget->device = std::move(device);
  return allocator;
}

void close_page_locked_allocator(GstAllocator* allocator) {
  std::shared_ptr<convolve::Device> device;
  Budget& budget = *as_ours(allocator)->budget;
  const std::lock_guard lock(budget.mutex);
  device.swap(budget.device);
}

bool is_page_locked(GstMemory* memory) {
  return gst_memory_is_type(memory, kMemoryType);
}

}  // namespace cudaconvolve
