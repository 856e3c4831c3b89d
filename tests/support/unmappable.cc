// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/support/unmappable.h"

namespace {

struct UnmappableAllocator {
  GstAllocator parent;
};
struct UnmappableAllocatorClass {
  GstAllocatorClass parent_class;
};

G_DEFINE_TYPE(UnmappableAllocator, unmappable_allocator, GST_TYPE_ALLOCATOR)

void unmappable_free(GstAllocator*, GstMemory* memory) {
  g_free(memory);
}

void unmappable_allocator_class_init(UnmappableAllocatorClass* klass) {
  klass->parent_class.free = unmappable_free;
}

void unmappable_allocator_init(UnmappableAllocator* self) {
  GstAllocator* allocator = GST_ALLOCATOR_CAST(self);
  allocator->mem_type = "Unmappable";
  allocator->mem_map = [](GstMemory*, gsize, GstMapFlags) -> gpointer { return nullptr; };
  allocator->mem_unmap = [](GstMemory*) {};
  GST_OBJECT_FLAG_SET(allocator, GST_ALLOCATOR_FLAG_CUSTOM_ALLOC);
}

}  // namespace

namespace check {

GstMemory* unmappable_memory(gsize size) {
  auto* allocator = GST_ALLOCATOR_CAST(g_object_new(unmappable_allocator_get_type(), nullptr));
  gst_object_ref_sink(allocator);
  GstMemory* memory = g_new0(GstMemory, 1);
  gst_memory_init(memory, GST_MEMORY_FLAG_NO_SHARE, allocator, nullptr, size, 0, 0, size);
  gst_object_unref(allocator);  // The memory holds it.
  return memory;
}

}  // namespace check
