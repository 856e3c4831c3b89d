// SPDX-License-Identifier: LGPL-2.1-or-later
// The last words of a program that a signal or a sanitizer ends.
#pragma once

namespace convolve::fuzz {

/// Has `say` called before the program dies, once, on the thread that dies. It may do no more than
/// a signal handler may.
void call_at_death(void (*say)());

}  // namespace convolve::fuzz
