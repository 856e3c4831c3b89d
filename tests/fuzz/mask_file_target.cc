// SPDX-License-Identifier: LGPL-2.1-or-later
// Any bytes as a mask file: text, PGM and PFM.
#include "tests/fuzz/mask_judge.h"
#include "tests/fuzz/target.h"

namespace convolve::fuzz {

void prepare() {}

std::string try_input(const std::string& bytes) {
  static MemoryFile file;
  const std::string fault = try_file(bytes, file, bytes.size() % 16 == 0).fault;
  return fault.empty() ? try_secret(bytes, file, bytes.size()).fault : fault;
}

}  // namespace convolve::fuzz
