#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The element on GStreamers that are newer than this machine's, in Debian's later suites: built and
# tested there without CUDA code, and the module that this machine builds loaded there.
#
#   tests/newer-gstreamer.sh [SUITE...]     default: trixie (1.26) and sid (1.28)
#
# Needs Debian, root, a network, some 3 GB a suite in build-newer/, and half an hour on two cores.
# Frames in CUDA memory take part, on a stand-in for the driver, where the CUDA toolkit's headers
# are in /usr/local/cuda. Ends with `N passed, N failed` for all suites together.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
readonly roots=$PWD/build-newer
readonly packages=(
  g++ meson ninja-build pkg-config python3 ca-certificates libgtest-dev libhwy-dev
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev libgstreamer-plugins-bad1.0-dev
  gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
)
readonly modules=(plugin/libgstcudaconvolve.so tests/fallback/libgstcudaconvolve.so)
if (($# == 0)); then set -- trixie sid; fi
readonly suites=("$@")

die() { printf '%s\n' "newer-gstreamer: $*" >&2; exit 1; }
((EUID == 0)) || die 'needs root, to make a root of another Debian'
command -v mmdebstrap >/dev/null || apt-get install -y --no-install-recommends mmdebstrap

make_root() {
  local suite=$1 options=()
  [[ ! -f $roots/$suite.made ]] || return 0
  # sid's lists are older than their own date of expiry allows, on mirrors that lag.
  [[ $suite != sid ]] || options=('--aptopt=Acquire::Check-Valid-Until "false"')
  mkdir -p "$roots"
  rm -rf "${roots:?}/$suite"
  mmdebstrap --mode=root --variant=apt "${options[@]}" \
    --include="$(IFS=,; echo "${packages[*]}")" "$suite" "$roots/$suite"
  touch "$roots/$suite.made"
}

# The tree as it is, without what git ignores.
copy_source() {
  local to=$1
  rm -rf "$to"
  mkdir -p "$to"
  git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [[ -e $file ]] && printf '%s\0' "$file"; done |
    tar -cf - --null -T - | tar -C "$to" -xf -
  # For tests/gpu/pack-newer.sh.
  git describe --always --dirty >"${to%/*}/commit"
}

readonly headers=/usr/local/cuda/include
gst_cuda=disabled
if [[ -f $headers/cuda.h && -f $headers/cudaGL.h ]]; then gst_cuda=enabled; fi

copy_cuda_headers() {
  [[ $gst_cuda == enabled ]] || return 0
  mkdir -p "$1$headers"
  cp "$headers"/{cuda.h,cudaGL.h} "$1$headers"
}

# The modules of this machine's GStreamer: ours, and the one with stand-ins for a GPU.
build_here() {
  [[ -f $roots/here/build.ninja ]] ||
    meson setup "$roots/here" -Dcuda=disabled -Dgst-cuda="$gst_cuda" -Dbenchmarks=disabled \
      -Dpeers=disabled -Dexamples=disabled
  ninja -C "$roots/here" "${modules[@]}"
}

# inside ROOT COMMAND...: there, with nothing of this machine's environment.
inside() {
  local root=$1
  shift
  # shellcheck disable=SC2016  # The inner shell expands it.
  unshare --mount --pid --fork bash -c '
    mount -t proc proc "$0/proc"
    mount --bind /dev "$0/dev"
    exec chroot "$0" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"' "$root" "$@"
}

run_tests() {
  local root=$1 log=$2
  inside "$root" meson test -C /build --no-rebuild --print-errorlogs --logbase "$log" \
    --suite unit --suite check --suite storm --suite fuzz || status=1
  .ci/test-summary "$root/build/meson-logs/$log.json" >"$roots/summary" || status=1
  tail -n1 "$roots/summary" | tee -a "$roots/sums"
}

status=0
: >"$roots/sums" 2>/dev/null || { mkdir -p "$roots"; : >"$roots/sums"; }
build_here
for suite in "${suites[@]}"; do
  make_root "$suite"
  root=$roots/$suite
  copy_source "$root/source"
  copy_cuda_headers "$root"
  inside "$root" gst-inspect-1.0 --version
  inside "$root" sh -c "[ -f /build/build.ninja ] || meson setup /build /source -Dcuda=disabled \
    -Dgst-cuda=$gst_cuda -Dbenchmarks=disabled -Dpeers=disabled -Dexamples=disabled"
  inside "$root" ninja -C /build all meson-test-prereq
  inside "$root" env GST_PLUGIN_PATH_1_0=/build/plugin gst-inspect-1.0 cudaconvolve \
    >"$roots/$suite-inspect.txt"
  run_tests "$root" built-there
  # In the place of those that were built there.
  for module in "${modules[@]}"; do cp "$roots/here/$module" "$root/build/$module"; done
  run_tests "$root" built-here
  for module in "${modules[@]}"; do rm "$root/build/$module"; done
done
awk '{ passed += $1; failed += $3 } END { printf "%d passed, %d failed\n", passed, failed
  exit failed > 0 || passed == 0 }' "$roots/sums" || status=1
exit "$status"
