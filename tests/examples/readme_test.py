#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs every gst-launch line of README.md, docs/masks.md and docs/recipes.md, as it stands there.

Two things are changed: pictures go to a fakesink instead of a screen, and lines that insist on CUDA
run only if CUDACONVOLVE_TEST_BACKEND=cuda; elsewhere they have to fail with a message.
"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = ("README.md", "docs/masks.md", "docs/recipes.md")
TIME_LIMIT = 120
# What the lines read: a photograph and a clip of six seconds.
MAKE_PHOTO = f"gst-launch-1.0 -q filesrc location={ROOT}/tests/examples/contact-sheet.png ! pngdec ! " \
             "videoconvert ! jpegenc ! filesink location=photo.jpg"
MAKE_CLIP = "gst-launch-1.0 -q videotestsrc num-buffers=180 ! video/x-raw,width=320,height=240 ! " \
            "vp8enc deadline=1 ! webmmux ! filesink location=in.webm"


def shown_lines():
    for page in PAGES:
        for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
            if "gst-launch-1.0 " in line and not line.startswith(("#", "|", "-")):
                yield line


def run(line, folder):
    """The exit status and output of a line; assignments before the command go into its environment."""
    words = shlex.split(line)
    environment = dict(os.environ)
    while "=" in words[0]:
        name, value = words.pop(0).split("=", 1)
        environment[name] = value
    result = subprocess.run(words, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=TIME_LIMIT, check=False)
    return result.returncode, result.stdout + result.stderr


def fault(line, folder):
    """What is wrong with a line, or None."""
    status, output = run(line.replace("autovideosink", "fakesink"), folder)
    if "backend=cuda" in line and os.environ.get("CUDACONVOLVE_TEST_BACKEND") != "cuda":
        return None if status != 0 and "cuda" in output.lower() else "no clear error without a GPU"
    if status != 0 or "WARNING" in output:
        return f"exit status {status}\n{output}"
    words = shlex.split(line)
    for target in words[words.index("filesink") + 1:] if "filesink" in words else []:
        path = pathlib.Path(folder) / target.removeprefix("location=")
        if not path.is_file() or path.stat().st_size < 1000:
            return f"{path.name} was not written"
    return None


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for line in (MAKE_PHOTO, MAKE_CLIP):
            status, output = run(line, folder)
            if status != 0:
                sys.exit(output)
        # In the pages' order: a line may read what an earlier one wrote.
        for line in shown_lines():
            problem = fault(line, folder)
            print(f"{'FAIL' if problem else 'ok  '} {line}")
            if problem:
                print(problem)
                failed += 1
            else:
                passed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
