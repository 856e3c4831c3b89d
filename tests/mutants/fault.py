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

    def problem_in(self, text):
        """What keeps it from being planted in the text of its file, or None."""
        count = text.count(self.old)
        return None if count == 1 else f"its text occurs {count} times in {self.path}, not once"

    def planted_in(self, text):
        return text.replace(self.old, self.new)
