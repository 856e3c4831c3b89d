// SPDX-License-Identifier: LGPL-2.1-or-later
// Which forms filter the components of a group at once.
#pragma once

#include <memory>

#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"
#include "kernels/core/plan/prepared_plan.h"
#include "kernels/cpu/rows/row_filter.h"

namespace convolve {

/// What filters frames of at most `format`'s size by `planned`; null if the form filters components
/// one by one. kOutOfMemory.
Result<std::unique_ptr<RowFilter>> make_row_filter(const FrameFormat& format,
                                                   const PreparedPlan& planned, int workers);

}  // namespace convolve
