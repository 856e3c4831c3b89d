#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# From a clone to filtered pictures: installs missing packages, configures, builds.
#
#   ./bootstrap.sh                     packages and build
#   ./bootstrap.sh demo [FILE|URI]     and a contact sheet and a clip in demo/; without a GPU the
#                                      build is that of --without-cuda
#   ./bootstrap.sh test                and every test that this machine can run
#   ./bootstrap.sh install             and the plugin where GStreamer looks
#
#   --without-cuda       a build for the CPU alone, in build-cpu/ instead of build/
#   --cuda-archs=LIST    compute capabilities to build for, such as 75,86,90; 90-virtual builds in
#                        half the time, but the driver compiles for minutes before the first frame,
#                        and 90-check, alone, only shows that the code compiles
#
# It can be run again at no cost. It needs no network once the packages are there, and no HOME.
set -euo pipefail
readonly invoked_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly source_dir=$PWD
readonly build_packages=(
  g++ meson ninja-build pkg-config
  libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev libgstreamer-plugins-bad1.0-dev libhwy-dev
  gstreamer1.0-tools gstreamer1.0-plugins-base gstreamer1.0-plugins-good
)
# python3-scipy carries the photograph that the demo filters; gstreamer1.0-libav decodes most files.
readonly demo_packages=(
  python3-gst-1.0 gir1.2-gst-plugins-base-1.0 python3-numpy python3-pil python3-scipy
  fonts-dejavu-core gstreamer1.0-libav gstreamer1.0-plugins-bad
)
readonly test_packages=(
  "${demo_packages[@]}" libgtest-dev libbenchmark-dev python3-opencv ffmpeg gir1.2-vips-8.0
)

say() { printf '%s\n' "bootstrap: $*"; }
die() { printf '%s\n' "bootstrap: $*" >&2; exit 1; }
usage() { sed -n '3,16s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

missing_packages() {
  local package
  for package in "$@"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      printf '%s\n' "$package"
  done
}

# Elsewhere than on Debian and its kin the programs and libraries are looked for, not packages.
require_tools() {
  local missing=() tool module
  for tool in g++ meson ninja pkg-config gst-inspect-1.0; do
    command -v "$tool" >/dev/null || missing+=("$tool")
  done
  for module in gstreamer-video-1.0 gstreamer-check-1.0 libhwy; do
    pkg-config --exists "$module" 2>/dev/null || missing+=("pkg-config:$module")
  done
  ((${#missing[@]} == 0)) ||
    die "not a Debian or Ubuntu system, so install these first: ${missing[*]}"
}

install_packages() {
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    require_tools
    return
  fi
  local missing root=()
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]} > 0)) || return 0
  if ((EUID != 0)); then
    command -v sudo >/dev/null || die "needs root or sudo to install: ${missing[*]}"
    root=(sudo)
  fi
  say "installing ${#missing[@]} packages: ${missing[*]}"
  local install=("${root[@]}" env DEBIAN_FRONTEND=noninteractive
                 apt-get install -y --no-install-recommends "${missing[@]}")
  # The package lists are fetched only if the ones at hand do not do.
  "${install[@]}" </dev/null || {
    "${root[@]}" apt-get update </dev/null
    "${install[@]}" </dev/null
  } || die "apt-get could not install: ${missing[*]}"
}

find_nvcc() {
  command -v nvcc || { [[ -x /usr/local/cuda/bin/nvcc ]] && echo /usr/local/cuda/bin/nvcc; }
}

