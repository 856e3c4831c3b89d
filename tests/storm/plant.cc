// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/plant.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace storm {

void plant_fault(const Words& words, Bytes& result) {
  static const std::string plant = [] {
    const char* text = std::getenv("STORM_PLANT");
    return std::string(text != nullptr ? text : "");
  }();
  const std::size_t colon = plant.find(':');
  if (colon == std::string::npos || words.text().find(plant.substr(colon + 1)) == std::string::npos)
    return;
  const std::string what = plant.substr(0, colon);
  if (what == "byte" && !result.empty()) result[0] ^= 0x80;
  if (what == "crash") std::abort();
  while (what == "hang")
    pause();
}

}  // namespace storm
