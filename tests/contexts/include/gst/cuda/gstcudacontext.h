// SPDX-License-Identifier: LGPL-2.1-or-later
// The part of GStreamer's CUDA library that the plugin uses, for a machine without a GPU: the same
// names and ownership, and contexts that are mere objects (fake_gst_cuda.cc).
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

typedef struct CUctx_st* CUcontext;
typedef struct _GstCudaContext GstCudaContext;

#define GST_CUDA_CONTEXT_TYPE "gst.cuda.context"

gboolean gst_cuda_load_library(void);
GstCudaContext* gst_cuda_context_new(guint device_id);
gboolean gst_cuda_context_push(GstCudaContext* context);
gboolean gst_cuda_context_pop(CUcontext* context);
gboolean gst_cuda_handle_set_context(GstElement* element, GstContext* context, gint device_id,
                                     GstCudaContext** cuda_context);
gboolean gst_cuda_handle_context_query(GstElement* element, GstQuery* query,
                                       GstCudaContext* cuda_context);
GstContext* gst_context_new_cuda_context(GstCudaContext* cuda_context);

/* The stand-in's own: contexts that the calling thread has pushed and not popped. */
gint fake_gst_cuda_pushed(void);

G_END_DECLS
