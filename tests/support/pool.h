// SPDX-License-Identifier: LGPL-2.1-or-later
// Downstream as the element meets it: a pool whose buffers are whatever a test makes, offered in
// answer to the ALLOCATION query.
#pragma once

#include <gst/gst.h>

#include <functional>

namespace check {

/// A new pool whose buffers come from `make`, each time a new one. It takes any configuration.
GstBufferPool* make_pool(std::function<GstBuffer*()> make);

/// Offers a `pool` (it keeps a reference) of buffers of `size` bytes, at most `max_buffers` of them
/// (0 = any number), and GstVideoMeta, to every ALLOCATION query that leaves `element`. A null pool
/// answers that there is neither.
void offer_downstream(GstElement* element, GstBufferPool* pool, guint size, guint max_buffers = 0);

}  // namespace check
