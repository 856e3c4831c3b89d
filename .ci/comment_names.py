# SPDX-License-Identifier: LGPL-2.1-or-later
"""Finds names in comments that nothing in the tree has: `Type::member`, and files of sources."""

import collections
import io
import re
import tokenize

PAIR = re.compile(r"(?<![\w.:])(?=([A-Za-z_]\w*)::(~?[A-Za-z_]\w*))")
# A chain a::b::c is two pairs.
NEXT_PAIR = re.compile(r"(?<=::)(?=([A-Za-z_]\w*)::(~?[A-Za-z_]\w*))")
FILE = re.compile(r"(?<![\w./*{}-])[\w./-]*\w\.(?:cuh|cu|cc|h)\b(?!\.?\w)")
HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.M)

# What is not ours: the standard library's, Highway's, Google Test's, CUDA's and GStreamer's names.
FOREIGN_TYPE = re.compile(r"^(?:std|hwy|hn|testing|benchmark|cv|nvcuda|cuda\w*|CU\w+"
                          r"|_?G[a-z]+[A-Z]\w*)$")
FOREIGN_FILE = re.compile(r"^(?:gst|glib|hwy|gtest|cuda|sys|linux)/|^(?:cuda|npp|glib)\w*\.h$"
                          r"|^(?:mma|highway|foreach_target)\.h$")


def hash_comments(path, text):
    """(offset, comment) of a Python or shell script or of a meson.build, docstrings included."""
    if path.endswith(".py"):
        starts = [0]
        for line in text.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or token.string.startswith('"""'):
                yield starts[token.start[0] - 1] + token.start[1], token.string
    else:
        for match in HASH_COMMENT.finditer(text):
            yield match.start(), match[0]


class Names:
    """What the sources define, and the files of the tree."""

    def __init__(self, sources, files):
        """`sources`: cpp_scan.Source by path; `files`: paths of all files, from the root."""
        self.members = collections.defaultdict(set)
        self.bases = collections.defaultdict(set)
        self.said = set()  # Pairs in code: they compile, whatever they are called through.
        for source in sources.values():
            for scope in source.root.walk():
                if scope.kind in ("namespace", "type", "specialisation"):
                    *outer, name = scope.name.split("::")
                    self.members[name] |= scope.members()
                    self.bases[name].update(scope.bases)
                    for around, inner in zip(outer, [*outer[1:], name]):
                        self.members[around].add(inner)
            for pattern in (PAIR, NEXT_PAIR):
                self.said.update(pattern.findall(source.code))
        self.tails = {"/".join(parts[k:]) for parts in (path.split("/") for path in files)
                      for k in range(len(parts))}

    def has(self, name, member, seen=()):
        """True if `name`, or what it derives from, declares `member`."""
        return member in self.members.get(name, ()) or any(
            self.has(base, member, (*seen, name))
            for base in self.bases.get(name, ()) if base not in seen and base != name)

    def unknown_in(self, comment):
        """(offset, what is wrong) for each name in `comment` that nothing has."""
        for pattern in (PAIR, NEXT_PAIR):
            for match in pattern.finditer(comment):
                name, member = match.groups()
                if (name, member) in self.said or self.has(name, member):
                    continue
                if name in self.members:
                    yield match.start(), f"{name} has no {member}"
                elif not FOREIGN_TYPE.match(name) and not any(
                        comment[:match.start()].endswith(f"{outer}::") for outer in ("std", "hwy")):
                    yield match.start(), f"{name}::{member}: nothing is called {name}"
        for match in FILE.finditer(comment):
            path = match[0].lstrip("./")
            if path not in self.tails and not FOREIGN_FILE.match(path):
                yield match.start(), f"there is no file {path}"
