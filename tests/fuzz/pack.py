#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Fuzz inputs in one file: a line with the length in bytes, the bytes, and so on, short ones first.

    pack.py pack FOLDER PACK [BYTES]    what is longer in all than BYTES is left out, longest first
    pack.py unpack PACK FOLDER          a file for each input, named by its hash
"""

import hashlib
import pathlib
import sys


def write_pack(folder, pack, most):
    inputs = {path.read_bytes() for path in pathlib.Path(folder).iterdir() if path.is_file()}
    kept = []
    size = 0
    for data in sorted(inputs, key=lambda data: (len(data), data)):
        size += len(data)
        if size > most:
            break
        kept.append(b"%d\n%s" % (len(data), data))
    pathlib.Path(pack).write_bytes(b"".join(kept))
    print(f"{pack}: {len(kept)} of {len(inputs)} inputs")


def read_pack(pack):
    data = pathlib.Path(pack).read_bytes()
    while data:
        length, _, data = data.partition(b"\n")
        if len(data) < int(length):
            sys.exit(f"{pack} ends within an input")
        yield data[:int(length)]
        data = data[int(length):]


def main(arguments):
    match arguments:
        case ["pack", folder, pack]:
            write_pack(folder, pack, most=10**9)
        case ["pack", folder, pack, most]:
            write_pack(folder, pack, int(most))
        case ["unpack", pack, folder]:
            for data in read_pack(pack):
                (pathlib.Path(folder) / hashlib.sha1(data).hexdigest()).write_bytes(data)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
