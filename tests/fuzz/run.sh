#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Coverage-guided fuzzing with clang's libFuzzer under address and undefined-behaviour sanitizers.
#
#   tests/fuzz/run.sh [TARGET...]     mask-text, mask-file, caps, buffers; all of them by default
#
#   MINUTES=60    CPU minutes for each target, all runs together
#   SLICE=120     seconds until what was found and spent is written down
#   STATE=build-fuzz/state
#
# A run that was interrupted goes on where it stood: STATE/TARGET holds the inputs found so far
# (corpus/), a line for each slice (log: seconds of CPU, inputs tried, edges covered) and inputs that
# fail (findings/). A target whose time is spent has its inputs merged into found/TARGET.pack, which
# the test suite replays. Exits with 1 if an input fails.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

readonly minutes=${MINUTES:-60} slice=${SLICE:-120} build=build-fuzz
state=$(realpath -m "${STATE:-$build/state}")
readonly state here=$PWD/tests/fuzz
# A pack stays this small; what a target takes is short.
readonly pack_bytes=150000
declare -A longest=([mask-text]=2048 [mask-file]=2048 [caps]=256 [buffers]=512)

targets=("$@")
((${#targets[@]} > 0)) || targets=(mask-text mask-file caps buffers)
for target in "${targets[@]}"; do
  [[ -v longest[$target] ]] || { echo "no target $target; there are: ${!longest[*]}"; exit 2; }
done

build_targets() {
  [[ -f $build/build.ninja ]] ||
    CXX=clang++ meson setup "$build" -Dfuzzing=enabled -Db_sanitize=address,undefined \
      -Db_lundef=false -Doptimization=1 -Dcpp_args=-g1 -Dcuda=disabled -Dgst-cuda=disabled \
      -Dbenchmarks=disabled -Dexamples=disabled -Dpeers=disabled
  ninja -C "$build" plugin/libgstcudaconvolve.so "${targets[@]/#/tests/fuzz/fuzz-}"
}

# The element comes from this build, by a registry of its own; no other plugin is looked for. The
# scanner is not built with the sanitizers and could not load it. What GLib keeps is no leak.
use_element() {
  export GST_PLUGIN_PATH_1_0=$PWD/$build/plugin GST_PLUGIN_SYSTEM_PATH_1_0='' \
    GST_REGISTRY_1_0=$state/registry.bin GST_REGISTRY_FORK=no GST_DEBUG=none \
    G_SLICE=always-malloc G_DEBUG=fatal-warnings,fatal-criticals \
    CUDACONVOLVE_TEST_BACKEND=cpu \
    ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
}

# The valid masks of corpus/ and what was found before are where a target starts.
seed() {
  local target=$1 dir=$state/$1
  [[ ! -d $dir/corpus ]] || return 0
  mkdir -p "$dir/seeds" "$dir/findings"
  case $target in
    mask-text) cp "$here"/corpus/*.mask "$dir/seeds/" ;;
    mask-file) cp "$here"/corpus/* "$dir/seeds/" ;;
  esac
  [[ ! -f $here/found/$target.pack ]] || "$here/pack.py" unpack "$here/found/$target.pack" "$dir/seeds"
  mv "$dir/seeds" "$dir/corpus"
}

# sum TARGET COLUMN: over the lines of its log.
sum() { awk -v c="$2" '{ s += $c } END { print s + 0 }' "$state/$1/log" 2>/dev/null || echo 0; }
spent() { awk -v s="$(sum "$1" 1)" -v m="$minutes" 'BEGIN { exit !(s >= 60 * m) }'; }

has_findings() { [[ -n $(find "$state/$1/findings" -type f) ]]; }
program() { echo "$build/tests/fuzz/fuzz-$1"; }

# An input that failed once and does not any more is one of the corpus: its fault is mended, or it
# seemed to take too long because the process was stopped.
retry_findings() {
  local target=$1 input
  for input in "$state/$target/findings"/*; do
    [[ -f $input ]] || continue
    "$(program "$target")" "$input" >"$state/$target/finding.log" 2>&1 || return 1
    echo "$target: $(basename "$input") does not fail again"
    mv "$input" "$state/$target/corpus/"
  done
}

# One slice; fails if an input did.
fuzz() {
  local target=$1 dir=$state/$1 status=0 options=() TIMEFORMAT='%U %S' cpu
  # A frame's description does not grow byte by byte.
  if [[ $target == mask-* ]]; then options=("-dict=$here/mask.dict"); else options=(-len_control=0); fi
  { time "$(program "$target")" "$dir/corpus" -max_total_time="$slice" -max_len="${longest[$target]}" \
      -timeout=120 -rss_limit_mb=3000 -print_final_stats=1 -artifact_prefix="$dir/findings/" \
      "${options[@]}" </dev/null >"$dir/last.log" 2>&1; } 2>"$dir/time" || status=$?
  # The last line: what the shell itself says of a signal comes before.
  cpu=$(tail -n1 "$dir/time" | awk '{ print $1 + $2 }')
  local runs edges
  runs=$(awk '/number_of_executed_units/ { print $2 }' "$dir/last.log")
  edges=$(grep -oE 'cov: [0-9]+' "$dir/last.log" | tail -n1 | cut -d' ' -f2) || true
  echo "$cpu ${runs:-0} ${edges:-0} $(date -u +%FT%T)" >>"$dir/log"
  return "$status"
}

# The fewest inputs that do the same as all of them together.
merge() {
  local target=$1 dir=$state/$1
  rm -rf "$dir/merged"
  mkdir "$dir/merged"
  "$(program "$target")" -merge=1 "$dir/merged" "$dir/corpus" \
    >"$dir/merge.log" 2>&1 </dev/null
  mkdir -p "$here/found"
  "$here/pack.py" pack "$dir/merged" "$here/found/$target.pack" "$pack_bytes"
}

report() {
  local target=$1 dir=$state/$1
  echo "figure: fuzz $target: $(awk -v s="$(sum "$target" 1)" 'BEGIN { printf "%.1f", s / 60 }')" \
    "CPU minutes, $(sum "$target" 2) inputs tried," \
    "$(tail -n1 "$dir/log" 2>/dev/null | cut -d' ' -f3) edges," \
    "$(find "$dir/corpus" -type f | wc -l) inputs kept," \
    "$(find "$dir/findings" -type f | wc -l) findings"
}

build_targets
mkdir -p "$state"
exec 9>"$state/lock"
flock -n 9 || { echo "another run uses $state"; exit 2; }
use_element
trap 'exit 130' INT TERM

failed=()
# In turn, so that each target has had some time whenever the run ends.
pending=()
for target in "${targets[@]}"; do
  seed "$target"
  if retry_findings "$target"; then pending+=("$target"); else failed+=("$target"); fi
done
while ((${#pending[@]} > 0)); do
  next=()
  for target in "${pending[@]}"; do
    if spent "$target"; then
      merge "$target"
    elif fuzz "$target" || { has_findings "$target" && retry_findings "$target"; }; then
      next+=("$target")
    else
      failed+=("$target")
    fi
  done
  pending=("${next[@]}")
done
for target in "${targets[@]}"; do report "$target"; done
for target in "${failed[@]}"; do
  echo "finding: $target, inputs in $state/$target/findings; the log of the last: $state/$target/last.log"
  grep -hE '^FAIL|^SUMMARY|ERROR: |CRITICAL|WARNING' "$state/$target"/{last,finding}.log 2>/dev/null |
    head -n 5 || true
done
((${#failed[@]} == 0))
