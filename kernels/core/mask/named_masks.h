// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks that have a name: formulas frozen once released.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/core/mask/mask.h"

namespace convolve {

/// One line of the list of names, for documentation and messages.
struct NamedMask {
  const char* name;       ///< "gaussian"
  const char* arguments;  ///< ":SIGMA[,SIGMA_Y]", or "" if it takes none.
  const char* formula;    ///< What its weights are, in one sentence.
};

const std::vector<NamedMask>& named_masks();

/// The mask called `name`. Errors: an unknown name (the message lists the known ones and the
/// nearest), a wrong number of arguments, an argument out of range (the message gives the range).
/// `wrong` then gets the index of the argument that the error is about, or -1 for the name.
Result<MaskSource> make_named_mask(std::string_view name, const std::vector<double>& arguments,
                                   int* wrong = nullptr);

}  // namespace convolve