# "12.1" of nvcc's version line, or nothing.
nvcc_version() { "$1" --version | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p'; }

# The architectures of this machine's GPUs, or nothing.
gpu_archs() {
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    tr -d '. ' | grep -E '^[0-9]+$' | sort -nu | paste -sd, || true
}

has_gpu() { [[ -n $(gpu_archs) || -e /dev/nvidia0 || -e /dev/dxg || -e /dev/nvhost-gpu ]]; }

# Without a GPU a single architecture (and its PTX), since each takes the compiler as long again.
# Builds to give away name theirs with --cuda-archs.
native_archs() {
  local archs
  archs=$(gpu_archs)
  echo "${archs:-90}"
}

choose_backend() {
  cuda=disabled
  if [[ $want_cuda == no ]]; then
    say "building without CUDA, as asked: the element runs on the CPU"
  elif ! nvcc=$(find_nvcc); then
    say "no nvcc in PATH or /usr/local/cuda/bin: building without CUDA, the element runs on the CPU"
  elif [[ $(printf '%s\n' 12.1 "$(nvcc_version "$nvcc")" | sort -V | head -n1) != 12.1 ]]; then
    say "$nvcc is older than 12.1: building without CUDA, the element runs on the CPU"
  elif [[ $command == demo && -z $cuda_archs ]] && ! has_gpu; then
    say "no NVIDIA GPU here: the demo is built for the CPU alone; ./bootstrap.sh builds CUDA code, too"
  else
    cuda=enabled
  fi
  if [[ $cuda == enabled ]]; then build=build; else build='build-cpu'; fi
}

# The module alone, or all that tests it, too: tests are most of a build, and take packages that the
# demo does without. A folder that has them once keeps them.
configure() {
  # Debug information takes a third of the time of compiling C++; `meson configure` brings it back.
  local options=("-Dcuda=$cuda" -Ddebug=false) stamp=$build/bootstrap-options state=disabled part
  if [[ $cuda == enabled ]]; then
    options+=("-Dcuda-archs=${cuda_archs:-$(native_archs)}")
    export NVCC=$nvcc PATH=$PATH:${nvcc%/*}
  fi
  [[ -z ${CI-} ]] || options+=(--werror)
  if [[ $target == all ]] ||
     { [[ -f $build/build.ninja ]] && ! grep -qs -e -Dtests=disabled "$stamp"; }; then
    state=auto
  fi
  for part in tests benchmarks examples peers; do options+=("-D$part=$state"); done
  if [[ ! -f $build/build.ninja ]]; then
    # What an interrupted set-up left behind would stop the next one.
    rm -rf "$build/meson-private" "$build/meson-info"
    say "configuring $build/ (${options[*]})"
    meson setup "$build" "${options[@]}" </dev/null
  elif [[ ! -f $stamp || $(<"$stamp") != "${options[*]}" ]]; then
    say "reconfiguring $build/ (${options[*]})"
    meson configure "$build" "${options[@]}" </dev/null
  fi
  printf '%s' "${options[*]}" >"$stamp"
}

compile() {
  say "building in $build/"
  ninja -C "$build" "$target" </dev/null
}

# A registry of its own: HOME may be missing or read-only, and the user's own stays as it is.
use_built_plugin() {
  export GST_PLUGIN_PATH_1_0=$source_dir/$build/plugin
  export GST_REGISTRY_1_0=$source_dir/$build/gst-registry.bin
}

run_demo() {
  local input=("$@")
  # A path is meant from where the user stands.
  [[ ${1-} == '' || $1 == /* || $1 == *://* ]] || input=("$invoked_in/$1")
  use_built_plugin
  /usr/bin/python3 tests/examples/demo "${input[@]}" </dev/null
}

run_tests() {
  local status=0
  rm -f "$build/meson-logs/testlog.json"
  meson test -C "$build" --no-rebuild --print-errorlogs </dev/null || status=$?
  .ci/test-summary "$build/meson-logs/testlog.json" || status=1
  return "$status"
}

install_plugin() {
  local root=()
  [[ -w $(pkg-config --variable=pluginsdir gstreamer-1.0) ]] || root=(sudo)
  "${root[@]}" meson install -C "$build" --no-rebuild </dev/null
}

want_cuda=yes
cuda_archs=
positional=()
while (($# > 0)); do
  case $1 in
    --without-cuda) want_cuda=no ;;
    --cuda-archs=*) cuda_archs=${1#*=} ;;
    -h | --help) usage; exit 0 ;;
    --) shift; positional+=("$@"); break ;;
    -*) die "no option $1; see ./bootstrap.sh --help" ;;
    *) positional+=("$1") ;;
  esac
  shift
done
set -- "${positional[@]}"
command=${1:-build}
(($# == 0)) || shift

target=module
case $command in
  build | install) packages=("${build_packages[@]}") ;;
  demo) packages=("${build_packages[@]}" "${demo_packages[@]}") ;;
  test) packages=("${build_packages[@]}" "${test_packages[@]}") target=all ;;
  *) die "no command $command; see ./bootstrap.sh --help" ;;
esac

choose_backend
install_packages "${packages[@]}"
configure
compile
case $command in
  build) say "done; ./bootstrap.sh demo shows what it does, ./bootstrap.sh test tests it" ;;
  demo) run_demo "$@" ;;
  test) run_tests ;;
  install) install_plugin ;;
esac
