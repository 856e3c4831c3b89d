// SPDX-License-Identifier: LGPL-2.1-or-later
// Memory that the CPU cannot reach, as protected video memory is.
#pragma once

#include <gst/gst.h>

namespace check {

/// `size` bytes of which every attempt to map fails.
GstMemory* unmappable_memory(gsize size);

}  // namespace check
