// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps as a fuzz input describes them: mostly raw video that could be, with fields that are
// missing, out of range, of another type, or not fixed.
#pragma once

#include <gst/gst.h>

#include "tests/fuzz/byte_reader.h"

namespace convolve::fuzz {

/// One structure or, rarely, two; owned by the caller.
GstCaps* read_caps(ByteReader& reader);

}  // namespace convolve::fuzz
