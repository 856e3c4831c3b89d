// SPDX-License-Identifier: LGPL-2.1-or-later
// Any bytes as the value of property `mask`.
#include "tests/fuzz/mask_judge.h"
#include "tests/fuzz/target.h"

namespace convolve::fuzz {

void prepare() {}

std::string try_input(const std::string& bytes) {
  return try_text(bytes, bytes.size() % 16 == 0).fault;
}

}  // namespace convolve::fuzz
