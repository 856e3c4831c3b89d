// SPDX-License-Identifier: LGPL-2.1-or-later
// GType of each enumerated property. Nicks are what users type; descriptions are what gst-inspect
// shows.
#pragma once

#include <gst/gst.h>

namespace cudaconvolve {

GType operation_get_type();
GType normalize_get_type();
GType border_get_type();
GType channels_get_type();
GType alpha_mode_get_type();
GType kernel_get_type();
GType backend_get_type();

}  // namespace cudaconvolve
