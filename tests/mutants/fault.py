# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a fault is: in `path`, the text `old`, which occurs once, becomes `new`.

Each is a slip that somebody could make. One whose text is gone is an error of the run, so that the
tables move with the code.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    name: str
    path: str
    old: str
    new: str
    cuda: bool = False
