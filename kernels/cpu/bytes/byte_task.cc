// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/bytes/byte_task.h"

namespace convolve {

void ByteTask::add(const BytePart& part) {
  int k = count++;
  for (; k > 0 && part.task.src < parts[k - 1].task.src; --k)
    parts[k] = parts[k - 1];
  parts[k] = part;
}

}  // namespace convolve
