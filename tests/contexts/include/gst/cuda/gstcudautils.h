// SPDX-License-Identifier: LGPL-2.1-or-later
// Declared in the one header of the stand-in.
#pragma once

#include "gstcudacontext.h"
