// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/support/pool.h"

#include <gst/video/gstvideometa.h>

#include <memory>
#include <utility>

namespace {

struct TestPool {
  GstBufferPool parent;
  std::function<GstBuffer*()>* make;
};
struct TestPoolClass {
  GstBufferPoolClass parent_class;
};

G_DEFINE_TYPE(TestPool, test_pool, GST_TYPE_BUFFER_POOL)

const gchar** test_pool_options(GstBufferPool*) {
  static const gchar* options[] = {GST_BUFFER_POOL_OPTION_VIDEO_META, nullptr};
  return options;
}

GstFlowReturn test_pool_alloc(GstBufferPool* pool, GstBuffer** buffer,
                              GstBufferPoolAcquireParams*) {
  *buffer = (*reinterpret_cast<TestPool*>(pool)->make)();
  return *buffer != nullptr ? GST_FLOW_OK : GST_FLOW_ERROR;
}

/// Marks the memory as changed, for which a pool drops the buffer: the default is to cut or stretch
/// its memory to the size that was agreed upon, which is not what `make` made.
void test_pool_reset_buffer(GstBufferPool*, GstBuffer* buffer) {
  GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_TAG_MEMORY);
}

void test_pool_finalize(GObject* object) {
  delete reinterpret_cast<TestPool*>(object)->make;
  G_OBJECT_CLASS(test_pool_parent_class)->finalize(object);
}

void test_pool_class_init(TestPoolClass* klass) {
  G_OBJECT_CLASS(klass)->finalize = test_pool_finalize;
  klass->parent_class.get_options = test_pool_options;
  klass->parent_class.alloc_buffer = test_pool_alloc;
  klass->parent_class.reset_buffer = test_pool_reset_buffer;
}

void test_pool_init(TestPool*) {}

struct Offer {
  GstBufferPool* pool;
  guint size;
  guint max_buffers;

  ~Offer() {
    if (pool != nullptr) gst_object_unref(pool);
  }
};

GstPadProbeReturn answer(GstPad*, GstPadProbeInfo* probe, gpointer data) {
  const auto* offer = static_cast<const Offer*>(data);
  GstQuery* query = GST_PAD_PROBE_INFO_QUERY(probe);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
  if (offer->pool != nullptr) {
    gst_query_add_allocation_pool(query, offer->pool, offer->size, 0, offer->max_buffers);
    gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  }
  return GST_PAD_PROBE_HANDLED;
}

}  // namespace

namespace check {

GstBufferPool* make_pool(std::function<GstBuffer*()> make) {
  auto* pool = reinterpret_cast<TestPool*>(g_object_new(test_pool_get_type(), nullptr));
  gst_object_ref_sink(pool);
  pool->make = new std::function<GstBuffer*()>(std::move(make));
  return GST_BUFFER_POOL(pool);
}

void offer_downstream(GstElement* element, GstBufferPool* pool, guint size, guint max_buffers) {
  if (pool != nullptr) gst_object_ref(pool);
  GstPad* pad = gst_element_get_static_pad(element, "src");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, answer,
                    new Offer{pool, size, max_buffers},
                    [](gpointer offer) { delete static_cast<Offer*>(offer); });
  gst_object_unref(pad);
}

}  // namespace check
