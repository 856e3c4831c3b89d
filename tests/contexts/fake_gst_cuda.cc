// SPDX-License-Identifier: LGPL-2.1-or-later
// Stands in for GStreamer's CUDA library, so that sharing contexts is tested without a GPU. What it
// does with elements, contexts and queries is what the real one does.
#include <gst/cuda/gstcudacontext.h>

struct _GstCudaContext {
  GstObject parent;
  guint device_id;
};

typedef struct {
  GstObjectClass parent_class;
} GstCudaContextClass;

static GType gst_cuda_context_get_type(void);
G_DEFINE_TYPE(GstCudaContext, gst_cuda_context, GST_TYPE_OBJECT)

static void gst_cuda_context_class_init(GstCudaContextClass*) {}
static void gst_cuda_context_init(GstCudaContext*) {}

gboolean gst_cuda_load_library(void) {
  return TRUE;
}

GstCudaContext* gst_cuda_context_new(guint device_id) {
  auto* context = static_cast<GstCudaContext*>(g_object_new(gst_cuda_context_get_type(), nullptr));
  context->device_id = device_id;
  return static_cast<GstCudaContext*>(gst_object_ref_sink(context));
}

namespace {

thread_local int pushed = 0;

GstContext* context_of(GstCudaContext* cuda_context) {
  GstContext* context = gst_context_new(GST_CUDA_CONTEXT_TYPE, TRUE);
  gst_structure_set(gst_context_writable_structure(context), GST_CUDA_CONTEXT_TYPE,
                    gst_cuda_context_get_type(), cuda_context, nullptr);
  return context;
}

}  // namespace

gboolean gst_cuda_context_push(GstCudaContext* context) {
  g_return_val_if_fail(context != nullptr, FALSE);
  ++pushed;
  return TRUE;
}

gboolean gst_cuda_context_pop(CUcontext*) {
  g_return_val_if_fail(pushed > 0, FALSE);
  --pushed;
  return TRUE;
}

gint fake_gst_cuda_pushed(void) {
  return pushed;
}

gboolean gst_cuda_handle_set_context(GstElement* element, GstContext* context, gint device_id,
                                     GstCudaContext** cuda_context) {
  g_return_val_if_fail(element != nullptr && cuda_context != nullptr, FALSE);
  if (context == nullptr || !gst_context_has_context_type(context, GST_CUDA_CONTEXT_TYPE))
    return FALSE;
  if (*cuda_context != nullptr) return TRUE;
  GstCudaContext* found = nullptr;
  if (!gst_structure_get(gst_context_get_structure(context), GST_CUDA_CONTEXT_TYPE,
                         gst_cuda_context_get_type(), &found, nullptr))
    return FALSE;
  if (device_id != -1 && found->device_id != static_cast<guint>(device_id)) {
    gst_object_unref(found);
    return FALSE;
  }
  *cuda_context = found;
  return TRUE;
}

gboolean gst_cuda_handle_context_query(GstElement* element, GstQuery* query,
                                       GstCudaContext* cuda_context) {
  g_return_val_if_fail(element != nullptr, FALSE);
  const gchar* type = nullptr;
  gst_query_parse_context_type(query, &type);
  if (cuda_context == nullptr || g_strcmp0(type, GST_CUDA_CONTEXT_TYPE) != 0) return FALSE;
  GstContext* context = context_of(cuda_context);
  gst_query_set_context(query, context);
  gst_context_unref(context);
  return TRUE;
}

GstContext* gst_context_new_cuda_context(GstCudaContext* cuda_context) {
  return context_of(cuda_context);
}
