#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Engine and element on 64-bit ARM, whose vectors (NEON) no other test has: compiled here for ARM
# and run under an emulator, without CUDA code.
#
#   tests/arm.sh [SUITE...]     default: unit, kernels and storm
#
# Needs Debian 12 on x86-64, root, a network, some 2 GB in build-arm/, and on two idle cores a
# quarter of an hour for the build and half an hour for the tests. Ends with `N passed, N failed`
# for all suites together. Programs with a deadline fail if they are stopped for longer than that.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly out=$PWD/build-arm
readonly root=$out/root build=$out/build
readonly tools=(
  g++ g++-aarch64-linux-gnu meson ninja-build pkg-config python3 git ca-certificates mmdebstrap
  qemu-user proot
)
readonly packages=(
  dash libc6-dev libstdc++-12-dev libgtest-dev libhwy-dev
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev
  gstreamer1.0-plugins-base gstreamer1.0-plugins-good
)
if (($# == 0)); then set -- unit kernels storm; fi
readonly suites=("$@")

die() { printf '%s\n' "arm: $*" >&2; exit 1; }

install_tools() {
  local program missing=
  for program in aarch64-linux-gnu-g++ qemu-aarch64 proot mmdebstrap meson ninja pkg-config git; do
    command -v "$program" >/dev/null || missing=$program
  done
  [[ -n $missing ]] || return 0
  ((EUID == 0)) || die "needs root, to install ${tools[*]}"
  apt-get update
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${tools[@]}"
}

# Debian's packages for ARM, unpacked. None is configured, as that would run their programs, and
# nothing here asks for it; the packages of this machine stay as they are.
make_root() {
  [[ ! -f $root.made ]] || return 0
  rm -rf "$root"
  mmdebstrap --mode=root --variant=extract --architectures=arm64 \
    --include="$(IFS=,; echo "${packages[*]}")" bookworm "$root"
  touch "$root.made"
}

# proot starts the emulator for a program's children, too, which the storm has, and lets all of
# them see the libraries of the root in the place of this machine's.
readonly emulated=(proot -q qemu-aarch64 -r "$root" -b /proc -b /dev -b /tmp -b "$PWD")

# quoted WORD...: as a list in a file of Meson's.
quoted() {
  local words
  printf -v words "'%s', " "$@"
  printf '[%s]\n' "${words%, }"
}

configure() {
  cat >"$out/cross.ini" <<END
[binaries]
cpp = $(quoted aarch64-linux-gnu-g++ --sysroot="$root")
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = $(quoted "${emulated[@]}")

[properties]
sys_root = '$root'
pkg_config_libdir = $(quoted "$root"/usr/{lib/aarch64-linux-gnu,share}/pkgconfig)

[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
  [[ -f $build/build.ninja ]] ||
    meson setup "$build" --cross-file "$out/cross.ini" -Dcuda=disabled -Dgst-cuda=disabled \
      -Dbenchmarks=disabled -Dpeers=disabled -Dexamples=disabled
}

# The emulator ends itself, with an assertion of its own, when a child of a program with threads
# starts some, too.
export GTEST_FILTER=-ThreadPool.AForkedChildHasThreadsOfItsOwn

status=0
note() { printf '%s\n' "$1" | tee -a "$out/sums"; }

# All cases would take the emulator hours: what it sees of those programs of the suite kernels that
# have most. Large pictures are left out: one did not end in the 20 s after which the program calls
# it hung.
readonly shares=(
  'conformance --quick --instruction-set=baseline'
  'alignments_test --every=20'
  'epilogues_test --every=10'
  'sizes_test --every=199'
  'sizes_test --residues --every=5'
)
readonly in_shares='\(conformance\|alignments\|epilogues\|sizes\|residues\|large-pictures\)-cpu'

run_shares() {
  local log=$out/share.txt share words last
  for share in "${shares[@]}"; do
    read -ra words <<<"$share"
    printf 'arm: %s\n' "$share"
    "${emulated[@]}" "$build/tests/kernels/${words[0]}" --backend=cpu "${words[@]:1}" >"$log" ||
      status=1
    cat "$log"
    if [[ $share == conformance* ]] && ! grep -qx 'instruction set: NEON' "$log"; then
      die 'the instruction set is not NEON'
    fi
    last=$(tail -n1 "$log")
    [[ $last == *' passed, '*' failed' ]] || last='0 passed, 1 failed'
    note "$last"
  done
}

run_suite() {
  local suite=$1 names
  [[ $suite != kernels ]] || run_shares
  names=$(meson test -C "$build" --no-rebuild --list --suite "$suite" | sed -n 's|.* / ||p' |
    grep -vx "$in_shares\(-baseline\)\?") || die "there is no suite $suite"
  # shellcheck disable=SC2086  # Names, one a word.
  meson test -C "$build" --no-rebuild --print-errorlogs --timeout-multiplier 30 \
    --logbase "$suite" --suite "$suite" $names || status=1
  .ci/test-summary "$build/meson-logs/$suite.json" >"$out/summary" || status=1
  sed '$d' "$out/summary"
  note "$(tail -n1 "$out/summary")"
}

mkdir -p "$out"
: >"$out/sums"
install_tools
make_root
configure
ninja -C "$build" all meson-test-prereq
for suite in "${suites[@]}"; do run_suite "$suite"; done
awk '{ passed += $1; failed += $3 } END { printf "%d passed, %d failed\n", passed, failed
  exit failed > 0 || passed == 0 }' "$out/sums" || status=1
exit "$status"
